"""What obstore raises, as it was seen on real storages, and what is said of it."""

from __future__ import annotations

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError, UnauthenticatedError

from roost.errors import ArtifactNotFound, RoostError, StorageDenied, Unavailable
from roost.storage.failures import translated

URL = "s3://bucket/roost"
PUT = "Error performing PUT http://127.0.0.1:9000/bucket/roost/x in 2.1ms - "
DENIED = "The operation lacked the necessary privileges to complete for path roost/x: " + PUT
CONNECT = """Generic S3 error: {put}HTTP error: error sending request

Debug source:
ConnectError(
    "{kind} error",
    {inner}
)"""


def answer(status: str, code: str, message: str) -> str:
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return f"Server returned non-2xx status code: {status}: <?xml?>\n{error}"


def said(error: Exception) -> RoostError:
    with pytest.raises(RoostError) as caught, translated(URL, "x"):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind", "message", "hint"),
    [
        (
            PermissionDeniedError(DENIED + answer("403 Forbidden", "InvalidAccessKeyId", "no")),
            StorageDenied,
            "cannot be used: it does not know the access key.",
            "AWS_ACCESS_KEY_ID",
        ),
        (
            PermissionDeniedError(DENIED + answer("403 Forbidden", "SignatureDoesNotMatch", "no")),
            StorageDenied,
            "cannot be used: the secret key is wrong.",
            "AWS_SECRET_ACCESS_KEY",
        ),
        (
            PermissionDeniedError(DENIED + answer("403 Forbidden", "RequestTimeTooSkewed", "no")),
            StorageDenied,
            "the clocks of this machine and of the storage are more than 15 minutes apart.",
            "NTP",
        ),
        (
            UnauthenticatedError(DENIED + answer("400 Bad Request", "ExpiredToken", "no")),
            StorageDenied,
            "the session's credentials have run out.",
            "AWS_SESSION_TOKEN",
        ),
        (
            PermissionDeniedError(DENIED + answer("403 Forbidden", "AccessDenied", "Not &quot;yours&quot;.")),
            StorageDenied,
            "refuses access to 'x': Not \"yours\" (AccessDenied).",
            "read, write, list and delete",
        ),
        (
            PermissionDeniedError(DENIED + "Server returned non-2xx status code: 403 Forbidden: "),
            StorageDenied,
            "refuses access to 'x'.",
            "Check its keys",
        ),
        (
            FileNotFoundError("Object at location x not found: " + answer("404", "NoSuchBucket", "no")),
            Unavailable,
            "there is no such bucket.",
            "Create it, or correct ROOST_STORAGE_URL",
        ),
        (
            GenericError("Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token"),
            StorageDenied,
            "there are no credentials, neither in the environment nor from the machine's role.",
            "AWS_ACCESS_KEY_ID",
        ),
        (
            GenericError(
                "Generic S3 error: Error performing GET http://minio:9000/b/x - HTTP error: builder error"
            ),
            Unavailable,
            "its address begins with http:// and is not on this machine.",
            "AWS_ALLOW_HTTP=true",
        ),
        (
            GenericError(CONNECT.format(put=PUT, kind="tcp connect", inner='message: "Connection refused"')),
            Unavailable,
            "does not answer at 'http://127.0.0.1:9000': connection refused.",
            "AWS_ENDPOINT_URL",
        ),
        (
            GenericError(CONNECT.format(put=PUT, kind="dns", inner='error: "Name or service not known",')),
            Unavailable,
            "does not answer at 'http://127.0.0.1:9000': name or service not known.",
            "can be reached from this machine",
        ),
        (
            GenericError(
                "Generic LocalFileSystem error: No space left on device (os error 28)\n\nDebug source:"
            ),
            Unavailable,
            "failed at 'x': Generic LocalFileSystem error: No space left on device (os error 28).",
            "",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_is_said(error: Exception, kind: type[RoostError], message: str, hint: str) -> None:
    found = said(error)
    assert type(found) is kind
    assert found.message.startswith(f"storage '{URL}' ")
    assert found.message.endswith(message)
    assert hint in (found.hint or "")
    assert found.__cause__ is error


def test_what_is_not_there() -> None:
    found = said(FileNotFoundError("Object at location x not found: " + answer("404", "NoSuchKey", "no")))
    assert type(found) is ArtifactNotFound
    assert found.message == "'x' is not in storage."


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("GET http://169.254.169.254/computeMetadata/v1/instance", "Set GOOGLE_APPLICATION_CREDENTIALS;"),
        (
            "Generic MicrosoftAzure error: Account must be specified",
            "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY;",
        ),
    ],
)
def test_each_vendor_has_its_own_variables(text: str, hint: str) -> None:
    assert (said(GenericError(text)).hint or "").startswith(hint)
