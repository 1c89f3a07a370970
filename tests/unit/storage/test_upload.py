from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from roost.errors import InvalidWeights
from roost.storage.artifacts import StoredArtifacts
from roost.storage.manifest import CHUNK_SIZE, Manifest
from roost.storage.packing import SMALL_FILE
from roost.storage.upload import upload_tree


def test_the_manifest_describes_the_tree(tree: Path, artifacts: StoredArtifacts) -> None:
    manifest = upload_tree(tree, artifacts)
    assert [file.path for file in manifest.files] == [
        "a/b/same.bin",
        "a/nothing",
        "a/run.sh",
        "model.bin",
        "ünï cödé\n.txt",
    ]
    assert {link.path: link.target for link in manifest.links} == {
        "a/latest": "../model.bin",
        "a/dir-link": "b",
        "first": "a/nothing",
    }
    assert manifest.directories == ["empty/deep"]
    assert [file.path for file in manifest.files if file.executable] == ["a/run.sh"]
    assert manifest.size_bytes == 7 + 7 + 10 + 8
    assert Manifest.decode(artifacts.get("manifests", manifest.digest)).digest == manifest.digest


def test_equal_bytes_are_sent_once_and_the_manifest_last(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]]
) -> None:
    for name in ("one.bin", "a/two.bin"):
        (tree / name).write_bytes(b"x" * SMALL_FILE)
    manifest = upload_tree(tree, artifacts)
    one, two = (
        next(file.chunks for file in manifest.files if file.path == name) for name in ("one.bin", "a/two.bin")
    )
    assert one == two
    assert len(puts) == len(set(puts)) == len(manifest.chunk_names()) + 1
    assert puts[-1] == ("manifests", manifest.digest)


def test_small_files_are_sent_together(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]]
) -> None:
    for n in range(300):
        (tree / "a" / f"part-{n}").write_bytes(bytes([n % 256]) * 100)
    manifest = upload_tree(tree, artifacts)
    assert manifest.size_bytes == 30_032
    assert len(puts) < 30


def test_saving_again_sends_nothing(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]]
) -> None:
    first = upload_tree(tree, artifacts)
    puts.clear()
    assert upload_tree(tree, artifacts).digest == first.digest
    assert puts == []


def test_only_new_chunks_are_sent(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]]
) -> None:
    big = tree / "big.bin"
    big.write_bytes(b"a" * CHUNK_SIZE + b"b" * CHUNK_SIZE + b"c")
    manifest = upload_tree(tree, artifacts)
    assert next(len(file.chunks) for file in manifest.files if file.path == "big.bin") == 3
    puts.clear()
    big.write_bytes(b"a" * CHUNK_SIZE + b"B" * CHUNK_SIZE + b"c")
    upload_tree(tree, artifacts)
    assert [kind for kind, _ in puts] == ["chunks", "manifests"]


def test_the_digest_depends_on_neither_place_nor_time(
    tree: Path, artifacts: StoredArtifacts, tmp_path: Path
) -> None:
    first = upload_tree(tree, artifacts).digest
    moved = tree.rename(tmp_path / "elsewhere")
    os.utime(moved / "model.bin", (1, 1))
    assert upload_tree(moved, artifacts).digest == first
    (moved / "model.bin").chmod(0o755)
    assert upload_tree(moved, artifacts).digest != first


def test_progress_grows_to_the_total(tree: Path, artifacts: StoredArtifacts) -> None:
    seen: list[tuple[int, int]] = []
    upload_tree(tree, artifacts, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 32)
    assert seen[-1] == (32, 32)
    assert seen == sorted(seen)


def test_a_missing_or_empty_directory_is_refused(artifacts: StoredArtifacts, tmp_path: Path) -> None:
    with pytest.raises(InvalidWeights, match="does not exist"):
        upload_tree(tmp_path / "gone", artifacts)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InvalidWeights, match="is not a directory"):
        upload_tree(tmp_path / "file", artifacts)
    (tmp_path / "void" / "deep").mkdir(parents=True)
    with pytest.raises(InvalidWeights, match="holds no file"):
        upload_tree(tmp_path / "void", artifacts)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "../../x", "../a/../../../x"])
