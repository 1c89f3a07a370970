"""How long a claim lives is the server's to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.contracts.model import ClaimRequest
from roost.errors import ModelBusy
from roost.keys import ModelKey
from roost.parts import Parts
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.services.models import Models
from roost.settings import Settings
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore

KEY = ModelKey("f", "s", "r")
SAVE = ClaimRequest(mode="save", writer="one")


def test_a_claim_lapses_after_its_lease_and_lives_on_when_it_is_renewed(tmp_path: Path) -> None:
    clock = FakeClock()
    db = Database(f"sqlite:///{tmp_path}/roost.db")
    METADATA.create_all(db.engine)
    models = Models(db, MemoryStore(), clock, lease_s=5.0)
    claim = models.claim(KEY, SAVE)
    assert claim.lease_s == 5.0
    clock.advance(4)
    assert claim.token is not None
    assert models.renew(KEY, claim.token).lease_s == 5.0
    clock.advance(4)
    with pytest.raises(ModelBusy):
        models.claim(KEY, SAVE)
    clock.advance(1)
    assert models.claim(KEY, SAVE).token != claim.token
    db.close()


def test_it_is_a_setting(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, ray_dashboard_url="http://127.0.0.1:9", claim_lease_s=7)
    parts = Parts(settings)
    parts.db.engine.dispose()
    METADATA.create_all(parts.db.engine)
    assert parts.models.claim(KEY, SAVE).lease_s == 7.0
    parts.stop()
