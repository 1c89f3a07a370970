"""Weights in a Hugging Face repository: one commit of it, every file verified.

The library `huggingface_hub` lists and fetches (docs/decisions/0016-hub-source.md). What it does not check is
checked here: the names, and each file against the hash that the repository has of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import roost
from roost.errors import CorruptArtifact, Unavailable
from roost.sdk.progress import transfer
from roost.sdk.sources.address import HubAddress
from roost.sdk.sources.hub_errors import translated
from roost.sdk.sources.hub_files import LIBRARY_FOLDER, HubFile, list_files
from roost.sdk.sources.leavable import run_or_leave
from roost.sdk.sources.room import room_for
from roost.storage.local_tree import remove_tree
from roost.storage.transfer import Meter, Progress

if TYPE_CHECKING:
    from huggingface_hub import HfApi

WORKERS: Final = 4
ATTEMPTS: Final = 2
"""How often a file is fetched that comes with other bytes than the repository has."""


@contextmanager
def open_hub(address: HubAddress) -> Iterator[Path]:
    """A directory with the repository's files at the revision's present commit; removed at the end.

    `HF_TOKEN`, or the login of the `hf` command, opens private repositories; `HF_ENDPOINT` names another hub.

    Raises:
        NotFound, Unauthorized, Forbidden: as the hub says.
        InvalidWeights: a file's name can be no path of a tree.
        CorruptArtifact: a file that comes with other bytes than the repository has, again and again.
        Unavailable: the hub does not answer, no disk has room, or `huggingface_hub` is not installed.
    """
    api = _api()
    with translated(address):
        commit = api.model_info(address.repository, revision=address.revision).sha
        assert commit is not None
        files = list_files(api, address, commit)
    with room_for(sum(file.size for file in files), str(address)) as directory:
        with translated(address), transfer(f"Downloading {address}") as progress:
            _fetch(api, address, commit, files, directory, progress)
        _remove_library_folder(directory)
        yield directory


def _fetch(
    api: HfApi, address: HubAddress, commit: str, files: list[HubFile], directory: Path, progress: Progress
) -> None:
    meter, stopped = Meter(sum(file.size for file in files), progress), threading.Event()

    def fetch(file: HubFile) -> None:
        moved = _Moved(meter, stopped)
        for _ in range(ATTEMPTS):
            got = api.hf_hub_download(
                address.repository,
                file.path,
                revision=commit,
                local_dir=directory,
                tqdm_class=cast(Any, moved.bar),
            )
            if file.is_content(Path(str(got))):
                moved.settle(file.size)
                return
            Path(str(got)).unlink()
        raise CorruptArtifact(
            f"{file.path!r} of {str(address)!r} came {ATTEMPTS} times with bytes that are not its own.",
            hint="Try again; a proxy on the way, or the hub's storage, may be at fault.",
        )

    run_or_leave(fetch, files, workers=WORKERS, stopped=stopped)


class _Moved:
    """Counts the bytes of one file, and ends its download once others have failed or Ctrl-C was pressed."""

    def __init__(self, meter: Meter, stopped: threading.Event) -> None:
        self._meter = meter
        self._stopped = stopped
        self._bytes = 0

    def bar(self, *_: object, **__: object) -> _Moved:
        """What the library takes for the class of its progress bars."""
        return self

    def __enter__(self) -> _Moved:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, size: float | None = 1) -> None:
        """Called by the library for each piece that came."""
        if self._stopped.is_set():
            raise Unavailable("the download was stopped.")
        self._bytes += int(size or 0)
        self._meter.add(int(size or 0))

    def settle(self, size: int) -> None:
        """The file is whole: from now on exactly its size is counted."""
        self._meter.add(size - self._bytes)
        self._bytes = size


def _api() -> HfApi:
    # Read when the library is imported. Nothing is reported to anyone; Xet cannot be interrupted.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415  # the extra [hub]
    except ImportError as error:
        raise Unavailable(
            "hf:// sources need the library huggingface_hub, which is not installed here.",
            hint="Install it with `pip install 'roost[hub]'`, or download the files and give their folder.",
        ) from error
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return HfApi(endpoint=endpoint, library_name="roost", library_version=roost.__version__)


def _remove_library_folder(directory: Path) -> None:
    own = directory / LIBRARY_FOLDER
    remove_tree(own)
    if own.parent.is_dir() and not any(own.parent.iterdir()):
        own.parent.rmdir()
