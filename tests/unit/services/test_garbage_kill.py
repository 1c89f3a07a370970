"""A collection that dies at any of its writes, to storage or records, and the one after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.services.garbage_turn import LEASE_S
from roost.storage.artifacts import artifact_path, sha256
from roost.testing.clocked_store import Killed
from roost.testing.small_registry import DAY_S, SmallRegistry, chunk

MOST_WRITES = 60


def prepared(folder: Path, url: str) -> tuple[SmallRegistry, str, str]:
    """Old garbage in the trash, newer garbage in its place, and an upload that counts on some of both.

    Returns:
        The registry, and the token and digest of the upload.
    """
    folder.mkdir()
    registry = SmallRegistry(folder, url or (folder / "storage").as_uri())
    registry.save("one", "a", "b")
    registry.upload("older")
    registry.clock.advance(DAY_S)
    registry.collect()
    registry.save("two", "b", "c", bundle="other")
    registry.upload("old")
    registry.models.delete(registry.key("two"))
    registry.clock.advance(2 * DAY_S)
    token = registry.claim("three")
    return registry, token, registry.upload("old", "older", "new")


@pytest.mark.parametrize("url", ["", "memory:///"], ids=["folder", "bucket"])
def test_whenever_a_run_dies_all_is_whole_and_the_next_one_finishes(tmp_path: Path, url: str) -> None:
    for number in range(MOST_WRITES):
        registry, token, digest = prepared(tmp_path / str(number), url)
        registry.life.ends_at = registry.life.writes + number
        try:
            registry.collect()
        except Killed:
            survived = False
        else:
            survived = True
        registry.life.ends_at = None
        registry.commit("three", token, digest)
        assert registry.is_whole("one", "a", "b")
        assert registry.is_whole("three", "old", "older", "new")
        registry.clock.advance(LEASE_S)
        for _ in range(3):
            registry.collect()
            registry.clock.advance(DAY_S)
        assert registry.trashed() == set()
        assert registry.stored() == {
            *(chunk(part) for part in ("a", "b", "old", "older", "new")),
            *(
                artifact_path("manifests", registry.models.get(registry.key(name)).digest)
                for name in ("one", "three")
            ),
            artifact_path("bundles", sha256(b"bundle")),
        }
        assert registry.is_whole("one", "a", "b")
        assert registry.is_whole("three", "old", "older", "new")
        registry.close()
        if survived:
            assert number >= 10
            return
    pytest.fail(f"the run makes more than {MOST_WRITES} writes")
