"""A signed URL of S3 that fixes the bytes: whoever has it can store these and no others.

obstore signs a PUT for any bytes. Here such a URL is signed anew with the header `x-amz-checksum-sha256`
among what is signed; S3 then compares it with the bytes. By AWS Signature Version 4 for query strings:
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

CHECKSUM: Final = "x-amz-checksum-sha256"
_ALGORITHM: Final = "AWS4-HMAC-SHA256"


def put_headers(sha256: str) -> dict[str, str]:
    """What must be sent with the bytes."""
    return {CHECKSUM: base64.b64encode(bytes.fromhex(sha256)).decode()}


def bind_bytes(url: str, secret_key: str, sha256: str) -> str:
    """The signed URL of a PUT, signed anew for bytes of this SHA-256 (64 hex digits).

    Args:
        url: As obstore signs it; its path, date, scope and expiry are kept.
    """
    return resign("PUT", url, secret_key, put_headers(sha256))


def resign(method: str, url: str, secret_key: str, headers: dict[str, str]) -> str:
    """A signed URL with another signature: over these headers, too (names in lower case)."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query.pop("X-Amz-Signature", None)
    signed = {"host": parts.netloc, **headers}
    query["X-Amz-SignedHeaders"] = ";".join(sorted(signed))
    canonical_query = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
    request = "\n".join(
        (
            method,
            parts.path,
            canonical_query,
            *(f"{name}:{signed[name].strip()}" for name in sorted(signed)),
            "",
            query["X-Amz-SignedHeaders"],
            "UNSIGNED-PAYLOAD",
        )
    )
    scope = query["X-Amz-Credential"].split("/", 1)[1]
    text = "\n".join((_ALGORITHM, query["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_signing_key(secret_key, scope), text.encode(), hashlib.sha256).hexdigest()
    return parts._replace(query=f"{canonical_query}&X-Amz-Signature={signature}").geturl()


def _signing_key(secret_key: str, scope: str) -> bytes:
    """The key for one day, region and service: `date/region/s3/aws4_request`."""
    key = f"AWS4{secret_key}".encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return key
