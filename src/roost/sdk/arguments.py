"""Arguments of the SDK's functions, checked before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from roost.client.call import request_of
from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import DeployRequest
from roost.errors import ValidationFailed
from roost.keys import check_config


def deploy_request(
    *,
    config: Mapping[str, str] | None,
    autoscaling: Autoscaling | Mapping[str, Any] | None,
    **fields: Any,
) -> DeployRequest:
    """What a deploy asks for, and its plan: `fields` are the other fields of the request.

    Raises:
        InvalidConfig: for a config that is not string to string.
        ValidationFailed: naming the argument that is of another type or out of its range.
    """
    if isinstance(autoscaling, Mapping):
        autoscaling = _autoscaling(autoscaling)
    return request_of(
        DeployRequest, strict=True, config=check_config(config), autoscaling=autoscaling, **fields
    )


def check_timeout(timeout: float | None) -> float | None:
    """`timeout`, when it is a number of seconds, or None for ever.

    Raises:
        ValidationFailed: for anything else.
    """
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is None or (is_number and not math.isnan(timeout)):
        return timeout
    raise ValidationFailed(
        f"timeout={timeout!r:.80} is not valid: it must be a number of seconds, or None to wait for ever."
    )


def check_text(**given: str | None) -> None:
    """That what is given, by the names of the arguments, is text or None.

    Raises:
        ValidationFailed: naming the first that is not.
    """
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise ValidationFailed(
                f"{name}={value!r:.80} is not valid: it must be text.", hint="Leave it out for all of them."
            )


def check_limit(limit: int | None) -> None:
    """That `limit` is a whole number of at least 1, or None for all.

    Raises:
        ValidationFailed: for anything else.
    """
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and (not is_number or limit < 1):
        raise ValidationFailed(
            f"limit={limit!r:.80} is not valid: it must be a whole number of at least 1.",
            hint="Leave it out for all of them.",
        )


def _autoscaling(given: Mapping[str, Any]) -> Autoscaling:
    fields = list(Autoscaling.model_fields)
    for name in given:
        if name not in fields:
            raise ValidationFailed(
                f"autoscaling has no {name!r:.80}: it takes {', '.join(fields[:-1])} and {fields[-1]}."
            )
    return request_of(Autoscaling, strict=True, within="autoscaling", **given)
