"""Our log lines in the replica's own log, which Ray keeps and serves."""

from __future__ import annotations

import copy
import logging
import traceback
from collections.abc import Sequence
from typing import Final

from roost.asgi.request_id import current_request_id

ROOT: Final = "roost"
_RAY: Final = "ray.serve"


class ReplicaLog(logging.Handler):
    """Hands records on with the request's id and the whole traceback in their text.

    Ray's own formatter writes a traceback as a tuple of its lines.
    """

    def __init__(self, handlers: Sequence[logging.Handler]) -> None:
        super().__init__()
        self._handlers = handlers

    def emit(self, record: logging.LogRecord) -> None:
        """Write to all of Ray's handlers."""
        plain = copy.copy(record)
        plain.msg, plain.args = _text(record), ()
        plain.exc_info = plain.exc_text = None
        for handler in self._handlers:
            handler.handle(plain)


def log_with_ray() -> None:
    """Send our records to the handlers of Ray Serve; called once, when the replica starts."""
    log = logging.getLogger(ROOT)
    log.addHandler(ReplicaLog(logging.getLogger(_RAY).handlers))
    log.setLevel(logging.INFO)
    log.propagate = False


def _text(record: logging.LogRecord) -> str:
    text = record.getMessage()
    request_id = current_request_id()
    if request_id and request_id not in text:
        text = f"request {request_id}: {text}"
    if record.exc_info and record.exc_info[1] is not None:
        text += "\n" + "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return text
