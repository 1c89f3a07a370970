from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from roost import serve
from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput
from roost.errors import InvalidServable


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An ASGI application."""


class Plain:
    """Carries no mark."""


class Detector(DetectionModel):
    def load_model(self) -> None:
        """Nothing to load."""

    def predict(self, input: DetectionInput) -> DetectionOutput:
        return DetectionOutput(boxes=[], scores=[], classes=[])


class WrappedByRay:
    """Stands for the class that ray.serve.ingress returns."""


WrappedByRay.__module__ = "ray.serve.api"


def test_ingress_returns_the_class_unchanged_but_for_its_mark() -> None:
    class App:
        pass

    marked = serve.ingress(app)(App)

    assert marked is App
    assert serve.servable_kind(App) == ("serve_app", None)
    assert getattr(App, serve.INGRESS_ATTRIBUTE) is app


def test_a_subclass_of_a_serve_app_is_one() -> None:
    @serve.ingress(app)
    class Base:
        pass

    class Child(Base):
        pass

    assert serve.servable_kind(Child) == ("serve_app", None)


@pytest.mark.parametrize("not_an_app", [None, 1, "app", Plain])
def test_ingress_refuses_what_is_no_asgi_application(not_an_app: Any) -> None:
    with pytest.raises(InvalidServable, match="is not an ASGI application"):
        serve.ingress(not_an_app)


def test_an_inference_model_tells_its_capability() -> None:
    assert serve.servable_kind(Detector) == ("inference_model", "detection")


def test_an_unfinished_inference_model_is_refused_naming_what_it_lacks() -> None:
    class Half(DetectionModel):
        def load_model(self) -> None:
            """Nothing to load."""

    with pytest.raises(InvalidServable, match=r"Half does not implement predict\."):
        serve.servable_kind(Half)
    with pytest.raises(InvalidServable, match=r"DetectionModel does not implement load_model, predict\."):
        serve.servable_kind(DetectionModel)


def test_a_class_without_a_mark_is_refused() -> None:
    with pytest.raises(
        InvalidServable, match="Plain is neither a serve-app nor an inference model"
    ) as caught:
        serve.servable_kind(Plain)
    assert "roost.serve.ingress" in str(caught.value)


@pytest.mark.parametrize("candidate", [None, "Plain", 3, Plain(), app])
def test_what_is_no_class_is_refused(candidate: object) -> None:
    with pytest.raises(InvalidServable, match="is not a class"):
        serve.servable_kind(candidate)


def test_what_ray_has_wrapped_is_refused_pointing_at_our_ingress() -> None:
    class Child(WrappedByRay):
        pass

    for candidate in (WrappedByRay, Child, WrappedByRay()):
        with pytest.raises(InvalidServable, match=r"already wrapped by ray\.serve") as caught:
            serve.servable_kind(candidate)
        assert caught.value.hint == "Use @roost.serve.ingress(app) on the plain class instead."
    with pytest.raises(InvalidServable, match=r"already wrapped by ray\.serve"):
        serve.ingress(app)(WrappedByRay)


def test_the_marks_import_neither_ray_nor_a_web_framework() -> None:
    code = "import sys, roost.serve; print([m for m in ('ray', 'fastapi', 'pydantic') if m in sys.modules])"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout == "[]\n"
