"""Weights from a Hugging Face repository, by the real library from a hub on loopback."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import (
    CorruptArtifact,
    Forbidden,
    InvalidWeights,
    NotFound,
    RoostError,
    Unauthorized,
    Unavailable,
)
from roost.sdk.sources.address import HubAddress
from roost.sdk.sources.hub import open_hub
from roost.testing.fake_hub import COMMIT, REPOSITORY, FakeHub, HubRepository

pytest.importorskip("huggingface_hub")

BIG = random.Random(0).randbytes(3_000_000)
FILES = {
    ".gitattributes": b"*.bin filter=lfs\n",
    "config.json": b'{"layers": 2}',
    "deep/er/empty": b"",
    "deep/er/words with space.txt": b"one\ntwo\n",
    "model.bin": BIG,
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    hub = FakeHub(HubRepository(dict(FILES), large={"model.bin"})).start()
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-login"))
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    yield hub
    hub.stop()


def fetched(address: HubAddress) -> dict[str, bytes]:
    with open_hub(address) as directory:
        found = {
            path.relative_to(directory).as_posix(): path.read_bytes()
            for path in directory.rglob("*")
            if path.is_file()
        }
        assert not (directory / ".cache").exists()
    assert not directory.exists()
    return found


def leftovers(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_dir() and path.name != "imports"]


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT])
def test_all_files_of_the_commit_come(hub: FakeHub, revision: str) -> None:
    assert fetched(HubAddress(REPOSITORY, revision)) == FILES
    contents = [request.path for request in hub.requests if "/resolve/" in request.path]
    assert contents
    assert all(f"/resolve/{COMMIT}/" in path for path in contents)


def test_only_what_is_wanted_comes(hub: FakeHub) -> None:
    wanted = fetched(HubAddress(REPOSITORY, allow=("*.json", "deep/*"), ignore=("*/empty",)))
    assert sorted(wanted) == ["config.json", "deep/er/words with space.txt"]
    with pytest.raises(NotFound, match="no file that is wanted"):
        fetched(HubAddress(REPOSITORY, allow=("*.onnx",)))


def test_a_cut_download_goes_on_where_it_was_cut(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100_000)
    hub.repository.cuts["model.bin"] = [1_000_000]
    assert fetched(HubAddress(REPOSITORY)) == FILES
    ranges = [request.range for request in hub.requests if request.path == "/content/model.bin"]
    assert ranges == [None, "bytes=1000000-"]


@pytest.mark.parametrize(
    ("path", "sent", "kind"),
    [
        ("model.bin", bytes([BIG[0] ^ 1]) + BIG[1:], CorruptArtifact),
        ("config.json", b'{"layers": 3}', CorruptArtifact),
        ("model.bin", BIG[:-1], Unavailable),
    ],
)
def test_other_bytes_than_the_repositorys_are_refused(
    hub: FakeHub, tmp_path: Path, path: str, sent: bytes, kind: type[RoostError]
) -> None:
    hub.repository.altered[path] = sent
    with pytest.raises(kind, match=path):
        fetched(HubAddress(REPOSITORY))
    assert leftovers(tmp_path) == []


def test_a_file_that_came_wrong_once_is_fetched_again(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    class Once(dict[str, bytes]):
        """Altered for one answer."""

        def get(self, path: str, data: Any = None) -> Any:
            return self.pop(path, data)

    hub.repository.altered = Once({"config.json": b'{"layers": 3}'})
    assert fetched(HubAddress(REPOSITORY, allow=("config.json",))) == {"config.json": FILES["config.json"]}
    assert [request.method for request in hub.requests if request.path.endswith("/config.json")] == [
        *("HEAD", "GET", "HEAD", "GET")
    ]


def test_a_private_repository_needs_its_token(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repository.token = "hf_secret"
    with pytest.raises(Unauthorized, match=r"no public repository 'acme/tiny'.*Set HF_TOKEN"):
        fetched(HubAddress(REPOSITORY))
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(NotFound, match=r"no repository 'acme/tiny', or the token given may not see it"):
        fetched(HubAddress(REPOSITORY))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.requests.clear()
    assert fetched(HubAddress(REPOSITORY)) == FILES
    # The token is for the hub: the host of large files does not see it.
    assert {request.token for request in hub.requests if request.path.startswith("/content/")} == {None}
    assert {request.token for request in hub.requests if "/resolve/" in request.path} == {"hf_secret"}


@pytest.mark.parametrize(
    ("change", "address", "kind", "said"),
    [
        (None, HubAddress("acme/other"), Unauthorized, "no public repository 'acme/other'"),
        (None, HubAddress(REPOSITORY, "v9"), NotFound, "'acme/tiny' has no revision 'v9'"),
        ("gated", HubAddress(REPOSITORY), Forbidden, "'hf://acme/tiny@main' is gated"),
    ],
)
def test_what_cannot_be_read_is_said(
    hub: FakeHub, change: str | None, address: HubAddress, kind: type[RoostError], said: str
) -> None:
    hub.repository.gated = change == "gated"
    with pytest.raises(kind) as caught:
        fetched(address)
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "a/../../b", "a\\..\\b", "a//b", "config.json/x"]
)
def test_hostile_names_are_refused_before_anything_is_fetched(
    hub: FakeHub, tmp_path: Path, path: str
) -> None:
    hub.repository.files[path] = b"evil"
    with pytest.raises(InvalidWeights, match="is not valid"):
        fetched(HubAddress(REPOSITORY))
    assert not [request for request in hub.requests if "/resolve/" in request.path]
    assert not (tmp_path / "cache").exists()


def test_a_file_that_http_cannot_carry_is_named(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.MAX_HTTP_DOWNLOAD_SIZE", 2_999_999)
    with pytest.raises(Unavailable, match=r"'model.bin' of .* has 3000000 bytes.*HF_HUB_DISABLE_XET=0"):
        fetched(HubAddress(REPOSITORY))


def test_a_hub_that_is_away_is_said(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="could not be downloaded"):
        fetched(HubAddress(REPOSITORY))


def test_ctrl_c_ends_it_soon_and_leaves_nothing(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(label: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("roost.sdk.sources.hub.transfer", pressed)
    with pytest.raises(KeyboardInterrupt):
        fetched(HubAddress(REPOSITORY))
    assert leftovers(tmp_path) == []


def test_without_the_library_the_extra_is_named(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Unavailable, match=r"pip install 'roost\[hub\]'"):
        fetched(HubAddress(REPOSITORY))