def test_a_link_that_leaves_is_refused_before_anything_is_sent(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]], target: str
) -> None:
    (tree / "a" / "bad").symlink_to(target if target != "../outside" else "../../outside")
    with pytest.raises(InvalidWeights, match="link 'a/bad'"):
        upload_tree(tree, artifacts)
    assert puts == []


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("gone", "nothing is there"),
        ("../model.bin/x", "nothing is there"),
        ("bad", "it leads to itself"),
        (".", "it leads to a directory that holds the link"),
        ("..", "it leads to a directory that holds the link"),
    ],
)
def test_a_link_that_leads_nowhere_is_refused_before_anything_is_sent(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]], target: str, rule: str
) -> None:
    (tree / "a" / "bad").symlink_to(target)
    with pytest.raises(InvalidWeights) as caught:
        upload_tree(tree, artifacts)
    assert caught.value.message == f"link 'a/bad' to {target!r} is not valid: {rule}."
    assert caught.value.hint is not None
    assert puts == []


def test_links_alone_are_no_weights(artifacts: StoredArtifacts, tmp_path: Path) -> None:
    (tmp_path / "w" / "deep").mkdir(parents=True)
    (tmp_path / "w" / "x").symlink_to("deep")
    with pytest.raises(InvalidWeights, match="holds no file"):
        upload_tree(tmp_path / "w", artifacts)


def test_an_absolute_link_into_the_tree_becomes_relative(tree: Path, artifacts: StoredArtifacts) -> None:
    (tree / "a" / "abs").symlink_to(tree / "model.bin")
    links = {link.path: link.target for link in upload_tree(tree, artifacts).links}
    assert links["a/abs"] == "../model.bin"


def test_a_links_text_is_kept(tree: Path, artifacts: StoredArtifacts) -> None:
    os.symlink("./b//same.bin", tree / "a" / "text")  # noqa: PTH211  # Path would change the text
    links = {link.path: link.target for link in upload_tree(tree, artifacts).links}
    assert links["a/text"] == "./b//same.bin"


def test_the_root_may_be_a_link(tree: Path, artifacts: StoredArtifacts, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    assert upload_tree(tmp_path / "link", artifacts).digest == upload_tree(tree, artifacts).digest


def test_special_files_are_refused(
    tree: Path, artifacts: StoredArtifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tree / "fifo")
    with pytest.raises(InvalidWeights, match="fifo' is neither"):
        upload_tree(tree, artifacts)
    (tree / "fifo").unlink()
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        with pytest.raises(InvalidWeights, match="sock' is neither"):
            upload_tree(tree, artifacts)


@pytest.mark.parametrize("name", ["back\\slash", os.fsdecode(b"not-utf8-\xff")])
def test_names_that_cannot_travel_are_refused(tree: Path, artifacts: StoredArtifacts, name: str) -> None:
    (tree / name).write_bytes(b"x")
    with pytest.raises(InvalidWeights, match="is not valid") as caught:
        upload_tree(tree, artifacts)
    assert caught.value.hint == "Rename it."


@pytest.mark.parametrize("change", ["append", "truncate", "same size", "replace", "remove", "add"])
def test_a_tree_that_changes_while_it_is_read_is_refused(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]], change: str
) -> None:
    def write(done: int, total: int) -> None:
        if done != total:
            return
        file = tree / "model.bin"
        if change == "replace":
            (tree / "new").write_bytes(b"weights")
            (tree / "new").rename(file)
        elif change == "remove":
            file.unlink()
        elif change == "add":
            (tree / "more").write_bytes(b"x")
        else:
            file.write_bytes({"append": b"weights+", "truncate": b"weigh", "same size": b"WEIGHTS"}[change])

    with pytest.raises(InvalidWeights, match="changed while it was read"):
        upload_tree(tree, artifacts, progress=write)
    assert not [kind for kind, _ in puts if kind == "manifests"]


def test_a_file_that_shrinks_before_it_is_read_is_refused(tree: Path, artifacts: StoredArtifacts) -> None:
    def shrink(done: int, total: int) -> None:
        if done == 0:
            (tree / "model.bin").write_bytes(b"w")

    with pytest.raises(InvalidWeights, match=r"model.bin' changed while it was read"):
        upload_tree(tree, artifacts, progress=shrink)


def test_an_interrupt_ends_the_upload_and_a_retry_sends_the_rest(
    tree: Path, artifacts: StoredArtifacts, puts: list[tuple[str, str]]
) -> None:
    (tree / "big.bin").write_bytes(b"".join(bytes([i]) * CHUNK_SIZE for i in range(6)))

    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upload_tree(tree, artifacts, progress=interrupt, workers=1)
    sent = len(puts)
    manifest = upload_tree(tree, artifacts)
    assert 0 < sent < len(manifest.chunk_names())
    assert len(puts) == len(set(puts)) == len(manifest.chunk_names()) + 1
