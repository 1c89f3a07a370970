from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from roost.errors import StorageDenied
from roost.services.storage import StorageTrial
from roost.storage.signed import ArtifactSigner
from roost.storage.store import ObjectStore


class Clock:
    """The machine's, some seconds off."""

    def __init__(self, ahead_s: float = 0) -> None:
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def trial(store: ObjectStore, ahead_s: float = 0) -> StorageTrial:
    return StorageTrial(store, ArtifactSigner(store), Clock(ahead_s))


def test_a_good_storage_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    found = trial(store).check()
    assert (found.problem, found.signed_reads, found.signed_writes) == ("", False, False)
    assert found.clock_ahead_s is not None
    assert abs(found.clock_ahead_s) < 60
    assert list(store.list()) == []


@pytest.mark.parametrize(("ahead_s", "least", "most"), [(-3600, 3500, 3700), (3600, -3700, -3500)])
def test_clocks_that_differ(tmp_path: Path, ahead_s: float, least: float, most: float) -> None:
    found = trial(ObjectStore.open(tmp_path.as_uri()), ahead_s).check()
    assert found.clock_ahead_s is not None
    assert least < found.clock_ahead_s < most


@pytest.mark.parametrize(
    ("step", "name"), [("store", "put"), ("list", "list_infos"), ("read", "get"), ("delete", "delete")]
)
def test_the_step_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, name: str
) -> None:
    def refuse(*_: object) -> None:
        raise StorageDenied("storage 's3://b' refuses access to 'x'.", hint="Check its keys.")

    store = ObjectStore.open(tmp_path.as_uri())
    monkeypatch.setattr(store, name, refuse)
    found = trial(store).check()
    assert found.problem == f"It cannot {step} an object: storage 's3://b' refuses access to 'x'."
    assert found.hint == "Check its keys."


def test_a_storage_that_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    monkeypatch.setattr(store, "get", lambda _: b"other bytes")
    assert trial(store).check().problem == "It lost or altered an object that was stored a moment ago."
