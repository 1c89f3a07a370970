"""Reads the body of an inference request into the capability's request type."""

from __future__ import annotations

from pydantic import ValidationError

from roost.capabilities.table import Capability
from roost.contracts.envelope import InferenceRequest
from roost.errors import BadRequest, UnsupportedMediaType, ValidationFailed
from roost.replica.multipart import parse_parts

METADATA_PART = "metadata"


def read_json(capability: Capability, content_type: bytes | None, body: bytes) -> InferenceRequest:
    """The request of a JSON body.

    Raises:
        UnsupportedMediaType: when the content type is not JSON.
        BadRequest: when the body is not JSON.
        ValidationFailed: when fields break their rules.
    """
    require_json(content_type)
    return _parse(capability, capability.request_type, body)


def read_binary(
    capability: Capability, content_type: bytes | None, body: bytes
) -> tuple[InferenceRequest, list[bytes]]:
    """The request of a multipart body, and its raw media in order.

    Raises:
        UnsupportedMediaType: when the content type is not multipart/form-data.
        BadRequest: when the body is broken, or parts are missing or not known.
        ValidationFailed: when fields of the metadata break their rules.
    """
    field = capability.upload_field
    assert field is not None
    assert capability.upload_request_type is not None
    metadata: bytes | None = None
    uploads: list[bytes] = []
    for name, data in parse_parts(content_type, body):
        if name == METADATA_PART and metadata is None:
            metadata = data
        elif name == field and (capability.upload_many or not uploads):
            uploads.append(data)
        else:
            raise BadRequest(
                f"The multipart part {name!r} is not expected here.",
                hint=f"Send one part {METADATA_PART!r} and "
                f"{'parts' if capability.upload_many else 'one part'} {field!r}.",
            )
    if metadata is None or not uploads:
        missing = METADATA_PART if metadata is None else field
        raise BadRequest(f"The multipart body has no part {missing!r}.")
    return _parse(capability, capability.upload_request_type, metadata), uploads


def require_json(content_type: bytes | None) -> None:
    """Do nothing when a body of this content type is JSON.

    Raises:
        UnsupportedMediaType: when it is not.
    """
    if content_type != b"application/json" and not _is_json(content_type):
        raise UnsupportedMediaType(
            f"Content type {(content_type or b'')[:80].decode('latin-1')!r} cannot be read here.",
            hint="Send application/json.",
        )


def _parse(capability: Capability, request_type: type[InferenceRequest], data: bytes) -> InferenceRequest:
    try:
        return request_type.model_validate_json(data)
    except ValidationError as error:
        raise _refused(capability, error) from None


def _is_json(content_type: bytes | None) -> bool:
    kind = (content_type or b"").partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def _refused(capability: Capability, error: ValidationError) -> BadRequest | ValidationFailed:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if details[0]["type"] == "json_invalid":
        return BadRequest(f"The request is not valid JSON: {details[0]['msg']}.")
    issues = [{"loc": list(detail["loc"]), "message": detail["msg"]} for detail in details]
    first = issues[0]
    where = ".".join(str(step) for step in first["loc"]) or "the body"
    return ValidationFailed(
        f"The {capability.name} request has {len(issues)} bad field(s), the first is {where!r}: "
        f"{first['message']}.",
        issues=issues,
    )
