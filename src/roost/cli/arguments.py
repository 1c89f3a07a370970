"""What several commands take, read the same way by each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from roost.errors import InvalidConfig, InvalidName, ModelNotDeployed, RoostError
from roost.keys import DeploymentKey, deployment_key
from roost.sdk.deployments import list_deployed_models
from roost.sdk.models import list_models

_KEY_SLASHES = 2
_MOST_COMPLETED: Final = 1000


def complete_model(incomplete: str) -> list[str]:
    """Keys of models that begin as typed; none while no server answers."""
    family, slash, _ = incomplete.partition("/")
    try:
        found = list_models(family=family if slash else None, limit=_MOST_COMPLETED)
    except RoostError:
        return []
    return [key for key in (str(model.key) for model in found) if key.startswith(incomplete)]


ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="family/suffix/run_name.", autocompletion=complete_model)
]

KeyArgument = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="A deployment's name, or family/suffix/run_name, with @fingerprint for a config."
    ),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--config", "-c", metavar="KEY=VALUE", help="One setting of the deployment; may be repeated."
    ),
]


def read_config(pairs: Sequence[str] | None) -> dict[str, str]:
    """`["a=1", "b=2"]` → `{"a": "1", "b": "2"}`.

    Raises:
        InvalidConfig: for a pair without `=`, or a key given twice.
    """
    config: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise InvalidConfig(f"config {pair!r} is not valid.", hint="Write it as KEY=VALUE.")
        if key in config:
            raise InvalidConfig(f"config key {key!r} is given twice.")
        config[key] = value
    return config


def find_key(text: str, config: dict[str, str] | None = None) -> DeploymentKey:
    """As `read_key`; a text that is no key is taken for the name of a live deployment.

    Raises:
        ModelNotDeployed: when no live deployment has the name.
    """
    if text.count("/") >= _KEY_SLASHES:
        return read_key(text, config)
    named = [deployment for deployment in list_deployed_models() if deployment.name == text]
    if named and not config:
        return named[0].key
    if named:
        return read_key(str(named[0].key.model), config)
    raise ModelNotDeployed(
        f"No deployment is named {text!r}, and it is no key either.",
        hint="`roost deployments` lists names and keys.",
    )


def read_key(text: str, config: dict[str, str] | None = None) -> DeploymentKey:
    """The deployment's key; a config given beside it names the deployment of that config.

    Raises:
        InvalidName: for a bad key, or one that has a fingerprint and a config.
    """
    key = DeploymentKey.parse(text)
    if not config:
        return key
    if key.config_fingerprint:
        raise InvalidName(
            f"{text!r} has a fingerprint, and a config is given too.", hint="Give one of the two."
        )
    return deployment_key(key.family, key.suffix, key.run_name, config)
