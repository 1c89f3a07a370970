"""What several commands take, read the same way by each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from roost.errors import InvalidConfig, InvalidName, ModelNotDeployed
from roost.keys import DeploymentKey, deployment_key
from roost.sdk.deployments import list_deployed_models

_KEY_SLASHES = 2

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
