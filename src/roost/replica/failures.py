"""How errors of the servable's own code are told: to callers, and to whoever deploys it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from roost.errors import ModelDeployFailed, ModelError, RoostError

_log = logging.getLogger("roost.replica")

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_MAX_TEXT = 2000


def raised_by_model(error: BaseException) -> ModelError:
    """What a caller is told of an error that the model's own code raised: its type, not its text."""
    return ModelError(
        f"The model's code raised {type(error).__name__}.",
        hint="The replica's log has the traceback under the request id.",
    )


@contextmanager
def serving(what: str) -> Iterator[None]:
    """Tell an error that the model's own code raises inside as the caller is to be told of it.

    Args:
        what: What runs inside, for the log.

    Raises:
        RoostError: as the model raised it.
        ModelError: for any other error, also one that would end the process; the log has it.
    """
    try:
        yield
    except (RoostError, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # whatever it is, the replica has to go on
        _log.exception("%s raised", what)
        raise raised_by_model(error) from None


@contextmanager
def starting(what: str) -> Iterator[None]:
    """Tell an error raised inside as the reason why the replica did not start.

    Args:
        what: The step that is taken inside, as the subject of a sentence.

    Raises:
        ModelDeployFailed: for any error inside, with its type and its text.
    """
    try:
        yield
    except ModelDeployFailed:
        raise
    except (Exception, SystemExit) as error:
        text = _ANSI.sub("", str(error)).strip()[:_MAX_TEXT]
        raise ModelDeployFailed(f"{what} raised {type(error).__name__}: {text or 'no message'}") from error
