"""Deleting models, and changing their settings: what is refused, what is told, what stays whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.contracts.deployment import DeployRequest
from roost.contracts.info import NodeInfo
from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, ModelInUse, ModelNotFound, ModelNotReady
from roost.keys import DeploymentKey, ModelKey
from roost.records.claims import find_claim
from roost.records.database import Database
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.events import Events
from roost.services.models import Models
from roost.serving.settings import ServeSettings
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("f", "s", "r")
KEY = DeploymentKey("f", "s", "r")
NODE = NodeInfo(
    node_id="n1", name="one", ip="10.0.0.1", alive=True, resources={"CPU": 2.0, "memory": 2.0**33}
)
BUNDLE = "a" * 64


class Store(MemoryStore):
    """Does `meanwhile` when a commit looks for its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        self.meanwhile()
        return super().missing(kind, names)


class Place:
    """The services; `meanwhile` runs between a deploy's reading and its writing."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.clock = FakeClock()
        self.store = Store()
        self.store.put("bundles", BUNDLE, b"zip")
        self.models = Models(db, self.store, self.clock)
        self.meanwhile: Callable[[], object] = lambda: None
        ticks = count(0, 10)  # so that what was seen of Ray is never fresh
        view = EngineView(self._nodes, lambda _app, _tail: "", monotonic=lambda: float(next(ticks)))
        settings = ServeSettings(serve_url="http://serve:8000", storage_url="file:///s")
        self.deployments = Deployments(
            db, self.models, view, settings, Changes(), self.clock, wake=lambda: None
        )

    def save(self, *keys: str) -> None:
        for key in keys or (str(MODEL),):
            save_ready_model(self.db, ModelKey.parse(key))

    def deploy(self, model: ModelKey = MODEL, **config: str) -> None:
        self.deployments.deploy(model, DeployRequest(config=config))

    def claim(self, writer: str = "eve@far (pid 9)") -> str:
        token = self.models.claim(MODEL, ClaimRequest(mode="save", writer=writer)).token
        assert token is not None
        return token

    def commit(self, token: str) -> None:
        servable = ServableRef(class_path="pkg:Model", kind="serve_app", bundle_fingerprint=BUNDLE)
        self.models.commit(MODEL, token, CommitRequest(servable=servable))

    def keys(self) -> list[str]:
        return [str(model.key) for model in self.models.list().items]

    def told(self) -> list[tuple[str, str, str]]:
        return [(event.kind, event.subject, event.message) for event in Events(self.db).list().items]

    def _nodes(self) -> list[NodeInfo]:
        self.meanwhile()
        return [NODE]


@pytest.fixture
def place(database: Database) -> Place:
    return Place(database)


class TestDeleting:
    def test_the_entry_goes_and_an_event_tells(self, place: Place) -> None:
        place.save()
        place.models.delete(MODEL)
        assert place.keys() == []
        assert place.models.find(MODEL) is None
        assert place.told() == [("model_deleted", "f/s/r", "It was deleted.")]
        assert Events(place.db).list().items[0].data == {"digest": "d" * 64}

    def test_the_second_time_it_is_unknown(self, place: Place) -> None:
        place.save()
        place.models.delete(MODEL)
        with pytest.raises(ModelNotFound, match=r"^There is no model 'f/s/r'\."):
            place.models.delete(MODEL)
        assert len(place.told()) == 1

    def test_the_key_is_as_new_afterwards(self, place: Place) -> None:
        place.save()
        place.models.set_config(MODEL, {"old": "1"})
        place.models.set_requirements(MODEL, ModelRequirements(num_gpus=1))
        place.models.delete(MODEL)
        place.commit(place.claim())
        saved = place.models.get(MODEL)
        assert (saved.phase, saved.config, saved.requirements) == ("ready", {}, ModelRequirements())

    def test_similar_names_stay_whole(self, place: Place) -> None:
        others = ["a/b/c1", "a/b/c.1", "a/b1/c", "a/b_/c", "a1/b/c", "a_b/b/c", "A/b/c", "c/b/a", "f/s/r"]
        place.save("a/b/c", "a_/b/c", *others)
        before = {key: place.models.get(ModelKey.parse(key)) for key in others}
        place.deploy(ModelKey("a", "b", "c1"))
        place.deploy(ModelKey("a_b", "b", "c"))
        place.models.delete(ModelKey("a", "b", "c"))
        place.models.delete(ModelKey("a_", "b", "c"))
        assert sorted(place.keys()) == sorted(others)
        assert {key: place.models.get(ModelKey.parse(key)) for key in others} == before

    @pytest.mark.parametrize("end", ["failed", "lapsed"])
    def test_an_upload_that_came_to_nothing_can_be_deleted(self, place: Place, end: str) -> None:
        token = place.claim()
        if end == "failed":
            place.models.abandon(MODEL, token, "The disk is full.")
        else:
            place.clock.advance(31)
        place.models.delete(MODEL)
        assert place.keys() == []
        with place.db.read() as session:
            assert find_claim(session, MODEL) is None


class TestRefused:
    def test_while_deployments_want_it(self, place: Place) -> None:
        place.save()
        place.deploy()
        with pytest.raises(ModelInUse) as caught:
            place.models.delete(MODEL)
        assert caught.value.message == "'f/s/r' is used by the deployment 'f/s/r'."
        assert caught.value.hint == "Undeploy first: `roost undeploy f/s/r`."
        place.deploy(b="2")
        with pytest.raises(ModelInUse) as caught:
            place.models.delete(MODEL)
        second = "f/s/r@622af08eab43"
        assert caught.value.message == f"'f/s/r' is used by the deployments 'f/s/r', '{second}'."
        assert caught.value.hint == f"Undeploy first: `roost undeploy f/s/r && roost undeploy {second}`."
        place.deployments.undeploy(KEY)
        with pytest.raises(ModelInUse, match=rf"by the deployment '{second}'\."):
            place.models.delete(MODEL)
        place.deployments.undeploy(DeploymentKey.parse(second))
        place.models.delete(MODEL)  # both are only on their way out
        assert place.keys() == []

    def test_of_many_deployments_some_are_named(self, place: Place) -> None:
        place.save()
        for number in range(7):
            place.deploy(n=str(number))
        with pytest.raises(ModelInUse, match=r"by the deployments .* and 2 more\. ") as caught:
            place.models.delete(MODEL)
        assert caught.value.message.count("'f/s/r@") == 5

    def test_a_failed_deployment_counts(self, place: Place) -> None:
        place.save()
        place.deploy()
        with place.db.write() as session:
            session.connection().exec_driver_sql("UPDATE deployments SET phase = 'failed'")
        with pytest.raises(ModelInUse):
            place.models.delete(MODEL)

    def test_while_a_live_writer_uploads(self, place: Place) -> None:
        place.save()
        token = place.claim()
        with pytest.raises(ModelBusy, match=r"^'f/s/r' is being saved by 'eve@far \(pid 9\)'\."):
            place.models.delete(MODEL)
        place.commit(token)
        place.models.delete(MODEL)
        assert place.told()[0][0] == "model_deleted"


class TestRaces:
    def test_a_model_deleted_while_its_deploy_is_computed_is_not_deployed(self, place: Place) -> None:
        place.save()
        place.meanwhile = lambda: place.models.delete(MODEL)
        with pytest.raises(ModelNotFound, match=r"There is no model 'f/s/r'\."):
            place.deploy()
        assert place.deployments.list(live=False).items == []
        assert [kind for kind, _, _ in place.told()] == ["model_deleted"]

    def test_nor_when_its_key_is_being_saved_anew(self, place: Place) -> None:
        place.save()

        def replace() -> None:
            place.models.delete(MODEL)
            place.claim()

        place.meanwhile = replace
        with pytest.raises(ModelNotReady, match="is still being saved by"):
            place.deploy()
        assert place.deployments.list(live=False).items == []

    def test_a_redeploy_that_was_overtaken_brings_nothing_back(self, place: Place) -> None:
        place.save()
        place.deploy()
        save_ready_model(place.db, MODEL, bundle="c" * 64)

        def remove() -> None:
            place.deployments.undeploy(KEY)
            place.models.delete(MODEL)

        place.meanwhile = remove
        with pytest.raises(ModelNotFound):
            place.deployments.redeploy(KEY)
        assert place.deployments.get(KEY).phase == "deleting"

    def test_a_writer_whose_model_was_deleted_cannot_finish(self, place: Place) -> None:
        token = place.claim()
        place.clock.advance(31)
        place.models.delete(MODEL)
        for action in (lambda: place.commit(token), lambda: place.models.renew(MODEL, token)):
            with pytest.raises(ModelBusy, match="The claim on 'f/s/r' has ended"):
                action()
        assert place.models.abandon(MODEL, token, "late") is None
        place.claim("next")
        with pytest.raises(ModelBusy, match="was taken over by 'next'"):
            place.commit(token)

    def test_nor_when_it_is_deleted_while_the_parts_are_checked(self, place: Place) -> None:
        token = place.claim()

        def remove() -> None:
            place.clock.advance(31)
            place.models.delete(MODEL)

        place.store.meanwhile = remove
        with pytest.raises(ModelBusy, match="The claim on 'f/s/r' has ended"):
            place.commit(token)
        assert place.keys() == []


class TestSettings:
    def test_a_change_is_told_once(self, place: Place) -> None:
        place.save()
        for _ in range(2):
            place.models.set_config(MODEL, {"b": "2", "a": "secret"})
            place.models.set_requirements(MODEL, ModelRequirements(num_gpus=0.5, vram_gb=4))
        place.models.set_config(MODEL, {})
        assert place.told() == [
            ("config_set", "f/s/r", "Its config sets b, a, from the next deploy on."),
            (
                "requirements_set",
                "f/s/r",
                "It needs 0.5 GPU, 4 GiB VRAM, 0 GiB RAM, from the next deploy on.",
            ),
            ("config_set", "f/s/r", "Its config sets nothing, from the next deploy on."),
        ]
        data = [event.data for event in Events(place.db).list().items]
        assert data == [{"keys": ["a", "b"]}, {"num_gpus": 0.5, "ram_gb": 0, "vram_gb": 4}, {"keys": []}]

    def test_a_deployment_takes_them_at_its_next_deploy(self, place: Place) -> None:
        place.save()
        place.deploy()
        place.models.set_config(MODEL, {"a": "1"})
        place.models.set_requirements(MODEL, ModelRequirements(ram_gb=1))
        assert place.deployments.get(KEY).generation == 1
        place.deployments.redeploy(KEY)
        assert place.deployments.get(KEY).generation == 2
        place.deployments.redeploy(KEY)
        assert place.deployments.get(KEY).generation == 2
