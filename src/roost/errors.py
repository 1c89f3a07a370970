"""Every error Roost raises, drawn as one tree.

RoostError                      code               status
├── BadRequest                  bad_request        400   the request makes no sense as it stands
│   ├── InvalidName                                      a key segment or a name breaks the rules
│   ├── InvalidConfig                                    a config that is not string to string
│   ├── InvalidRequirements                              negative, infinite or contradictory hardware
│   ├── InvalidWeights                                   a weights directory that cannot be stored
│   ├── InvalidServable                                  a class that cannot be bundled or imported
│   ├── InvalidMedia                                     an image that cannot be loaded under policy
│   └── WrongCapability                                  the model serves another capability
├── Unauthorized                unauthorized       401
├── Forbidden                   forbidden          403
├── NotFound                    not_found          404
│   ├── ModelNotFound                                    no such registry entry
│   ├── ModelNotDeployed                                 a model exists, a deployment of it does not
│   └── ArtifactNotFound                                 no such chunk, manifest or bundle
├── MethodNotAllowed            method_not_allowed 405
├── Conflict                    conflict           409
│   ├── ModelBusy                                        somebody else is writing this model
│   ├── ModelNotReady                                    the model has no finished upload
│   ├── ModelInUse                                       a deployment runs this model
│   ├── NameTaken                                        a live deployment has this name
│   └── Infeasible                                       no node can ever hold one replica
├── PayloadTooLarge             payload_too_large  413
├── UnsupportedMediaType        unsupported_media_type 415
├── ValidationFailed            validation_error   422   the fields are listed in `issues`
├── TooManyRequests             too_many_requests  429
├── InternalError               internal_error     500
│   └── CorruptArtifact                                  stored bytes differ from their name
├── ModelError                  model_error        500   the model's own code raised
│   └── ModelDeployFailed                                the deployment did not come up
├── Unavailable                 unavailable        503   try again later
│   ├── ServerUnreachable                                no Roost server answers at the URL
│   ├── EngineUnavailable                                Ray does not answer
│   ├── EngineStartFailed                                the embedded Ray did not start
│   ├── StorageDenied                                    the storage refuses our credentials
│   └── PortTaken                                        the address to listen on is in use
└── Timeout                     timeout            504   it did not happen in the time given

`code` says what the caller can do about it and maps to an HTTP status in one table (`STATUS`).
`reason` is the snake-case name of the class; a client rebuilds the class from it.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

STATUS: dict[str, int] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "validation_error": 422,
    "too_many_requests": 429,
    "internal_error": 500,
    "model_error": 500,
    "unavailable": 503,
    "timeout": 504,
}


class RoostError(Exception):
    """The root of all errors of Roost.

    Args:
        message: One sentence that names the offending value (`{value!r}`) and the rule.
        hint: The next step for the person who reads it, when there is one.
        context: Structured values for logs; never sent to a caller.
        issues: For `ValidationFailed`: one entry a field, `{"loc": [...], "message": "..."}`.
        retry_after_s: Seconds after which a retry may succeed; sent as `Retry-After`.
    """

    code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        context: dict[str, Any] | None = None,
        issues: list[dict[str, Any]] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.context = context or {}
        self.issues = issues
        self.retry_after_s = retry_after_s
        self.request_id: str | None = None

    @property
    def status(self) -> int:
        """The HTTP status of `code`."""
        return STATUS[self.code]

    @property
    def reason(self) -> str:
        """The class name in snake case: `ModelNotFound` → `model_not_found`."""
        return reason_of(type(self))

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments would be lost by the default pickling of exceptions.
        # The request id travels as state.
        arguments = (type(self), self.message, self.hint, self.context, self.issues, self.retry_after_s)
        return _rebuild, arguments, {"request_id": self.request_id}


def _rebuild(
    cls: type[RoostError],
    message: str,
    hint: str | None,
    context: dict[str, Any],
    issues: list[dict[str, Any]] | None,
    retry_after_s: float | None,
) -> RoostError:
    return cls(message, hint=hint, context=context, issues=issues, retry_after_s=retry_after_s)


class BadRequest(RoostError, ValueError):
    """The request makes no sense as it stands; repeating it will not help."""

    code = "bad_request"


class InvalidName(BadRequest):
    """A key segment or a deployment's name breaks the naming rules."""


