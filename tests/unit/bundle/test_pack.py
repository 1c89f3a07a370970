from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from roost.bundle import Traced, pack
from roost.bundle import archive as format_rules
from roost.errors import InvalidServable


def traced(
    folder: Path, files: dict[str, str], class_path: str = "app:App", pins: tuple[str, ...] = ()
) -> Traced:
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for number, (name, text) in enumerate(files.items()):
        paths[name] = folder / f"{number}.bin"
        paths[name].write_text(text)
    return Traced(files=paths, class_path=class_path, pins=list(pins))


def test_a_known_bundle_has_its_known_fingerprint(tmp_path: Path) -> None:
    bundle = pack(
        traced(tmp_path, {"app.py": "class App: ...\n", "data/labels.txt": "cat\n"}, pins=("b==2", "a==1"))
    )
    assert bundle.fingerprint == "b3ce5ae45eb342809aa9a19119aa34a3b2fac04d85c43ffd9b3a2033f27d300c"
    assert (bundle.class_path, bundle.pins, bundle.files) == (
        "app:App",
        ["a==1", "b==2"],
        ["app.py", "data/labels.txt"],
    )


def test_code_lies_at_the_top_of_the_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(
        io.BytesIO(pack(traced(tmp_path, {"pkg/a.py": "1", "app.py": "2"})).data)
    ) as archive:
        assert archive.namelist() == ["app.py", "pkg/a.py", "roost-bundle.json"]
        assert archive.read("roost-bundle.json") == b'{"class_path": "app:App", "pins": []}'


def test_times_modes_order_and_place_do_not_matter(tmp_path: Path) -> None:
    first = traced(tmp_path / "a", {"x.py": "1", "y.py": "2"}, pins=("p==1", "q==1"))
    second = traced(tmp_path / "b" / "c", {"y.py": "2", "x.py": "1"}, pins=("q==1", "p==1"))
    for file in second.files.values():
        os.utime(file, (0, 0))
        file.chmod(0o700)
    assert pack(first) == pack(second)


def test_each_part_matters(tmp_path: Path) -> None:
    bundles = [
        pack(traced(tmp_path / "0", {"x.py": "1"})),
        pack(traced(tmp_path / "1", {"x.py": "2"})),
        pack(traced(tmp_path / "2", {"y.py": "1"})),
        pack(traced(tmp_path / "3", {"x.py": "1", "y.py": ""})),
        pack(traced(tmp_path / "4", {"x.py": "1"}, class_path="app:Other")),
        pack(traced(tmp_path / "5", {"x.py": "1"}, pins=("p==1",))),
    ]
    assert len({bundle.fingerprint for bundle in bundles}) == 6


def test_no_file_at_all_is_a_bundle(tmp_path: Path) -> None:
    assert pack(traced(tmp_path, {}, pins=("pack==1",))).files == []


@pytest.mark.parametrize(
    "name", ["../x.py", "/x.py", "a//b.py", "a\\b.py", "a\nb.py", "x" * 256, "roost-bundle.json"]
)
def test_a_path_that_cannot_be_stored_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidServable, match=r"cannot be bundled: "):
        pack(traced(tmp_path, {name: ""}))


def test_a_file_that_is_also_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidServable, match=r"file 'a/b' cannot be bundled: it lies beneath another file"):
        pack(traced(tmp_path, {"a": "", "a/b": ""}))


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    gone = traced(tmp_path, {"x.py": ""})
    gone.files["x.py"].unlink()
    with pytest.raises(InvalidServable, match=r"0\.bin' cannot be read: No such file"):
        pack(gone)


def test_the_limits_hold(tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as opened:
        opened.truncate(format_rules.MAX_TOTAL_BYTES)
    one = tmp_path / "one.bin"
    one.write_bytes(b"1")
    assert pack(Traced({"big.bin": big}, "app:App", [])).files == ["big.bin"]
    with pytest.raises(InvalidServable, match=r"over the 64 MiB of a bundle at 'one\.bin'"):
        pack(Traced({"big.bin": big, "one.bin": one}, "app:App", []))
    with pytest.raises(InvalidServable, match=r"needs 10001 files, at most 10000"):
        pack(Traced({f"{number}.bin": one for number in range(10_001)}, "app:App", []))
