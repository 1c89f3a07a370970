from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import InvalidConfig, InvalidName
from roost.keys import DeploymentKey, ModelKey, check_config, config_fingerprint, deployment_key

segments = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", fullmatch=True).filter(
    lambda text: "__" not in text
)
# Few distinct characters, so that two different keys come close to each other often.
close_segments = st.sampled_from(["a", "aa", "a_", "a_a", "a_a_", "a-", "a.", "a.a", "aaaaaaaaaaaa"])
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
fingerprints = st.just("") | st.just("a" * 12) | st.from_regex(r"[0-9a-f]{12}", fullmatch=True)
keys = st.builds(DeploymentKey, segments, segments, segments, fingerprints)
close_keys = st.builds(DeploymentKey, close_segments, close_segments, close_segments, fingerprints)


@pytest.mark.parametrize(
    ("config", "fingerprint"),
    [
        ({}, ""),
        (None, ""),
        ({"thinking": "false"}, "a32291675798"),
        ({"b": "2", "a": "1"}, "0e09eeab5bde"),
        ({"a": "1", "b": "2"}, "0e09eeab5bde"),
        ({"naïve": "ü"}, "982e4c1a16f9"),
    ],
)
def test_fingerprints_follow_the_vectors_of_the_contract(
    config: dict[str, str] | None, fingerprint: str
) -> None:
    assert config_fingerprint(config) == fingerprint
    assert deployment_key("a", "b", "c", config) == DeploymentKey("a", "b", "c", fingerprint)


@given(st.dictionaries(texts.filter(str.strip), texts, min_size=1))
def test_a_fingerprint_does_not_depend_on_the_order(config: dict[str, str]) -> None:
    turned = dict(reversed(config.items()))

    assert config_fingerprint(config) == config_fingerprint(turned)
    assert re.fullmatch(r"[0-9a-f]{12}", config_fingerprint(config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"a": 1}, "config value 1 of 'a'"),
        ({"a": None}, "config value None of 'a'"),
        ({"a": True}, "config value True of 'a'"),
        ({1: "a"}, "config key 1 "),
        ({b"a": "a"}, "config key b'a'"),
        ({"": "a"}, "config key '' "),
        ({" \t": "a"}, "must not be blank"),
        ({"a": "b\0"}, "holds NUL"),
        ({"a\ud800": "b"}, "half a character"),
        (["a"], "must map strings to strings"),
        ("a", "must map strings to strings"),
    ],
)
def test_a_config_that_is_not_string_to_string_is_refused(config: Any, message: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(message)):
        config_fingerprint(config)


def test_a_checked_config_is_a_copy() -> None:
    config = {"a": "1"}

    checked = check_config(config)
    checked["a"] = "2"

    assert config == {"a": "1"}


@pytest.mark.parametrize("segment", ["a", "A9", "0", "a.b", "a-b_c", "a_", "a..b", "x" * 63])
def test_segments_within_the_rules_pass_everywhere(segment: str) -> None:
    assert str(DeploymentKey(segment, segment, segment)) == f"{segment}/{segment}/{segment}"


@pytest.mark.parametrize(
    "segment",
    [
        "", " ", "a b", " a", "a ", "a\n", "a\0", ".", "..", ".a", "-a", "_a", "a__b", "a/b", "a\\b",
        "a@b", "a%2eb", "é", "a\u0301", "\u0661", "x" * 64, None, 1, b"a", ["a"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["family", "suffix", "run_name"])
def test_a_bad_segment_is_refused_where_the_key_is_made(segment: Any, field: str) -> None:
    fields: dict[str, Any] = {"family": "a", "suffix": "b", "run_name": "c", field: segment}

    for kind in (ModelKey, DeploymentKey):
        with pytest.raises(InvalidName, match=rf"^{field} "):
            kind(**fields)


@pytest.mark.parametrize(
    "fingerprint", ["a", "A32291675798", "a3229167579", "a322916757980", "a32291675798\n", None, 5]
)
def test_a_bad_fingerprint_is_refused(fingerprint: Any) -> None:
    with pytest.raises(InvalidName, match="config fingerprint"):
        DeploymentKey("a", "b", "c", fingerprint)


def test_a_long_value_is_shown_shortened() -> None:
    with pytest.raises(InvalidName) as caught:
        ModelKey("x" * 10_000, "b", "c")
    assert len(caught.value.message) < 200


@given(keys)
def test_a_key_is_read_back_from_its_text(key: DeploymentKey) -> None:
    assert DeploymentKey.parse(str(key)) == key
    assert ModelKey.parse(str(key.model)) == key.model


@pytest.mark.parametrize(
    "text", ["", "a", "a/b", "a/b/c/d", "a//c", "/a/b/c", "a/b/", "a/b/c/", "a/../c", "a b/c/d"]
)
def test_text_of_another_shape_is_refused(text: str) -> None:
    for kind in (ModelKey, DeploymentKey):
        with pytest.raises(InvalidName):
            kind.parse(text)


@pytest.mark.parametrize(
    "text", ["a/b/c@", "a/b/c@x", "a/b/c@a32291675798@a32291675798", "a@b/c/d", "a/b@c/d"]
)
def test_a_bad_fingerprint_in_the_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidName):
        DeploymentKey.parse(text)


def test_names_in_ray_are_as_in_the_contract() -> None:
    plain = DeploymentKey("coco", "ssd", "imported")
    configured = DeploymentKey("coco", "ssd", "imported", "a32291675798")

    assert plain.app_name == "coco__ssd__imported"
    assert plain.route_prefix == "/r/coco/ssd/imported"
    assert plain.default_name == "coco/ssd"
    assert configured.app_name == "coco__ssd__imported__a32291675798"
    assert configured.route_prefix == "/r/coco/ssd/imported/a32291675798"
    assert configured.default_name == "coco/ssd@a32291675798"


@given(close_keys, close_keys)
def test_app_names_and_routes_are_injective(one: DeploymentKey, other: DeploymentKey) -> None:
    assert (one.app_name == other.app_name) == (one == other)
    assert (one.route_prefix == other.route_prefix) == (one == other)


@given(keys)
def test_an_app_name_can_be_taken_apart_again(key: DeploymentKey) -> None:
    # A segment starts with a letter or digit, so the last two of a run of underscores separate.
    parts = re.split(r"__(?=[A-Za-z0-9])", key.app_name)

    assert DeploymentKey(*parts) == key


def test_keys_are_frozen_hashable_and_ordered() -> None:
    key = ModelKey("a", "b", "c")

    assert {key: 1}[ModelKey("a", "b", "c")] == 1
    assert sorted([ModelKey("b", "a", "a"), key]) == [key, ModelKey("b", "a", "a")]
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.family = "z"  # type: ignore[misc]
