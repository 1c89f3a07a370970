"""Saves, deletes, collections and kills in any order: no model is ever less than whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from roost.services.garbage_turn import LEASE_S
from roost.storage.artifacts import artifact_path, sha256
from roost.testing.clocked_store import Killed
from roost.testing.small_registry import DAY_S, SmallRegistry, chunk

NAMES = st.sampled_from(["one", "two"])
PARTS = st.sets(st.sampled_from("abc"), min_size=1)
GRACES = st.sampled_from([0.0, 60.0, DAY_S])
STEPS = st.one_of(
    st.tuples(st.just("save"), NAMES, PARTS),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("begin"), PARTS),
    st.tuples(st.just("finish")),
    st.tuples(st.just("give up")),
    st.tuples(st.just("wait"), st.sampled_from([30.0, 3600.0, DAY_S])),
    st.tuples(st.just("collect"), GRACES),
    st.tuples(st.just("die collecting"), GRACES, st.integers(0, 16)),
)


class Story:
    """Does the steps and knows what must be there; one upload at a time is under way, to `f/s/third`."""

    def __init__(self, registry: SmallRegistry) -> None:
        self.registry = registry
        self.models: dict[str, set[str]] = {}
        self.under_way: tuple[str, str, set[str]] | None = None

    def save(self, name: str, parts: set[str]) -> None:
        self.registry.save(name, *parts)
        self.models[name] = parts

    def delete(self, name: str) -> None:
        if self.models.pop(name, None):
            self.registry.models.delete(self.registry.key(name))

    def begin(self, parts: set[str]) -> None:
        if self.under_way is None:
            self.under_way = (self.registry.claim("third"), self.registry.upload(*parts), parts)

    def finish(self) -> None:
        if self.under_way is not None:
            token, digest, parts = self.under_way
            self.registry.commit("third", token, digest)
            self.models["third"], self.under_way = parts, None

    def give_up(self) -> None:
        if self.under_way is not None:
            self.registry.models.abandon(self.registry.key("third"), self.under_way[0], "Ctrl-C")
            self.under_way = None

    def wait(self, seconds: float) -> None:
        self.registry.clock.advance(seconds)
        if self.under_way is not None:
            self.registry.models.renew(self.registry.key("third"), self.under_way[0])

    def collect(self, grace_s: float) -> None:
        self.registry.collect(grace_s=grace_s)

    def die_collecting(self, grace_s: float, writes: int) -> None:
        life = self.registry.life
        life.ends_at = life.writes + writes
        try:
            self.registry.collect(grace_s=grace_s)
        except Killed:
            self.registry.clock.advance(LEASE_S)
        finally:
            life.ends_at = None
        self.wait(0)

    def end(self) -> None:
        self.finish()
        for name, parts in self.models.items():
            assert self.registry.is_whole(name, *parts)
        self.collect(0)
        expected = {chunk(part) for parts in self.models.values() for part in parts}
        expected |= {self._manifest(name) for name in self.models}
        if self.models:
            expected.add(artifact_path("bundles", sha256(b"bundle")))
        assert self.registry.trashed() == set()
        assert self.registry.stored() == expected

    def _manifest(self, name: str) -> str:
        return artifact_path("manifests", self.registry.models.get(self.registry.key(name)).digest)


OLD_CHUNK: list[tuple[object, ...]] = [
    ("save", "one", {"a"}),
    ("delete", "one"),
    ("wait", DAY_S),
    ("begin", {"a"}),
    ("collect", 0.0),
    ("finish",),
]
"""An upload counts on what a collection then takes: few random stories come to it."""


@example(on_folder=True, steps=OLD_CHUNK)
@example(on_folder=False, steps=OLD_CHUNK)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(on_folder=st.booleans(), steps=st.lists(STEPS, min_size=3, max_size=12))
def test_in_any_order(on_folder: bool, steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = (Path(folder) / "storage").as_uri() if on_folder else "memory:///"
        registry = SmallRegistry(Path(folder), url)
        story = Story(registry)
        for name, *arguments in steps:
            step: Callable[..., None] = getattr(story, str(name).replace(" ", "_"))
            step(*arguments)
        story.end()
        registry.close()
