"""Where garbage lies until it is deleted; whoever needs an object finds it there and brings it back."""

from __future__ import annotations

from typing import Final

from roost.errors import ArtifactNotFound
from roost.storage.store import ObjectStore

TRASH: Final = "trash"


def trash_path(path: str) -> str:
    """Where the object that belongs at `path` lies while it is in the trash."""
    return f"{TRASH}/{path}"


def throw_away(store: ObjectStore, path: str) -> bool:
    """Move an object to the trash; False when there is none at `path`."""
    try:
        store.move(path, trash_path(path))
    except ArtifactNotFound:
        return False
    return True


def bring_back(store: ObjectStore, path: str) -> bool:
    """Move an object from the trash to where it belongs; False when it is not in the trash.

    From any process, also while the trash is emptied: then it is back whole, or it is gone.
    """
    try:
        if not store.find_size(trash_path(path)):
            return False
        store.put_back(trash_path(path), path)
    except ArtifactNotFound:
        return False
    return True
