from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import CorruptArtifact, InvalidWeights
from roost.storage.artifacts import sha256
from roost.storage.download import download_tree
from roost.storage.local_tree import remove_tree
from roost.storage.manifest import CHUNK_SIZE, Chunk, FileEntry, Link, Manifest

HELLO = sha256(b"hello")


def encoded(files: list[str] = [], links: dict[str, str] = {}, directories: list[str] = []) -> bytes:  # noqa: B006
    """A manifest in canonical form, whatever its names are."""
    return Manifest(
        files=[
            FileEntry(path=path, size=5, executable=False, chunks=[Chunk(sha256=HELLO, size=5)])
            for path in files
        ],
        links=[Link(path=path, target=target) for path, target in links.items()],
        directories=directories,
    ).encode()


def test_canonical_form() -> None:
    data = encoded(["b", "a"], {"l": "a"}, ["d"])
    assert data == (
        b'{"directories":["d"],"files":['
        b'{"chunks":[{"offset":0,"sha256":"' + HELLO.encode() + b'","size":5}],'
        b'"executable":false,"path":"a","size":5},'
        b'{"chunks":[{"offset":0,"sha256":"' + HELLO.encode() + b'","size":5}],'
        b'"executable":false,"path":"b","size":5}],'
        b'"links":[{"path":"l","target":"a"}],"version":1}'
    )
    manifest = Manifest.decode(data)
    assert manifest.digest == sha256(data)
    assert manifest.size_bytes == 10
    assert manifest.chunk_names() == {HELLO}
    assert manifest.chunk_sizes() == {HELLO: 5}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "..",
        "../x",
        "a/../b",
        "a/..",
        ".",
        "./a",
        "a/./b",
        "a//b",
        "a/",
        "a\0b",
        "..\\x",
        "a\\b",
        "x" * 256,
        "/".join(["x" * 200] * 11),
        "/".join(["a"] * 129),
    ],
)
def test_bad_paths_are_refused(path: str) -> None:
    for data in (encoded([path]), encoded(links={path: "x"}), encoded(["x"], directories=[path])):
        with pytest.raises(InvalidWeights, match="is not valid"):
            Manifest.decode(data)


@pytest.mark.parametrize(
    "target", ["", "/etc/passwd", "..", "../..", "../../x", "./../../x", "x/../../..", "a/..", "\0", "a\\b"]
)
def test_bad_links_are_refused(target: str) -> None:
    with pytest.raises(InvalidWeights, match="is not valid"):
        Manifest.decode(encoded(links={"l" if target == ".." else "d/l": target}))


def test_the_deepest_path_is_written_and_removed(tmp_path: Path) -> None:
    data = encoded(["/".join(["a"] * 128)])
    download_tree(sha256(data), _Hostile(data), tmp_path / "target", workers=1)
    assert (tmp_path / "target" / "/".join(["a"] * 128)).read_bytes() == b"hello"
    remove_tree(tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", [".", "x", "./x", "../x", "..", "a//b/"])
def test_links_inside_are_kept(target: str) -> None:
    assert Manifest.decode(encoded(links={"d/l": target})).links == [Link(path="d/l", target=target)]


@pytest.mark.parametrize(
    "data",
    [
        encoded(["a", "a"]),
        encoded(["a"], {"a": "x"}),
        encoded(["a"], directories=["a"]),
        encoded(directories=["a", "a"]),
        encoded(["a", "a/b"]),
        encoded(["l/x"], {"l": "d"}),
        encoded(["l/d/x"], {"l": "d"}),
        encoded(["d/x"], directories=["d"]),
    ],
)
def test_entries_that_collide_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidWeights, match="is not valid"):
        Manifest.decode(data)


def changed(**fields: Any) -> bytes:
    manifest = json.loads(encoded(["a"]))
    return json.dumps(manifest | fields, sort_keys=True, separators=(",", ":")).encode()


def run(sha256: str, offset: int, size: int) -> dict[str, Any]:
    return {"offset": offset, "sha256": sha256, "size": size}


