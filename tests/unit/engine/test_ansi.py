from __future__ import annotations

from roost.engine.ansi import strip_ansi


def test_colours_links_and_lone_escapes_go_and_the_text_stays() -> None:
    text = (
        "\x1b[36mray::App\x1b[39m \x1b[1;31merror\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b[2Kend\x1b"
    )
    assert strip_ansi(text) == "ray::App error link end"


def test_plain_text_is_unchanged() -> None:
    assert strip_ansi("a [1m] b\n\tc") == "a [1m] b\n\tc"
