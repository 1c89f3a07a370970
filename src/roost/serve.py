"""Marks on classes that a bundle can serve. Imports neither Ray nor FastAPI."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, Final, Literal, NamedTuple, TypeVar, overload

from roost.errors import InvalidServable

ServableKind = Literal["serve_app", "inference_model", "endpoint"]

INGRESS_ATTRIBUTE: Final = "__roost_ingress__"
CAPABILITY_ATTRIBUTE: Final = "__roost_capability__"
ENDPOINT_ATTRIBUTE: Final = "__roost_endpoint__"

_Class = TypeVar("_Class", bound=type)
_Method = TypeVar("_Method", bound=Callable[..., Any])


class EndpointMark(NamedTuple):
    """What the mark of an endpoint says.

    Attributes:
        timeout_s: Longest time of one call, of a stream for each item; None takes the replica's default.
    """

    timeout_s: float | None = None


def ingress(app: Any) -> Callable[[_Class], _Class]:
    """Mark a class as fronted by `app`, any ASGI application; the class is returned unchanged.

    With a FastAPI app, the routes may be methods of the class. One instance is made in each
    replica, with its `DeploymentKey` as the only argument.

    Raises:
        InvalidServable: when `app` is not callable, or the class was wrapped by `ray.serve`.
    """
    if isinstance(app, type) or not callable(app):
        raise InvalidServable(
            f"roost.serve.ingress got {app!r}, which is not an ASGI application.",
            hint="Write @roost.serve.ingress(app) with app = FastAPI() or another ASGI app.",
        )

    def mark(cls: _Class) -> _Class:
        servable_class(cls)
        setattr(cls, INGRESS_ATTRIBUTE, app)
        return cls

    return mark


@overload
def endpoint(method: _Method, /) -> _Method: ...


@overload
def endpoint(*, timeout_s: float | None = None) -> Callable[[_Method], _Method]: ...


def endpoint(method: Any = None, /, *, timeout_s: float | None = None) -> Any:
    """Mark a method as an endpoint: `POST {url}/{its name}` with a JSON object of its arguments.

    Plain and `async` methods answer with their result; generators and async generators stream their
    items. Parameters and result must be annotated; saving the model checks that JSON can describe
    them. A class with endpoints needs no app. One instance is made in each replica, with its
    `DeploymentKey` as the only argument. The method is returned unchanged.

    Args:
        timeout_s: Longest time of one call, of a stream for each item; default 60.

    Raises:
        InvalidServable: for what is not a method, or a second endpoint of one name in one class.
    """
    if timeout_s is not None and not _is_positive_seconds(timeout_s):
        raise InvalidServable(
            f"timeout_s={timeout_s!r:.80} of an endpoint is not a positive number of seconds.",
            hint="Write a number such as 30, or leave it out for the replica's default.",
        )

    if method is not None:
        return _mark_method(method, EndpointMark(), sys._getframe(1))

    def mark(function: Any) -> Any:
        return _mark_method(function, EndpointMark(timeout_s), sys._getframe(1))

    return mark


def servable_class(candidate: object) -> type:
    """Return `candidate` when it is a plain class.

    Raises:
        InvalidServable: for anything else, and for what `ray.serve` has already wrapped.
    """
    wrapped_by_ray = type(candidate).__module__.startswith("ray.") or (
        isinstance(candidate, type)
        and any(base.__module__.startswith("ray.serve.") for base in candidate.__mro__)
    )
    if wrapped_by_ray:
        raise InvalidServable(
            f"{candidate!r} is already wrapped by ray.serve; Roost does that itself in the replica.",
            hint="Use @roost.serve.ingress(app) on the plain class instead.",
        )
    if not isinstance(candidate, type):
        raise InvalidServable(f"{candidate!r} is not a class.", hint="Pass the class that serves the model.")
    return candidate


def endpoint_marks(cls: type) -> dict[str, EndpointMark]:
    """The marked methods of a class and its bases by name, in the order of their definition.

    A method that overrides an endpoint is one, marked or not.
    """
    marks: dict[str, EndpointMark] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if isinstance(function, FunctionType) and ENDPOINT_ATTRIBUTE in vars(function):
                marks[name] = vars(function)[ENDPOINT_ATTRIBUTE]
    return marks


def servable_kind(candidate: object) -> tuple[ServableKind, str | None]:
    """What kind of servable a class is, and the capability of an inference model.

    Raises:
        InvalidServable: when the class carries no mark or more than one, or is an abstract inference
            model.
    """
    cls = servable_class(candidate)
    name = f"{cls.__module__}.{cls.__qualname__}"
    is_app = getattr(cls, INGRESS_ATTRIBUTE, None) is not None
    capability = getattr(cls, CAPABILITY_ATTRIBUTE, None)
    marks = endpoint_marks(cls)
    if marks and (is_app or isinstance(capability, str)):
        other = "an ingress" if is_app else f"the capability {capability!r}"
        raise InvalidServable(
            f"{name} has {other} and the endpoint {next(iter(marks))!r}; it can be served in one way only.",
            hint="Leave one of them out, or make two classes.",
        )
    if is_app:
        return "serve_app", None
    if marks:
        return "endpoint", None
    if isinstance(capability, str):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            raise InvalidServable(
                f"{name} does not implement {', '.join(missing)}.",
                hint="Derive a class that does, and pass that one.",
            )
        return "inference_model", capability
    raise InvalidServable(
        f"{name} is neither a serve-app nor an inference model. It has no endpoint, either.",
        hint="Mark methods with @roost.serve.endpoint or the class with @roost.serve.ingress(app), or derive "
        "it from a capability base such as roost.capabilities.DetectionModel.",
    )


def _is_positive_seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _mark_method(function: Any, mark: EndpointMark, definer: FrameType) -> Any:
    """Mark `function`. `definer` is the frame of its class's body."""
    if not isinstance(function, FunctionType):
        raise InvalidServable(
            f"roost.serve.endpoint got {function!r}, which is not a method written with def.",
            hint="Put @roost.serve.endpoint above a method of the class, and below no @staticmethod, "
            "@classmethod or @property.",
        )
    # The class does not exist yet, and will keep the second of two methods only.
    body = definer.f_locals
    earlier = body.get(function.__name__) if "__qualname__" in body else None
    if isinstance(earlier, FunctionType) and ENDPOINT_ATTRIBUTE in vars(earlier):
        raise InvalidServable(
            f"{function.__qualname__!r} is marked as an endpoint twice; the class would keep the second one.",
            hint="Give each endpoint a name of its own.",
        )
    setattr(function, ENDPOINT_ATTRIBUTE, mark)
    return function
