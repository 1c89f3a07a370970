"""Weights in a Hugging Face repository: one commit of it, every file verified.

The library `huggingface_hub` lists and fetches (docs/decisions/0016-hub-source.md). What it does not check is
checked here: the names, and each file against the hash that the repository has of it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

import roost
from roost.errors import CorruptArtifact, NotFound, Unavailable
from roost.sdk.progress import transfer
from roost.sdk.sources.address import HubAddress
from roost.sdk.sources.hub_errors import translated
from roost.sdk.sources.room import room_for
from roost.storage.local_tree import remove_tree
from roost.storage.transfer import Meter, Progress, run_parallel
from roost.storage.tree_paths import check_tree

if TYPE_CHECKING:
    from huggingface_hub import HfApi

WORKERS: Final = 4
ATTEMPTS: Final = 2
"""How often a file is fetched whose bytes are not those of the repository."""

_READ_BYTES: Final = 1024 * 1024
_OWN_FOLDER: Final = ".cache/huggingface"
"""Where the library keeps what it knows of a directory's files."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a commit.

    Attributes:
        sha256: Of the content; None for a file that is kept in git itself.
        blob: Git's own hash of the file, or of the pointer that stands for it.
    """

    path: str
    size: int
    sha256: str | None
    blob: str

    def is_content(self, file: Path) -> bool:
        """Whether the bytes in `file` are the repository's."""
        if file.stat().st_size != self.size:
            return False
        if self.sha256 is not None:
            return _digest(file, hashlib.sha256()) == self.sha256
        return _digest(file, hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)) == self.blob


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
        commit = api.model_info(address.repository, revision=address.revision).sha or address.revision
        files = list_files(api, address, commit)
    with room_for(sum(file.size for file in files), str(address)) as directory:
        with translated(address), transfer(f"Downloading {address}") as progress:
            fetch_files(api, address, commit, files, directory, progress=progress)
        _remove_own_folder(directory)
        yield directory


def list_files(api: HfApi, address: HubAddress, commit: str) -> list[HubFile]:
    """The files of a commit that are wanted; their names form one tree.

    Raises:
        InvalidWeights: for a name that can be no path of a tree.
        NotFound: when none is wanted.
    """
    files = [
        HubFile(item.path, item.size, item.lfs.sha256 if item.lfs else None, item.blob_id)
        for item in api.list_repo_tree(address.repository, recursive=True, revision=commit)
        if hasattr(item, "blob_id") and _is_wanted(item.path, address)
    ]
    check_tree([file.path for file in files], {}, ())
    if not files:
        raise NotFound(
            f"{str(address)!r} has no file that is wanted.",
            hint="Check what stands after allow= and ignore=.",
        )
    return files


def fetch_files(
    api: HfApi,
    address: HubAddress,
    commit: str,
    files: list[HubFile],
    directory: Path,
    *,
    progress: Progress | None = None,
) -> None:
    """Download the files into `directory`, and verify each."""
    meter = Meter(sum(file.size for file in files), progress)

    def fetch(file: HubFile) -> None:
        for _ in range(ATTEMPTS):
            got = Path(
                api.hf_hub_download(address.repository, file.path, revision=commit, local_dir=directory)
            )
            if file.is_content(got):
                meter.add(file.size)
                return
            got.unlink()
        raise CorruptArtifact(
            f"{file.path!r} of {str(address)!r} came {ATTEMPTS} times with bytes that are not its own.",
            hint="Try again; a proxy on the way, or the hub's storage, may be at fault.",
        )

    run_parallel(fetch, files, workers=WORKERS)


def _api() -> HfApi:
    # Read when the library is imported; nothing is reported to anyone unless the user wants it.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        library = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise Unavailable(
            "hf:// sources need the library huggingface_hub, which is not installed here.",
            hint="Install it with `pip install 'roost[hub]'`, or download the files and give their folder.",
        ) from error
    api: HfApi = library.HfApi(
        endpoint=os.environ.get("HF_ENDPOINT") or None,
        library_name="roost",
        library_version=roost.__version__,
    )
    return api


def _remove_own_folder(directory: Path) -> None:
    own = directory / _OWN_FOLDER
    remove_tree(own)
    if own.parent.is_dir() and not any(own.parent.iterdir()):
        own.parent.rmdir()


def _is_wanted(path: str, address: HubAddress) -> bool:
    if path.startswith(f"{_OWN_FOLDER}/"):
        return False
    if address.allow and not any(fnmatchcase(path, pattern) for pattern in address.allow):
        return False
    return not any(fnmatchcase(path, pattern) for pattern in address.ignore)


def _digest(file: Path, digest: hashlib._Hash) -> str:
    with file.open("rb") as opened:
        while data := opened.read(_READ_BYTES):
            digest.update(data)
    return digest.hexdigest()
