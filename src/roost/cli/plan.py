"""What `roost deploy --plan` prints."""

from __future__ import annotations

import json
from typing import Any

from roost.cli.output import say
from roost.contracts.placement import DeployPlan

_NOTHING = "none"


def print_plan(plan: DeployPlan) -> None:
    """In a few sentences, then what would change of the spec, value by value."""
    say(f"{plan.name} ({plan.key}): {plan.message}")
    for restart in plan.restarts:
        say(f"  replaces {restart.replica_id} on {restart.node_name or 'a node that is not known'}")
    for change in plan.spec:
        say(f"  {change.path}: {_value(change.old)} -> {_value(change.new)}")


def _value(value: Any) -> str:
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) and value else json.dumps(value)
