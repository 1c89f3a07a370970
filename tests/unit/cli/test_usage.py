"""A value that an option does not take is named, with the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("deploy", "f/s/r", "--replicas", "-1"),
            "Invalid value for '--replicas' / '-n': '-1' is not valid: Input should be greater than or equal",
        ),
        (
            ("deploy", "f/s/r", "--timeout", "abc"),
            "Invalid value for '--timeout': 'abc' is not valid: Input should be a valid number",
        ),
        (
            ("deploy", "f/s/r", "--timeout", "nan"),
            "'nan' is not valid: Input should be greater than or equal to 0.",
        ),
        (("logs", "f/s/r", "--tail", "0"), "'0' is not valid: Input should be greater than or equal to 1."),
        (("models", "list", "--limit", "x"), "'x' is not valid: Input should be a valid integer"),
    ],
)
def test_the_value_and_the_rule(cli: Callable[..., Ran], arguments: tuple[str, ...], told: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_clear_and_a_setting_exclude_each_other(cli: Callable[..., Ran]) -> None:
    ran = cli("models", "set-config", "f/s/r", "--clear", "a=b")
    assert ran.code == 2
    assert "--clear and KEY=VALUE exclude each other" in ran.err
