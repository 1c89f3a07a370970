"""What the storage below a registry promises, on every backing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from roost.errors import ArtifactNotFound
from roost.storage.store import ObjectStore

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry


def test_an_object_comes_back(registry: Registry) -> None:
    objects = registry.objects
    objects.put("a/b", b"one")
    objects.put("a/b", b"three")
    assert (objects.get("a/b"), objects.find_size("a/b")) == (b"three", 5)
    assert objects.find_size("a/c") is None
    with pytest.raises(ArtifactNotFound, match="'a/c' is not in storage"):
        objects.get("a/c")


def test_of_many_who_store_one_object_new_one_does(registry: Registry) -> None:
    store = registry.objects

    def store_new(n: int) -> bool:
        return store.put_new("only", str(n).encode())

    with ThreadPoolExecutor(8) as pool:
        won = [n for n, is_first in enumerate(pool.map(store_new, range(8))) if is_first]
    assert [store.get("only")] == [str(n).encode() for n in won]


def test_move_and_delete(registry: Registry) -> None:
    objects = registry.objects
    objects.put("a", b"1")
    objects.put("b", b"2")
    objects.move("a", "b")
    assert (objects.get("b"), objects.exists("a")) == (b"1", False)
    with pytest.raises(ArtifactNotFound):
        objects.move("a", "c")
    objects.delete("b")
    objects.delete("b")
    assert not objects.exists("b")


def test_all_of_a_large_directory_is_listed_with_sizes_and_ages(registry: Registry) -> None:
    objects = registry.objects
    before = datetime.now(UTC) - timedelta(seconds=2)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: objects.put(f"many/{n % 7}/{n}", b"x" * (n % 3)), range(1003)))
    objects.put("manyfold", b"beside")
    found = {info.path: info for info in objects.list_infos("many")}
    assert set(found) == {f"many/{n % 7}/{n}" for n in range(1003)}
    assert all(info.size == int(path.rsplit("/", 1)[1]) % 3 for path, info in found.items())
    after = datetime.now(UTC) + timedelta(seconds=2)
    assert all(before <= info.modified <= after for info in found.values())
    assert set(objects.list("many/3")) == {f"many/3/{n}" for n in range(1003) if n % 7 == 3}
    assert list(objects.list("nothing")) == []


def test_a_prefix_with_any_characters(registry: Registry) -> None:
    url = registry.objects.url + "/a%20b/ü+&=~'()!*$,;@:%23%3F%25"
    odd = ObjectStore.open(url)
    odd.put("x/y", b"1")
    assert list(odd.list()) == ["x/y"]
    assert registry.objects.get("a b/ü+&=~'()!*$,;@:#?%/x/y") == b"1"
    odd.move("x/y", "z")
    assert odd.get("z") == b"1"


def test_the_identity_is_one_whoever_asks_first(registry: Registry) -> None:
    fresh = registry.objects.url + "/fresh"
    assert ObjectStore.open(fresh).find_storage_id() is None
    with ThreadPoolExecutor(4) as pool:
        (found,) = set(pool.map(lambda _: ObjectStore.open(fresh).storage_id(), range(4)))
    assert ObjectStore.open(fresh).find_storage_id() == found
