from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from roost.capabilities import MediaPolicy, load_image
from roost.errors import InvalidMedia, PayloadTooLarge


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (6, 4), (1, 2, 3)).save(buffer, "PNG")
    return buffer.getvalue()


PNG = png()
TEXT = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "source",
    [
        PNG,
        TEXT,
        f"data:image/png;base64,{TEXT}",
        f"DATA:image/png;charset=x;BASE64,{TEXT}",
        f"data:;base64,{TEXT}",
        base64.encodebytes(PNG).decode(),
        "\r\n".join([TEXT[:40], TEXT[40:]]),
    ],
)
def test_bytes_base64_and_data_uris_give_the_image(source: str | bytes) -> None:
    image = load_image(source, MediaPolicy())

    assert (image.mode, image.size, image.getpixel((0, 0))) == ("RGB", (6, 4), (1, 2, 3))


def test_base64_of_a_jpeg_is_not_taken_for_a_path() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (6, 4)).save(buffer, "JPEG")
    text = base64.b64encode(buffer.getvalue()).decode()

    assert text.startswith("/9j/")
    assert load_image(text, MediaPolicy()).size == (6, 4)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "is none of JPEG"),
        ("aGk=", "is none of JPEG"),
        ("aGk", "is not valid base64"),
        ("a", "is not valid base64"),
        ("aGk=aGk=", "is not valid base64"),
        ("====", "is not valid base64"),
        (TEXT[:-2], "is not valid base64"),
        (f"data:image/png,{TEXT}", "must hold base64"),
        ("data:image/png;base64", "must hold base64"),
        ("data:", "must hold base64"),
        ("data:;base64,a b", "is not valid base64"),
    ],
)
def test_broken_base64_is_refused(source: str, message: str) -> None:
    with pytest.raises(InvalidMedia, match=message):
        load_image(source, MediaPolicy())


@pytest.mark.parametrize(
    ("source", "scheme"),
    [
        ("file:///etc/passwd", "file"),
        ("FILE:///etc/passwd", "file"),
        ("ftp://example.org/a.png", "ftp"),
        ("gopher://127.0.0.1:6379/_", "gopher"),
        ("s3://bucket/a.png", "s3"),
        ("javascript:alert(1)", "javascript"),
        ("blob:http://example.org/1", "blob"),
        (" file:///etc/passwd", "file"),
    ],
)
def test_other_schemes_are_refused(source: str, scheme: str) -> None:
    with pytest.raises(InvalidMedia, match=f"has the scheme '{scheme}', which is not allowed"):
        load_image(source, MediaPolicy(media_roots=(Path("/"),)))


def test_base64_over_the_byte_cap_is_refused_before_it_is_decoded() -> None:
    assert load_image(TEXT, MediaPolicy(max_bytes=len(PNG))).size == (6, 4)
    with pytest.raises(PayloadTooLarge):
        load_image(TEXT, MediaPolicy(max_bytes=len(PNG) - 1))
    with pytest.raises(PayloadTooLarge):
        load_image("!" * 5000, MediaPolicy(max_bytes=100))


def test_messages_never_repeat_a_whole_payload() -> None:
    with pytest.raises(InvalidMedia) as caught:
        load_image("A" * 100_001, MediaPolicy())
    assert len(str(caught.value)) < 300


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "media"
    (root / "sub").mkdir(parents=True)
    (root / "a.png").write_bytes(PNG)
    (root / "sub" / "b c.png").write_bytes(PNG)
    (root / "inside.png").symlink_to("sub/b c.png")
    (root / "outside.png").symlink_to(tmp_path / "secret.png")
    (root / "outside").symlink_to(tmp_path)
    (root / "loop.png").symlink_to("loop.png")
    (root / "folder.png").mkdir()
    os.mkfifo(root / "pipe.png")
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "media-twin").mkdir()
    (tmp_path / "media-twin" / "a.png").write_bytes(PNG)
    return root


@pytest.mark.parametrize(
    "source", ["a.png", "sub/b c.png", "./a.png", "sub/../a.png", "inside.png", "{root}/a.png", "a.png/"]
)
def test_files_below_a_media_root_are_read(root: Path, source: str) -> None:
    policy = MediaPolicy(media_roots=(root.parent / "missing", root))

    assert load_image(source.format(root=root), policy).size == (6, 4)


@pytest.mark.parametrize(
    "source",
    [
        "missing.png",
        "../secret.png",
        "sub/../../secret.png",
        "{root}/../secret.png",
        "{parent}/secret.png",
        "{parent}/media-twin/a.png",
        "../media-twin/a.png",
        "/etc/hostname.",
        "/proc/self/environ.",
        "outside.png",
        "outside/secret.png",
        "loop.png",
        "folder.png",
        "pipe.png",
        ".",
        "..",
        "./",
        "a.png\0.jpg",
        "a.png/x.png",
        "%2e%2e/secret.png",
        "..%2fsecret.png",
        "..\\secret.png",
        "~/secret.png",
        "$HOME/secret.png",
        "a.png ",
        "\u2025/secret.png",
        "x" * 300 + ".png",
        "\ud800.png",
    ],
)
def test_nothing_else_is_reached_and_the_message_does_not_tell_why(root: Path, source: str) -> None:
    source = source.format(root=root, parent=root.parent)

    with pytest.raises(InvalidMedia, match="is not a file below the media roots") as caught:
        load_image(source, MediaPolicy(media_roots=(root,)))
    assert str(root.parent) not in str(caught.value).replace(repr(source[:64]), "")


@pytest.mark.parametrize("source", ["a.png", "/etc/hostname.", "../a.png", "a_b"])
def test_without_media_roots_no_path_is_read(source: str) -> None:
    with pytest.raises(InvalidMedia, match="neither base64, a data URI nor an http") as caught:
        load_image(source, MediaPolicy())
    assert caught.value.hint is not None
    assert "none is configured" in caught.value.hint


def test_a_file_over_the_byte_cap_is_refused(root: Path) -> None:
    assert load_image("a.png", MediaPolicy(media_roots=(root,), max_bytes=len(PNG))).size == (6, 4)
    with pytest.raises(PayloadTooLarge):
        load_image("a.png", MediaPolicy(media_roots=(root,), max_bytes=len(PNG) - 1))


@given(st.text(max_size=60).filter(lambda text: "://" not in text))
def test_any_text_gives_our_error(text: str) -> None:
    with pytest.raises(InvalidMedia):
        load_image(text, MediaPolicy(media_roots=(Path("/nonexistent"),)))
