"""What a tree of weights consists of. The manifest's own SHA-256 is the digest of the weights."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roost.errors import InvalidWeights
from roost.storage.tree_paths import check_tree

CHUNK_SIZE: Final = 8 * 1024 * 1024
"""Bytes of the largest stored chunk: of all but the last of a large file."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Chunk(_Strict):
    """A run of a file's bytes inside a stored chunk, which is kept once whatever holds it.

    Attributes:
        sha256: Of the whole stored chunk; its name.
        offset: Where in the stored chunk the run begins; above 0 where small files share one.
        size: Bytes of the run.
    """

    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
    offset: Annotated[int, Field(ge=0, lt=CHUNK_SIZE)] = 0
    size: Annotated[int, Field(ge=1, le=CHUNK_SIZE)]

    @property
    def end(self) -> int:
        """Where in the stored chunk the run ends."""
        return self.offset + self.size


class FileEntry(_Strict):
    """A file: the runs of its bytes in order. An empty file has none."""

    path: str
    size: Annotated[int, Field(ge=0)]
    executable: bool
    chunks: list[Chunk]


class Link(_Strict):
    """A symbolic link inside the tree; `target` is relative to the link's own directory."""

    path: str
    target: str


class Manifest(_Strict):
    """All of a tree, in the order of the paths.

    Attributes:
        directories: The empty ones; others exist by what they hold.
    """

    version: Literal[1] = 1
    files: list[FileEntry]
    links: list[Link]
    directories: list[str]

    @property
    def size_bytes(self) -> int:
        """Sum of the sizes of all files."""
        return sum(file.size for file in self.files)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the encoded manifest: the name of these weights."""
        return hashlib.sha256(self.encode()).hexdigest()

    def encode(self) -> bytes:
        """The one canonical form: sorted keys and paths, no spaces, ASCII JSON."""
        fields = self.model_dump()
        fields["files"].sort(key=lambda file: file["path"])
        fields["links"].sort(key=lambda link: link["path"])
        fields["directories"].sort()
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()

    def chunk_names(self) -> set[str]:
        """The names of all chunks, each once."""
        return set(self.chunk_sizes())

    def chunk_sizes(self) -> dict[str, int]:
        """The bytes of every stored chunk by its name, in the order in which the files need them."""
        sizes: dict[str, int] = {}
        for file in self.files:
            for chunk in file.chunks:
                sizes[chunk.sha256] = max(sizes.get(chunk.sha256, 0), chunk.end)
        return sizes

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Read a manifest back; what it returns is safe to write below any directory.

        Raises:
            InvalidWeights: it is not canonical, a path may lead outside, or sizes contradict each other.
        """
        try:
            manifest = cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(step) for step in first["loc"]) or "JSON"
            raise InvalidWeights(f"manifest is not valid at {where}: {first['msg']}.") from error
        check_manifest(manifest)
        if manifest.encode() != data:
            raise InvalidWeights("manifest is not valid: it is not in its canonical form.")
        return manifest


def check_manifest(manifest: Manifest) -> None:
    """Check paths, links and sizes.

    Raises:
        InvalidWeights: naming the entry and the rule it breaks.
    """
    links = {link.path: link.target for link in manifest.links}
    if len(links) != len(manifest.links):
        raise InvalidWeights("manifest is not valid: a link is there twice.")
    check_tree((file.path for file in manifest.files), links, manifest.directories)
    for name, size in manifest.chunk_sizes().items():
        if size > CHUNK_SIZE:
            raise InvalidWeights(
                f"chunk {name!r} is not valid: it has {size} bytes, at most {CHUNK_SIZE} are allowed."
            )
    for file in manifest.files:
        total = sum(chunk.size for chunk in file.chunks)
        if total != file.size:
            raise InvalidWeights(
                f"file {file.path!r} is not valid: its chunks have {total} bytes, its size is {file.size}."
            )
