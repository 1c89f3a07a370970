"""Keys of models and deployments: their rules, their text forms and their names in Ray.

A key is checked where it is made, so no later layer can meet a bad one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from roost.errors import InvalidConfig, InvalidName

IMPORTED: Final = "imported"
"""Run name of models imported from elsewhere."""

DECLARED: Final = "declared"
"""Run name of models declared in a config file or by `POST /v1/models`."""

NO_WEIGHTS: Final = "no-weights"
"""Reads as the `data_blob_path` of a model without weights."""

MAX_SEGMENT_LENGTH: Final = 63
FINGERPRINT_LENGTH: Final = 12

_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_FINGERPRINT = re.compile(r"[0-9a-f]{12}", re.ASCII)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

DeploymentConfig = dict[str, str]


def check_segment(value: object, what: str) -> str:
    """Return `value` when it may be a segment of a key.

    Raises:
        InvalidName: naming the value and the rule it breaks.
    """
    rule = None
    if not isinstance(value, str):
        rule = "it must be a string"
    elif not value:
        rule = "it must not be empty"
    elif len(value) > MAX_SEGMENT_LENGTH:
        rule = f"it has {len(value)} characters, at most {MAX_SEGMENT_LENGTH} are allowed"
    elif "__" in value:
        rule = "it must not contain '__'"
    elif not _SEGMENT.fullmatch(value):
        rule = "it must start with a letter or digit and hold only letters, digits, '.', '_' and '-'"
    if rule is not None:
        raise InvalidName(f"{what} {_shown(value)} is not valid: {rule}.")
    assert isinstance(value, str)
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True, slots=True, order=True)
class ModelKey:
    """Names one registry entry. Prints as `family/suffix/run_name`."""

    family: str
    suffix: str
    run_name: str

    def __post_init__(self) -> None:
        check_segment(self.family, "family")
        check_segment(self.suffix, "suffix")
        check_segment(self.run_name, "run_name")

    @classmethod
    def parse(cls, text: str) -> ModelKey:
        """Read `family/suffix/run_name` back.

        Raises:
            InvalidName: when the text has another shape or a bad segment.
        """
        segments = text.split("/")
        if len(segments) != 3:
            raise InvalidName(
                f"model key {_shown(text)} is not valid.", hint="Write it as family/suffix/run_name."
            )
        return cls(*segments)

    def __str__(self) -> str:
        return f"{self.family}/{self.suffix}/{self.run_name}"


@dataclass(frozen=True, slots=True, order=True)
class DeploymentKey:
    """Names one deployment of a model. Prints as `family/suffix/run_name[@fingerprint]`."""

    family: str
    suffix: str
    run_name: str
    config_fingerprint: str = ""

    def __post_init__(self) -> None:
        ModelKey(self.family, self.suffix, self.run_name)
        if self.config_fingerprint != "" and not (_FINGERPRINT.fullmatch(str(self.config_fingerprint))):
            raise InvalidName(
                f"config fingerprint {_shown(self.config_fingerprint)} is not valid: "
                f"it is empty or {FINGERPRINT_LENGTH} lower-case hex digits.",
                hint="roost.deployment_key(family, suffix, run_name, config) makes the key of a config.",
            )

    @classmethod
    def parse(cls, text: str) -> DeploymentKey:
        """Read `family/suffix/run_name[@fingerprint]` back.

        Raises:
            InvalidName: when the text has another shape or a bad segment.
        """
        segments = text.split("/")
        run_name, at, fingerprint = segments[-1].partition("@")
        if len(segments) != 3 or (at and not fingerprint):
            raise InvalidName(
                f"deployment key {_shown(text)} is not valid.",
                hint="Write it as family/suffix/run_name or family/suffix/run_name@fingerprint.",
            )
        return cls(segments[0], segments[1], run_name, fingerprint)

    @property
    def model(self) -> ModelKey:
        """The model this deploys."""
        return ModelKey(self.family, self.suffix, self.run_name)

    @property
    def app_name(self) -> str:
        """Name of the Ray Serve application. Injective: no segment contains `__` or starts with `_`."""
        return "__".join(self._segments())

    @property
    def route_prefix(self) -> str:
        """Path of the deployment's own URL below the Serve address. Injective."""
        return "/r/" + "/".join(self._segments())

    @property
    def default_name(self) -> str:
        """The name callers use unless the deployment was given another one."""
        name = f"{self.family}/{self.suffix}"
        return f"{name}@{self.config_fingerprint}" if self.config_fingerprint else name

    def _segments(self) -> list[str]:
        segments = [self.family, self.suffix, self.run_name]
        return [*segments, self.config_fingerprint] if self.config_fingerprint else segments

    def __str__(self) -> str:
        at = f"@{self.config_fingerprint}" if self.config_fingerprint else ""
        return f"{self.family}/{self.suffix}/{self.run_name}{at}"


def check_config(config: Mapping[Any, Any] | None) -> DeploymentConfig:
    """Return a copy of `config` when it maps non-blank strings to strings; None gives `{}`.

    Raises:
        InvalidConfig: naming the key that breaks the rule.
    """
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise InvalidConfig(f"config {_shown(config)} is not valid: it must map strings to strings.")
    for key, value in config.items():
        if not isinstance(key, str):
            raise InvalidConfig(f"config key {_shown(key)} is not valid: it must be a string.")
        if not key.strip():
            raise InvalidConfig(f"config key {_shown(key)} is not valid: it must not be blank.")
        if not isinstance(value, str):
            raise InvalidConfig(
                f"config value {_shown(value)} of {key!r} is not valid: it must be a string.",
                hint=f"Write it as {key}={str(value)!r}.",
            )
        for text in (key, value):
            if _UNSTORABLE.search(text):
                raise InvalidConfig(
                    f"config text {_shown(text)} is not valid: it holds NUL or half a character."
                )
    return dict(config)


def config_fingerprint(config: Mapping[str, str] | None) -> str:
    """The first 12 hex digits of SHA-256 over the sorted JSON of `config`; `""` for an empty one."""
    checked = check_config(config)
    if not checked:
        return ""
    digest = hashlib.sha256(json.dumps(checked, sort_keys=True).encode()).hexdigest()
    return digest[:FINGERPRINT_LENGTH]


def deployment_key(
    family: str, suffix: str, run_name: str, config: Mapping[str, str] | None = None
) -> DeploymentKey:
    """The key under which this model is deployed with this config."""
    return DeploymentKey(family, suffix, run_name, config_fingerprint(config))
