"""Why each file and each pin is in a bundle."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.bundle import Bundle, describe, pack, trace
from roost.bundle.archive import METADATA_NAME
from roost.contracts.bundle import BundleFile, BundlePin
from roost.errors import CorruptArtifact

Write = Callable[[dict[str, str]], None]
Servable = Callable[..., type]
Install = Callable[..., Path]


def with_metadata(bundle: Bundle, metadata: object) -> bytes:
    """The bundle's files beside other metadata."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle.data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, json.dumps(metadata) if name == METADATA_NAME else old.read(name))
    return buffer.getvalue()


@pytest.fixture
def bundle(servable: Servable, write: Write, install: Install) -> Bundle:
    install("some-lib", "1.2+cu121", {"somelib/__init__.py": "", "somelib/part.py": ""})
    write(
        {
            "pkg/__init__.py": "",
            "pkg/model.py": "\n\nimport helpers",
            "helpers.py": "def f():\n    from somelib import part",
            "data/labels.txt": "cat",
            "plug/__init__.py": "",
            "plug/one.py": "",
        }
    )
    cls = servable("from pkg import model", module="app")
    return pack(trace(cls, include=("data", "plug")))


def test_each_file_and_pin_says_why_it_is_there(bundle: Bundle) -> None:
    info = describe(bundle.data, bundle.fingerprint)
    assert (info.fingerprint, info.class_path) == (bundle.fingerprint, "app:App")
    assert info.files == [
        BundleFile(path="app.py", size=37, reason="holds the class 'App'"),
        BundleFile(path="data/labels.txt", size=3, reason="include"),
        BundleFile(path="helpers.py", size=37, reason="imported by pkg/model.py line 3"),
        BundleFile(path="pkg/__init__.py", size=0, reason="imported by app.py line 1"),
        BundleFile(path="pkg/model.py", size=16, reason="imported by app.py line 1"),
        BundleFile(path="plug/__init__.py", size=0, reason="include"),
        BundleFile(path="plug/one.py", size=0, reason="include"),
    ]
    assert info.pins == [BundlePin(requirement="some-lib==1.2", reason="imported by helpers.py line 2")]
    assert info.notes == [
        "some-lib 1.2+cu121 is a local build here; 'some-lib==1.2' accepts any build of it."
    ]


def test_a_package_ships_for_the_module_in_it(servable: Servable, write: Write) -> None:
    write({"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/mod.py": ""})
    traced = trace(servable("import pkg.sub.mod"))
    assert traced.reasons == {
        "app.py": "holds the class 'App'",
        "pkg/__init__.py": "package of pkg.sub.mod",
        "pkg/sub/__init__.py": "package of pkg.sub.mod",
        "pkg/sub/mod.py": "imported by app.py line 1",
    }


def test_modules_that_include_names_say_so(servable: Servable, write: Write) -> None:
    write({"dynamic.py": "import needed", "needed.py": ""})
    traced = trace(servable(), include=("dynamic",))
    assert traced.reasons == {
        "app.py": "holds the class 'App'",
        "dynamic.py": "include 'dynamic'",
        "needed.py": "imported by dynamic.py line 1",
    }


def test_nothing_of_this_machine_is_in_it(bundle: Bundle, root: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle.data)) as archive:
        assert str(root.parent).encode() not in archive.read(METADATA_NAME)
    assert str(root.parent).encode() not in bundle.data


def test_the_fingerprint_does_not_cover_reasons_and_notes(bundle: Bundle) -> None:
    plain = {"class_path": bundle.class_path, "pins": bundle.pins}
    for more in ({}, {"reasons": {"app.py": "because"}, "notes": ["x"]}):
        assert describe(with_metadata(bundle, plain | more), bundle.fingerprint).pins[0].requirement == (
            "some-lib==1.2"
        )
    with pytest.raises(CorruptArtifact):
        describe(with_metadata(bundle, plain | {"pins": []}), bundle.fingerprint)


def test_a_bundle_of_an_older_form_still_shows(bundle: Bundle) -> None:
    info = describe(
        with_metadata(bundle, {"class_path": bundle.class_path, "pins": bundle.pins}), bundle.fingerprint
    )
    assert info.files[0] == BundleFile(path="app.py", size=37, reason="")
    assert (info.pins, info.notes) == ([BundlePin(requirement="some-lib==1.2")], [])


@pytest.mark.parametrize(
    "odd",
    [
        {"reasons": [], "pin_reasons": 3, "notes": {}},
        {"reasons": {"app.py": ["x"]}, "pin_reasons": {"some-lib==1.2": None}, "notes": [1, None]},
    ],
)
def test_reasons_that_are_none_are_left_out(bundle: Bundle, odd: dict[str, object]) -> None:
    metadata = {"class_path": bundle.class_path, "pins": bundle.pins, **odd}
    info = describe(with_metadata(bundle, metadata), bundle.fingerprint)
    assert (info.files[0].reason, info.pins[0].reason, info.notes) == ("", "", [])


def test_what_nobody_vouches_for_cannot_play_with_the_terminal(bundle: Bundle) -> None:
    metadata = {
        "class_path": bundle.class_path,
        "pins": bundle.pins,
        "reasons": {"app.py": "a\x1b[2Jb\nc"},
        "notes": ["x" * 600],
    }
    info = describe(with_metadata(bundle, metadata), bundle.fingerprint)
    assert info.files[0].reason == "a [2Jb c"
    assert info.notes == ["x" * 500]
