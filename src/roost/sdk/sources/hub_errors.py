"""What went wrong at the hub, in words that name the next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from roost.errors import Forbidden, NotFound, RoostError, Unauthorized, Unavailable
from roost.sdk.sources.address import HubAddress

_TOKEN_HINT = "Set HF_TOKEN to a token that may read it, or log in with `hf auth login`."  # noqa: S105  # no password


@contextmanager
def translated(address: HubAddress) -> Iterator[None]:
    """Raise the library's errors as our own.

    Raises:
        NotFound: no such repository or revision.
        Unauthorized: the repository is private or does not exist, and no token was given.
        Forbidden: the token may not read the repository, for example because its terms are to be accepted.
        Unavailable: the hub does not answer, or the disk is full.
    """
    from huggingface_hub import errors  # noqa: PLC0415  # the extra [hub]

    try:
        yield
    except RoostError:
        raise
    except errors.GatedRepoError as error:
        raise Forbidden(
            f"{str(address)!r} is gated: its owner grants access to those who ask.",
            hint=f"Ask for it on the repository's page. {_TOKEN_HINT}",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise NotFound(
            f"the repository {address.repository!r} has no revision {address.revision!r}.",
            hint="Name a branch, a tag or a commit after '@'.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise _no_repository(address, error) from error
    except errors.HfHubHTTPError as error:
        raise _refused(address, error) from error
    except (httpx2.HTTPError, OSError, ValueError) as error:
        raise Unavailable(
            f"{str(address)!r} could not be downloaded: {_first_line(error)}.",
            hint="Try again; HF_ENDPOINT names another hub, HF_HUB_OFFLINE=1 forbids all of them.",
        ) from error


def _no_repository(address: HubAddress, error: Exception) -> RoostError:
    if _status(error) == 401:
        return Unauthorized(
            f"there is no public repository {address.repository!r}, and no token that is valid was given.",
            hint=f"Check the name. When it is private: {_TOKEN_HINT}",
        )
    return NotFound(
        f"there is no repository {address.repository!r}, or the token given may not see it.",
        hint=f"Check the name. When it is private: {_TOKEN_HINT}",
    )


def _refused(address: HubAddress, error: Exception) -> RoostError:
    status, said = _status(error), _first_line(error)
    if status == 401:
        return Unauthorized(f"the hub asks for a token to read {str(address)!r}: {said}.", hint=_TOKEN_HINT)
    if status == 403:
        return Forbidden(f"the hub does not let {str(address)!r} be read: {said}.", hint=_TOKEN_HINT)
    if status == 404:
        return NotFound(f"{str(address)!r} is not at the hub: {said}.", hint="Check name and revision.")
    return Unavailable(f"the hub failed at {str(address)!r}: {said}.", hint="Try again later.")


def _status(error: Exception) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.split("\n", 1)[0][:300].rstrip(".")
