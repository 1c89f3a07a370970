from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.bundle import Bundle, Traced, pack, unpack
from roost.bundle import archive as format_rules
from roost.errors import CorruptArtifact

METADATA = b'{"class_path": "app:App", "pins": []}'


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    (tmp_path / "app.py").write_text("class App: ...\n")
    (tmp_path / "labels.txt").write_bytes(bytes(range(256)))
    files = {"app.py": tmp_path / "app.py", "pkg/data/labels.txt": tmp_path / "labels.txt"}
    return pack(Traced(files, "app:App", ["lib==1"]))


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], metadata: bytes | None = METADATA) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
        if metadata is not None:
            archive.writestr("roost-bundle.json", metadata)
    return buffer.getvalue()


def refused(data: bytes, tmp_path: Path, reason: str) -> None:
    target = tmp_path / "deep" / "target"
    with pytest.raises(CorruptArtifact, match=rf"bundle 'f{{64}}' is corrupt: .*{reason}"):
        unpack(data, "f" * 64, target)
    assert not (tmp_path / "deep").exists()


def test_files_come_back_identical(bundle: Bundle, tmp_path: Path) -> None:
    target = tmp_path / "new" / "target"
    unpack(bundle.data, bundle.fingerprint, target)
    assert {
        file.relative_to(target).as_posix(): file.read_bytes() for file in target.rglob("*") if file.is_file()
    } == {"app.py": b"class App: ...\n", "pkg/data/labels.txt": bytes(range(256))}


def test_another_fingerprint_is_refused_and_writes_nothing(bundle: Bundle, tmp_path: Path) -> None:
    refused(bundle.data, tmp_path, f"its content has the fingerprint '{bundle.fingerprint}'")


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py",
        "a/../../evil.py",
        "/evil.py",
        "a//b.py",
        "./a.py",
        "a\\..\\b.py",
        "a/",
        "C:\\x.py",
        "a\x01b",
    ],
)
def test_a_name_that_leaves_the_target_is_refused(tmp_path: Path, name: str) -> None:
    refused(zipped((name, b"")), tmp_path, "is not allowed")


def test_a_name_cut_by_nul_is_refused(tmp_path: Path) -> None:
    data = zipped(("app.py@x", b"")).replace(b"app.py@x", b"app.py\0x")
    refused(data, tmp_path, "is not allowed")


@pytest.mark.parametrize("kind", [0o120777, 0o010644, 0o060644, 0o040755])
def test_links_devices_and_folders_are_refused(tmp_path: Path, kind: int) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = kind << 16
    refused(zipped((entry, b"/etc/passwd")), tmp_path, "is not a plain file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    refused(zipped(("a.py", b"1"), ("a.py", b"2")), tmp_path, "a name occurs twice")


def test_a_file_beneath_a_file_is_refused(tmp_path: Path) -> None:
    refused(zipped(("a", b"1"), ("a/b", b"2")), tmp_path, "lies beneath another file")


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b'{"class_path": 1, "pins": []}',
        b'{"class_path": "a:B", "pins": [1]}',
        b"[" * 100_000,
    ],
)
def test_metadata_that_is_not_understood_is_refused(tmp_path: Path, metadata: bytes | None) -> None:
    refused(zipped(("a.py", b""), metadata=metadata), tmp_path, "")


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    refused(
        zipped(("zeros", bytes(format_rules.MAX_TOTAL_BYTES + 1))),
        tmp_path,
        "it unpacks to over 67108864 bytes",
    )


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    size = format_rules.MAX_TOTAL_BYTES + 1
    data = zipped(("zeros", bytes(size))).replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    refused(data, tmp_path, "")


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    entries: list[tuple[str | zipfile.ZipInfo, bytes]] = [(f"{number}.py", b"") for number in range(10_001)]
    refused(zipped(*entries), tmp_path, "it holds over 10000 files")


def test_an_archive_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    refused(bytes(format_rules.MAX_TOTAL_BYTES + 1), tmp_path, "it is over 67108864 bytes")


@given(data=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    refused(data, tmp_path, "")


@given(position=st.integers(min_value=0), change=st.integers(min_value=1, max_value=255))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_byte_changes_no_content(
    tmp_path_factory: pytest.TempPathFactory, bundle: Bundle, position: int, change: int
) -> None:
    data = bytearray(bundle.data)
    data[position % len(data)] ^= change
    target = tmp_path_factory.mktemp("changed") / "target"
    try:
        unpack(bytes(data), bundle.fingerprint, target)
    except CorruptArtifact:
        assert not target.exists()
    else:
        assert (target / "app.py").read_bytes() == b"class App: ...\n"
        assert (target / "pkg/data/labels.txt").read_bytes() == bytes(range(256))


@given(length=st.integers(min_value=0))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cut_archive_is_refused(tmp_path: Path, bundle: Bundle, length: int) -> None:
    target = tmp_path / "cut"
    with pytest.raises(CorruptArtifact):
        unpack(bundle.data[: length % len(bundle.data)], bundle.fingerprint, target)
    assert not target.exists()
