"""Marks on classes that a bundle can serve. Imports neither Ray nor FastAPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

from roost.errors import InvalidServable

ServableKind = Literal["serve_app", "inference_model"]

INGRESS_ATTRIBUTE: Final = "__roost_ingress__"
CAPABILITY_ATTRIBUTE: Final = "__roost_capability__"

_Class = TypeVar("_Class", bound=type)


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


def servable_kind(candidate: object) -> tuple[ServableKind, str | None]:
    """What kind of servable a class is, and the capability of an inference model.

    Raises:
        InvalidServable: when the class carries neither mark, or is an abstract inference model.
    """
    cls = servable_class(candidate)
    if getattr(cls, INGRESS_ATTRIBUTE, None) is not None:
        return "serve_app", None
    capability = getattr(cls, CAPABILITY_ATTRIBUTE, None)
    if isinstance(capability, str):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            raise InvalidServable(
                f"{cls.__module__}.{cls.__qualname__} does not implement {', '.join(missing)}.",
                hint="Derive a class that does, and pass that one.",
            )
        return "inference_model", capability
    raise InvalidServable(
        f"{cls.__module__}.{cls.__qualname__} is neither a serve-app nor an inference model.",
        hint="Mark it with @roost.serve.ingress(app), or derive it from a capability base such as "
        "roost.capabilities.DetectionModel.",
    )