class InvalidConfig(BadRequest):
    """A config that is not a mapping of non-blank strings to strings."""


class InvalidRequirements(BadRequest):
    """Hardware requirements that are negative, not finite or contradict each other."""


class InvalidWeights(BadRequest):
    """A weights directory that is missing, empty of meaning or leaves its own tree."""


class InvalidServable(BadRequest):
    """A class that cannot be traced, packed or imported in a clean interpreter."""


class InvalidMedia(BadRequest):
    """An image, video or array that cannot be loaded under the media policy."""


class WrongCapability(BadRequest):
    """The named model serves another capability than the route asks for."""


class Unauthorized(RoostError):
    """A key is needed and none was given."""

    code = "unauthorized"


class Forbidden(RoostError):
    """The key is wrong, or does not cover this."""

    code = "forbidden"


class NotFound(RoostError, LookupError):
    """What the request names does not exist."""

    code = "not_found"


class ModelNotFound(NotFound):
    """No registry entry has this key; for a deployment use `ModelNotDeployed`."""


class ModelNotDeployed(NotFound):
    """Nothing is, or ever was, deployed under this key or name."""


class ArtifactNotFound(NotFound):
    """A chunk, manifest or bundle is not in storage."""


class MethodNotAllowed(RoostError):
    """The route exists, with other methods."""

    code = "method_not_allowed"


class Conflict(RoostError, ValueError):
    """The state of the system forbids it now; another state may allow it."""

    code = "conflict"


class ModelBusy(Conflict):
    """Another live writer holds the claim on this model."""


class ModelNotReady(Conflict):
    """The model has no finished upload to serve or load."""


class ModelInUse(Conflict):
    """Deployments run this model, so it cannot be deleted."""


class NameTaken(Conflict):
    """A live deployment already has this name."""


class Infeasible(Conflict):
    """No node of the cluster can ever hold one replica with these requirements."""


class PayloadTooLarge(RoostError):
    """The body, or what it decodes to, is over the limit."""

    code = "payload_too_large"


class UnsupportedMediaType(RoostError):
    """The content type is not one this route reads."""

    code = "unsupported_media_type"


class ValidationFailed(RoostError, ValueError):
    """The body was read, but fields break their rules; each is listed in `issues`."""

    code = "validation_error"


class TooManyRequests(RoostError):
    """A rate limit; `retry_after_s` says when to come back."""

    code = "too_many_requests"


class InternalError(RoostError):
    """A fault of Roost itself. The log has the details under the same request id."""

    code = "internal_error"


class CorruptArtifact(InternalError):
    """Stored bytes do not have the digest they are named by."""


class ModelError(RoostError, RuntimeError):
    """The model's own code raised while it served a request."""

    code = "model_error"


class ModelDeployFailed(ModelError):
    """The deployment did not come up; the message carries the constructor's own error."""


class Unavailable(RoostError):
    """Not now; trying again later may help."""

    code = "unavailable"


class ServerUnreachable(Unavailable, ConnectionError):
    """No Roost server answers at the configured URL."""


class EngineUnavailable(Unavailable):
    """Ray does not answer, or refuses our token."""


class EngineStartFailed(Unavailable, RuntimeError):
    """The embedded Ray cluster did not start; the message points at its log."""


class StorageDenied(Unavailable):
    """The storage refuses our credentials, or they do not cover what was asked."""


class PortTaken(Unavailable, OSError):
    """The address to listen on is in use by another process."""


class Timeout(RoostError, TimeoutError):
    """It did not happen in the time given; it may still happen later."""

    code = "timeout"


def reason_of(cls: type[RoostError]) -> str:
    """The wire name of an error class: its name in snake case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def _tree(cls: type[RoostError]) -> list[type[RoostError]]:
    return [cls, *(sub for child in cls.__subclasses__() for sub in _tree(child))]


def error_class(code: str, reason: str | None = None) -> type[RoostError]:
    """The class for a wire error: by `reason` when known, else the base class of `code`.

    An unknown code (a newer server) gives `InternalError`.
    """
    classes = _tree(RoostError)
    by_reason = {reason_of(cls): cls for cls in classes}
    if reason in by_reason:
        return by_reason[reason]
    for cls in classes[1:]:
        if cls.code == code:
            return cls
    return InternalError
