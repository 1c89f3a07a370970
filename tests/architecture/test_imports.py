"""The floors hold, and `import roost` stays light."""

from __future__ import annotations

import json
import subprocess
import sys

import roost

HEAVY = (
    "ray",
    "fastapi",
    "starlette",
    "sqlalchemy",
    "numpy",
    "pydantic",
    "httpx2",
    "rich",
    "typer",
    "obstore",
)


def modules_after(code: str) -> set[str]:
    """Top-level names of what a fresh interpreter has loaded after `code`."""
    program = (
        f"{code}\nimport sys, json\nprint(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    return set(json.loads(output))


def test_import_roost_loads_no_library() -> None:
    assert modules_after("import roost") & set(HEAVY) == set()


def test_a_client_needs_no_server_library() -> None:
    loaded = modules_after("import roost; roost.Client('http://127.0.0.1:1')")
    assert loaded & {"ray", "fastapi", "starlette", "sqlalchemy", "numpy", "uvicorn", "aiohttp"} == set()


def test_the_server_starts_without_what_only_replicas_use() -> None:
    assert modules_after("import roost.app") & {"ray", "numpy", "av", "torch"} == set()


def test_keys_and_marks_need_no_library() -> None:
    loaded = modules_after(
        "import roost; roost.ModelKey('a', 'b', 'c'); roost.serve.ingress; roost.deployment_key"
    )
    assert loaded & set(HEAVY) == set()


def test_every_public_name_is_there() -> None:
    missing = [name for name in roost.__all__ if not hasattr(roost, name)]
    assert missing == []


def test_public_names_are_sorted_and_documented() -> None:
    names = [name for name in roost.__all__ if name != "__version__"]
    assert names == sorted(names)
    undocumented = [
        name for name in names if callable(getattr(roost, name)) and not getattr(roost, name).__doc__
    ]
    assert undocumented == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(roost, "no_such_name")
