"""The openapi.json of a deployment with endpoints, written and read back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from roost.contracts.endpoint_document import read_document, write_document
from roost.contracts.endpoint_methods import endpoints_of
from roost.errors import BadRequest
from roost.serve import endpoint


class Word(BaseModel):
    text: str
    raw: bytes = b""


class Words:
    @endpoint
    def join(self, words: list[Word], by: str = " ", *, odd: object = object()) -> bytes:
        """Joins words.

        With a space.
        """
        return by.join(word.text for word in words).encode()

    @endpoint
    async def split(self, text: str) -> AsyncIterator[Word]:
        yield Word(text=text)


ENDPOINTS = endpoints_of(Words)


@pytest.fixture(scope="module")
def document() -> Any:
    written = write_document(ENDPOINTS, title="Words", doc="All words.", version="v", path="/r/a/b/c")
    return json.loads(json.dumps(written))


def test_another_language_finds_what_it_needs(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert document["info"] == {"title": "Words", "version": "v", "description": "All words."}
    assert document["servers"] == [{"url": "/r/a/b/c"}]
    join = document["paths"]["/join"]["post"]
    assert (join["operationId"], join["summary"]) == ("join", "Joins words.")
    assert join["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/join_arguments"
    }
    schemas = document["components"]["schemas"]
    arguments = schemas["join_arguments"]
    assert (arguments["required"], arguments["additionalProperties"]) == (["words"], False)
    assert arguments["properties"]["words"]["items"] == {"$ref": "#/components/schemas/Word"}
    assert arguments["properties"]["by"] == {"type": "string", "title": "By", "default": " "}
    assert "default" not in arguments["properties"]["odd"]
    assert join["responses"]["200"]["content"]["application/json"]["schema"] == {
        "type": "string",
        "format": "base64url",
    }
    assert schemas["Word"]["properties"]["raw"]["format"] == "binary"
    assert join["responses"]["422"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ErrorBody"
    }
    stream = document["paths"]["/split"]["post"]["responses"]["200"]["content"]["application/x-ndjson"]
    item, end, error = stream["schema"]["anyOf"]
    assert item["properties"] == {"item": {"$ref": "#/components/schemas/Word"}}
    assert (end, error) == (
        {"$ref": "#/components/schemas/StreamEnd"},
        {"$ref": "#/components/schemas/ErrorBody"},
    )
    assert set(schemas) >= {"StreamEnd", "StreamCount", "ErrorBody", "ErrorDetail"}


def test_a_client_reads_it_back(document: Any) -> None:
    found = read_document(json.dumps(document).encode())
    assert {name: (each.doc, each.is_stream) for name, each in found.items()} == {
        "join": ("Joins words.\n\nWith a space.", False),
        "split": ("", True),
    }
    kinds = {name: each.kind.name for name, each in found["join"].signature.parameters.items()}
    assert kinds == {"words": "POSITIONAL_OR_KEYWORD", "by": "POSITIONAL_OR_KEYWORD", "odd": "KEYWORD_ONLY"}
    assert (
        found["join"].dump_arguments([[{"text": "a"}]], {"by": "-"}) == b'{"words":[{"text":"a"}],"by":"-"}'
    )
    assert found["split"].load_result(b'{"text":"a","raw":""}') == {"text": "a", "raw": ""}


@pytest.mark.parametrize(
    "body",
    [
        b'{"openapi": "3.1.0", "paths": {}}',
        b"<html>",
        b"[]",
        b'{"x-roost-endpoints": [{"name": "a", "parameters": [{"name": "not a name"}]}]}',
        b'{"x-roost-endpoints": [{"name": "a", "parameters": [{"name": "b"}, {"name": "b"}]}]}',
    ],
)
def test_what_describes_no_endpoints_is_said(body: bytes) -> None:
    with pytest.raises(BadRequest, match="The deployment has no endpoints"):
        read_document(body)
