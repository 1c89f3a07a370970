"""The files of one commit of a Hugging Face repository, and what each must hold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.errors import NotFound, Unavailable
from roost.sdk.sources.address import HubAddress
from roost.storage.tree_paths import check_tree

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LIBRARY_FOLDER: Final = ".cache/huggingface"
"""Where the library keeps what it knows of the files in a directory; nothing of a repository's goes there."""

_READ_BYTES: Final = 1024 * 1024


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


def list_files(api: HfApi, address: HubAddress, commit: str) -> list[HubFile]:
    """The files of a commit that are wanted; their names form one tree.

    Raises:
        InvalidWeights: for a name that can be no path of a tree.
        NotFound: when none is wanted.
        Unavailable: for a file that is too large for HTTP while Xet is off.
    """
    from huggingface_hub import constants  # noqa: PLC0415  # the extra [hub]
    from huggingface_hub.hf_api import RepoFile  # noqa: PLC0415  # the extra [hub]

    files = [
        HubFile(item.path, item.size, item.lfs.sha256 if item.lfs else None, item.blob_id)
        for item in api.list_repo_tree(address.repository, recursive=True, revision=commit)
        if isinstance(item, RepoFile) and _is_wanted(item.path, address)
    ]
    check_tree([file.path for file in files], {}, ())
    if not files:
        raise NotFound(f"{str(address)!r} has no file that is wanted.", hint="Check its allow= and ignore=.")
    largest = max(files, key=lambda file: file.size)
    if constants.HF_HUB_DISABLE_XET and largest.size > constants.MAX_HTTP_DOWNLOAD_SIZE:
        raise Unavailable(
            f"{largest.path!r} of {str(address)!r} has {largest.size} bytes, too many for HTTP.",
            hint="Set HF_HUB_DISABLE_XET=0 to have it fetched by the hub's Xet protocol.",
        )
    return files


def _is_wanted(path: str, address: HubAddress) -> bool:
    if path.startswith(f"{LIBRARY_FOLDER}/"):
        return False
    if address.allow and not any(fnmatchcase(path, pattern) for pattern in address.allow):
        return False
    return not any(fnmatchcase(path, pattern) for pattern in address.ignore)


def _digest(file: Path, digest: hashlib._Hash) -> str:
    with file.open("rb") as opened:
        while data := opened.read(_READ_BYTES):
            digest.update(data)
    return digest.hexdigest()
