"""What a replica imports besides Ray: told by name where a node's image lacks it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

from roost.errors import ModelDeployFailed

DISTRIBUTIONS: Final = {
    "cloudpickle": "cloudpickle",
    "fastapi": "fastapi",
    "httpx2": "httpx2",
    "numpy": "numpy",
    "obstore": "obstore",
    "packaging": "packaging",
    "PIL": "pillow",
    "pybase64": "pybase64",
    "pydantic": "pydantic",
    "python_multipart": "python-multipart",
    "rich": "rich",
    "starlette": "starlette",
    "typing_extensions": "typing-extensions",
}
"""Module to distribution; a test holds it complete."""

OPTIONAL: Final = frozenset({"av", "huggingface_hub"})
"""Modules of extras: imported, and missed by name, where they are used."""


def require_installed(modules: Iterable[str] = tuple(DISTRIBUTIONS)) -> None:
    """Do nothing when all `modules` can be found here.

    Raises:
        ModelDeployFailed: naming the distributions that are missing.
    """
    missing = sorted(DISTRIBUTIONS.get(name, name) for name in modules if find_spec(name) is None)
    if missing:
        raise ModelDeployFailed(
            f"The Python of this node lacks {', '.join(missing)}, which every replica needs.",
            hint='Put them into the image of the nodes: pip install "roost[server]".',
        )