FILE = {
    "path": "a",
    "size": 5,
    "executable": False,
    "chunks": [{"offset": 0, "sha256": HELLO, "size": 5}],
}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[" * 100_000,
        b"\xff",
        b" " + encoded(["a"]),
        changed(version=2),
        changed(extra=1),
        changed(files=[FILE | {"size": 6}]),
        changed(files=[FILE | {"size": -1, "chunks": []}]),
        changed(files=[FILE | {"size": "5"}]),
        changed(files=[FILE | {"chunks": [{"sha256": HELLO, "size": 5}]}]),
        changed(files=[FILE | {"chunks": [run("../" + HELLO[3:], 0, 5)]}]),
        changed(files=[FILE | {"chunks": [run(HELLO + "\n", 0, 5)]}]),
        changed(files=[FILE | {"size": 2**40, "chunks": [run(HELLO, 0, 2**40)]}]),
        changed(files=[FILE | {"size": 0, "chunks": [run(HELLO, 0, 0)]}]),
        changed(files=[FILE | {"chunks": [run(HELLO, -1, 5)]}]),
        changed(files=[FILE | {"chunks": [run(HELLO, CHUNK_SIZE - 4, 5)]}]),
        changed(files=[FILE | {"chunks": [run(HELLO, 2**63, 5)]}]),
        changed(directories=["\ud800"]),
    ],
)
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidWeights, match="is not valid"):
        Manifest.decode(data)


class _Hostile:
    """Answers with one manifest and the chunk `hello`, whatever the manifest says."""

    def __init__(self, manifest: bytes) -> None:
        self.manifest = manifest

    def missing(self, kind: str, names: object) -> set[str]:
        return set()

    def put(self, kind: str, name: str, data: bytes) -> None:
        raise AssertionError

    def get(self, kind: str, name: str) -> bytes:
        return self.manifest if kind == "manifests" else b"hello"


_segments = st.sampled_from(["a", "b", "l", "..", ".", "", "\0", "..\\", "%2e%2e", "etc", "c:"]) | st.text(
    max_size=4
)
_paths = st.lists(_segments, max_size=5).map("/".join) | st.just("/escape")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_paths, max_size=4),
    st.dictionaries(_paths, _paths | st.sampled_from(["../..", "..", "/", "../outside"]), max_size=3),
    st.lists(_paths, max_size=2),
)
def test_hostile_manifests_write_nothing_outside(
    files: list[str], links: dict[str, str], directories: list[str]
) -> None:
    data = encoded(files, links, directories)
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name, "1", "2", "3")
        parent.mkdir(parents=True)
        target = parent / "target"
        try:
            download_tree(sha256(data), _Hostile(data), target, workers=1)
        except CorruptArtifact:
            assert list(parent.iterdir()) == []
        else:
            inside = os.path.realpath(target)
            for path in target.rglob("*"):
                if path.is_symlink():
                    reached = os.path.realpath(path)
                    assert reached == inside or reached.startswith(f"{inside}/")
        around = {str(path.relative_to(name)) for path in Path(name).rglob("*")} - {"1", "1/2", "1/2/3"}
        assert all(path == "1/2/3/target" or path.startswith("1/2/3/target/") for path in around)


_runs = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "d/b", "c"]), _runs, max_size=3))
def test_runs_are_written_as_they_say_or_refused(files: dict[str, list[tuple[int, int]]]) -> None:
    """Runs may overlap, leave gaps and lie beyond the chunk, which is `hello`."""
    data = Manifest(
        files=[
            FileEntry(
                path=path,
                size=sum(size for _, size in runs),
                executable=False,
                chunks=[Chunk(sha256=HELLO, offset=offset, size=size) for offset, size in runs],
            )
            for path, runs in files.items()
        ],
        links=[],
        directories=[],
    ).encode()
    ends = [offset + size for runs in files.values() for offset, size in runs]
    with tempfile.TemporaryDirectory() as name:
        target = Path(name, "target")
        for _ in range(2):  # the second finds what the first has left, as after a kill
            if ends and max(ends) != 5:
                with pytest.raises(CorruptArtifact):
                    download_tree(sha256(data), _Hostile(data), target, workers=1)
                assert list(Path(name).iterdir()) == []
                continue
            download_tree(sha256(data), _Hostile(data), target, workers=1)
            for path, runs in files.items():
                written = b"".join(b"hello"[offset : offset + size] for offset, size in runs)
                assert (target / path).read_bytes() == written
            target.rename(Path(name, ".target.partial"))
