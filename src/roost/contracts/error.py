"""The error body of every route: `{"error": {"code", "message", "requestId", ...}}`."""

from __future__ import annotations

from typing import Any

from roost.contracts.base import Wire
from roost.errors import RoostError, error_class


class ErrorDetail(Wire):
    """What went wrong, for the caller.

    Attributes:
        code: One of `roost.errors.STATUS`.
        reason: The snake-case name of the error's class; clients rebuild the class from it.
        message: One sentence naming the offending value and the rule.
        request_id: Finds the log lines of this request.
        hint: The next step, when there is one.
        issues: For `validation_error`: the fields that break their rules.
    """

    code: str
    reason: str | None = None
    message: str
    request_id: str
    hint: str | None = None
    issues: list[dict[str, Any]] | None = None


class ErrorBody(Wire):
    """The envelope of an error."""

    error: ErrorDetail

    @classmethod
    def of(cls, error: RoostError, request_id: str) -> ErrorBody:
        """The body that tells a caller of `error`."""
        reason = error.reason if error.reason != error.code else None
        detail = ErrorDetail(
            code=error.code,
            reason=reason,
            message=error.message,
            request_id=request_id,
            hint=error.hint,
            issues=error.issues,
        )
        return cls(error=detail)

    def to_json(self) -> bytes:
        """The wire form; absent fields are left out."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()

    def to_exception(self) -> RoostError:
        """The exception this body was made from, rebuilt from `reason`, else from `code`."""
        detail = self.error
        error = error_class(detail.code, detail.reason)(
            detail.message, hint=detail.hint, issues=detail.issues
        )
        error.request_id = detail.request_id
        return error
