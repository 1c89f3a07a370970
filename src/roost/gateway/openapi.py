"""Describes the inference routes, which FastAPI does not see, in its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from roost.contracts.error import ErrorBody
from roost.gateway.inference import PREFIX
from roost.gateway.table import CapabilityView

_REF: Final = "#/components/schemas/{model}"


def describe_inference(app: FastAPI, capabilities: Mapping[str, CapabilityView]) -> None:
    """Make `app.openapi()` also list the inference routes of the capability table."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        if f"{PREFIX}{next(iter(capabilities), '')}" not in document["paths"]:
            _add(document, capabilities)
        return document

    # FastAPI's own way to extend the document is to replace this method.
    app.openapi = openapi  # type: ignore[method-assign]


def _add(document: dict[str, Any], capabilities: Mapping[str, CapabilityView]) -> None:
    rows = sorted(capabilities.values(), key=lambda row: row.name)
    requests = [(row.request_type, "validation") for row in rows]
    answers = [(kind, "serialization") for kind in [*(row.response_type for row in rows), ErrorBody]]
    names, definitions = models_json_schema([*requests, *answers], by_alias=True, ref_template=_REF)  # type: ignore[list-item]
    document.setdefault("components", {}).setdefault("schemas", {}).update(definitions.get("$defs", {}))
    error = {"description": "The error envelope.", "content": _json(names[ErrorBody, "serialization"])}
    for row in rows:
        responses = {
            "200": {"description": "Success.", "content": _json(names[row.response_type, "serialization"])},
            "default": error,
        }
        request = _json(names[row.request_type, "validation"])
        request["application/json"]["example"] = row.example
        document["paths"][PREFIX + row.name] = _post(row.name, request, responses)
        if row.upload_field is not None:
            form = {"multipart/form-data": _form(row)}
            document["paths"][f"{PREFIX}{row.name}/binary"] = _post(f"{row.name}_binary", form, responses)


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _post(name: str, content: dict[str, Any], responses: dict[str, Any]) -> dict[str, Any]:
    return {
        "post": {
            "tags": ["inference"],
            "summary": name.replace("_", " ").capitalize(),
            "operationId": name,
            "requestBody": {"required": True, "content": content},
            "responses": responses,
        }
    }


def _form(row: CapabilityView) -> dict[str, Any]:
    file: dict[str, Any] = {"type": "string", "format": "binary"}
    metadata = {
        "type": "string",
        "description": "The JSON request without the media.",
        "contentMediaType": "application/json",
    }
    upload = {"type": "array", "items": file} if row.upload_many else file
    return {
        "schema": {
            "type": "object",
            "required": ["metadata", row.upload_field],
            "properties": {"metadata": metadata, row.upload_field: upload},
        },
        "encoding": {"metadata": {"contentType": "application/json"}},
    }
