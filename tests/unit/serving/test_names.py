"""Names of deployments."""

import pytest

from roost.errors import InvalidName
from roost.keys import DeploymentKey
from roost.serving.names import check_name

KEY = DeploymentKey("det", "ssd", "run1")


@pytest.mark.parametrize(
    "name",
    ["detector", "team/detector", "det/ssd", "det/ssd@a32291675798", "det/ssd/run1", "a/b/c/d", "v1.2_x-y"],
)
def test_valid(name: str) -> None:
    assert check_name(name, KEY) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "must not be empty"),
        ("/", "must not be empty"),
        ("a/", "must not be empty"),
        ("a//b", "must not be empty"),
        ("a__b", "must not contain '__'"),
        ("a/b@", "12 lower-case hex digits"),
        ("a@A32291675798", "12 lower-case hex digits"),
        ("a@a32291675798@a32291675798", "12 lower-case hex digits"),
        ("..", "must start with a letter or digit"),
        ("a b", "must start with a letter or digit"),
        ("a\x00", "must start with a letter or digit"),
        ("a" * 64, "at most 63"),
        ("a/" * 127 + "aa", "at most 255"),
        ("det/ssd/run2", "the key of another deployment than 'det/ssd/run1'"),
        ("det/ssd/run1@a32291675798", "the key of another deployment"),
    ],
)
def test_refused(name: str, says: str) -> None:
    with pytest.raises(InvalidName, match=says.replace("(", r"\(")):
        check_name(name, KEY)
