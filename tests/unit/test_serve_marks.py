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


class Greeter:
    @serve.endpoint
    def greet(self, name: str) -> str:
        return name

    @serve.endpoint(timeout_s=5)
    async def wait(self) -> None:
        """Waits."""

    def plain(self) -> None:
        """No endpoint."""


def test_endpoint_returns_the_method_unchanged_but_for_its_mark() -> None:
    assert serve.servable_kind(Greeter) == ("endpoint", None)
    assert serve.endpoint_marks(Greeter) == {
        "greet": serve.EndpointMark(None),
        "wait": serve.EndpointMark(5),
    }
    assert Greeter().greet("Ada") == "Ada"


def test_a_subclass_of_a_class_with_endpoints_is_one() -> None:
    class Child(Greeter):
        def greet(self, name: str) -> str:
            return name * 2

        @serve.endpoint
        def more(self) -> int:
            return 1

    assert serve.servable_kind(Child) == ("endpoint", None)
    assert list(serve.endpoint_marks(Child)) == ["greet", "wait", "more"]


def test_a_class_is_served_in_one_way_only() -> None:
    @serve.ingress(app)
    class Both(Greeter):
        pass

    class Mixed(Detector):
        @serve.endpoint
        def more(self) -> int:
            return 1

    with pytest.raises(InvalidServable, match="Both has an ingress and the endpoint 'greet'"):
        serve.servable_kind(Both)
    with pytest.raises(InvalidServable, match="Mixed has the capability 'detection' and the endpoint 'more'"):
        serve.servable_kind(Mixed)


def test_two_endpoints_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidServable, match=r"Twice\.say' is marked as an endpoint twice"):

        class Twice:
            @serve.endpoint
            def say(self) -> str:
                return "one"

            @serve.endpoint  # type: ignore[no-redef]
            def say(self) -> str:  # noqa: F811
                return "two"


@pytest.mark.parametrize("not_a_method", [1, "greet", Plain, property(len), staticmethod(len), len])
def test_endpoint_refuses_what_is_no_method(not_a_method: Any) -> None:
    with pytest.raises(InvalidServable, match="is not a method written with def"):
        serve.endpoint(not_a_method)


@pytest.mark.parametrize("timeout_s", [0, -1, float("inf"), float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout_s: float) -> None:
    with pytest.raises(InvalidServable, match="is not a positive number of seconds"):
        serve.endpoint(timeout_s=timeout_s)


@pytest.mark.parametrize("timeout_s", ["x", "3", True, [1]])
def test_a_timeout_that_is_no_number_is_named(timeout_s: Any) -> None:
    with pytest.raises(InvalidServable) as caught:
        serve.endpoint(timeout_s=timeout_s)
    assert caught.value.message == (
        f"timeout_s={timeout_s!r} of an endpoint is not a positive number of seconds."
    )
    assert caught.value.hint is not None
