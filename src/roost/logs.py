"""The server's log: one line an event on stderr, with the request id where there is one."""

from __future__ import annotations

import logging
import sys

import structlog

from roost.asgi.request_id import current_request_id

_QUIET = ("alembic", "asyncio", "httpcore2", "httpx2", "uvicorn")
_MUTE = ("python_multipart",)  # warns of every malformed body, which is the caller's fault


def configure_logging(level: str) -> None:
    """Send all logs through structlog to stderr; libraries only from WARNING on."""
    shared: list[structlog.types.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
        _add_request_id,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _MUTE:
        logging.getLogger(name).setLevel(logging.ERROR)


def _add_request_id(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    request_id = current_request_id()
    if request_id:
        event["request_id"] = request_id
    return event
