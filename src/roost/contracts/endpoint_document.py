"""The `openapi.json` of a deployment with endpoints, written by its replica and read by its clients."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from roost.contracts.base import Wire
from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_stream import CONTENT_TYPE, StreamEnd
from roost.contracts.endpoint_types import ArgumentsType, ValueType
from roost.contracts.error import ErrorBody
from roost.errors import BadRequest

_REF: Final = "#/components/schemas/"
_ERROR: Final = TypeAdapter(ErrorBody)
_END: Final = TypeAdapter(StreamEnd)


class ParameterNote(Wire):
    """One parameter, as a caller in Python has to know it."""

    name: str
    required: bool = True
    keyword_only: bool = False


class EndpointNote(Wire):
    """One endpoint, as a caller in Python has to know it."""

    name: str
    doc: str = ""
    stream: bool = False
    parameters: list[ParameterNote] = Field(default_factory=list)


class EndpointsDocument(Wire):
    """What a client reads of the document. `endpoints` is None in that of another program."""

    endpoints: list[EndpointNote] | None = Field(default=None, alias="x-roost-endpoints")


def write_document(
    endpoints: Mapping[str, Endpoint], *, title: str, doc: str, version: str, path: str
) -> dict[str, Any]:
    """An OpenAPI 3.1 document as plain JSON values.

    Args:
        path: What the endpoints' names stand below.
    """
    schemas = _Schemas(endpoints)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": doc},
        "servers": [{"url": path}],
        "paths": {f"/{name}": {"post": _operation(each, schemas)} for name, each in endpoints.items()},
        "components": {"schemas": schemas.components},
        "x-roost-endpoints": [_note(each) for each in endpoints.values()],
    }


def read_document(body: bytes) -> dict[str, Endpoint]:
    """The endpoints of a document, with values of any type.

    Raises:
        BadRequest: when it describes none.
    """
    try:
        notes = EndpointsDocument.model_validate_json(body).endpoints
        found = None if notes is None else {note.name: _endpoint(note) for note in notes}
    except ValueError:
        found = None
    if found is None:
        raise BadRequest(
            "The deployment has no endpoints.",
            hint="Its class marks no method with @roost.serve.endpoint; call it by its URL.",
        )
    return found


class _WireSchema(GenerateJsonSchema):
    """Bytes are base64, except in models, which say themselves how they write them."""

    _models = 0

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        self._models += 1
        try:
            return super().model_schema(schema)
        finally:
            self._models -= 1

    def bytes_schema(self, schema: Any) -> JsonSchemaValue:
        described = super().bytes_schema(schema)
        return described if self._models else described | {"format": "base64url"}


class _Schemas:
    """The JSON schemas of all endpoints, which share what they refer to."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        wanted: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
            ("error", "serialization", _ERROR),
            ("end", "serialization", _END),
        ]
        for name, endpoint in endpoints.items():
            wanted.append((f"{name} arguments", "validation", endpoint.arguments.adapter))
            wanted.append((f"{name} result", "serialization", endpoint.result.adapter))
        found, shared = TypeAdapter.json_schemas(
            wanted, ref_template=_REF + "{model}", schema_generator=_WireSchema
        )
        self.components: dict[str, Any] = shared.get("$defs", {})
        self._found = {key: schema for (key, _mode), schema in found.items()}
        self.error = self._found["error"]
        self.end = self._found["end"]
        for name, endpoint in endpoints.items():
            self._add_defaults(self.arguments(name), endpoint)

    def arguments(self, name: str) -> dict[str, Any]:
        return _bare(self._found[f"{name} arguments"])

    def result(self, name: str) -> dict[str, Any]:
        return _bare(self._found[f"{name} result"])

    def _add_defaults(self, schema: dict[str, Any], endpoint: Endpoint) -> None:
        named = self.components.get(schema.get("$ref", "").removeprefix(_REF), schema)
        for name, schema_of in named.get("properties", {}).items():
            parameter = endpoint.signature.parameters.get(name)
            if parameter is None or parameter.default is parameter.empty:
                continue
            try:
                value = TypeAdapter(Any).dump_python(parameter.default, mode="json")
            except ValueError:
                continue  # A default need not have a JSON form; a caller leaves the argument out.
            schema_of["default"] = value


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Of the value in a type's tuple."""
    value: dict[str, Any] = schema["prefixItems"][0]
    return value


def _operation(endpoint: Endpoint, schemas: _Schemas) -> dict[str, Any]:
    required = any(each.default is each.empty for each in endpoint.signature.parameters.values())
    result = schemas.result(endpoint.name)
    if endpoint.is_stream:
        item = {"type": "object", "properties": {"item": result}, "required": ["item"]}
        said = "One JSON value a line: the items, then how many there were, or the error that ended them."
        content = {CONTENT_TYPE: {"schema": {"anyOf": [item, schemas.end, schemas.error]}}}
    else:
        said = "The result."
        content = {"application/json": {"schema": result}}
    failed = {"content": {"application/json": {"schema": schemas.error}}}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.doc.partition("\n")[0],
        "description": endpoint.doc,
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": schemas.arguments(endpoint.name)}},
        },
        "responses": {
            "200": {"description": said, "content": content},
            "422": {"description": "Arguments are bad, missing or unknown."} | failed,
            "default": {"description": "What else went wrong."} | failed,
        },
    }


def _note(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        ParameterNote(
            name=name, required=each.default is each.empty, keyword_only=each.kind is each.KEYWORD_ONLY
        )
        for name, each in endpoint.signature.parameters.items()
    ]
    note = EndpointNote(
        name=endpoint.name, doc=endpoint.doc, stream=endpoint.is_stream, parameters=parameters
    )
    return note.model_dump(mode="json", by_alias=True)


def _endpoint(note: EndpointNote) -> Endpoint:
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY if each.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if each.required else ...,
        )
        for each in note.parameters
    ]
    required = {each.name: Any for each in note.parameters if each.required}
    optional = {each.name: Any for each in note.parameters if not each.required}
    return Endpoint(
        name=note.name,
        doc=note.doc,
        signature=inspect.Signature(parameters),
        is_stream=note.stream,
        arguments=ArgumentsType(f"{note.name}_arguments", required, optional),
        result=ValueType(Any),
    )
