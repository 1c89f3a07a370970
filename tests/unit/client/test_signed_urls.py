from __future__ import annotations

from roost.client.signed_urls import UrlBook
from roost.contracts.artifact import ArtifactKind, SignedUrls, UrlMethod

Asked = list[tuple[str, int, str]]


class Server:
    """Signs what is asked for; `none_for` has no URLs."""

    def __init__(self, *none_for: tuple[str, str]) -> None:
        self.asked: Asked = []
        self.now = 0.0
        self._none_for = none_for

    def sign(self, kind: ArtifactKind, names: list[str], method: UrlMethod) -> SignedUrls:
        self.asked.append((kind, len(names), method))
        if (kind, method) in self._none_for:
            return SignedUrls(urls=None, expires_s=100)
        urls = {name: f"{method} {name} {len(self.asked)}" for name in names}
        return SignedUrls(urls=urls, headers={name: {"x": name} for name in names}, expires_s=100)

    def book(self) -> UrlBook:
        return UrlBook(self.sign, clock=lambda: self.now)


def url(book: UrlBook, name: str, method: UrlMethod = "GET") -> str | None:
    found = book.find("chunks", method, name)
    return found.url if found else None


def test_expected_chunks_come_along_256_at_once() -> None:
    server = Server()
    book = server.book()
    book.expect(f"n{i}" for i in range(300))
    assert {url(book, f"n{i}") for i in range(256)} == {f"GET n{i} 1" for i in range(256)}
    assert {url(book, f"n{i}") for i in range(256, 300)} == {f"GET n{i} 2" for i in range(256, 300)}
    assert server.asked == [("chunks", 256, "GET"), ("chunks", 44, "GET")]


def test_a_url_is_used_once_and_asked_for_anew() -> None:
    book = Server().book()
    assert [url(book, "a"), url(book, "a")] == ["GET a 1", "GET a 2"]


def test_one_that_would_run_out_on_the_way_is_not_used() -> None:
    server = Server()
    book = server.book()
    book.expect(["a", "b", "c"])
    assert url(book, "a") == "GET a 1"
    server.now = 49
    assert url(book, "b") == "GET b 1"
    server.now = 51
    assert url(book, "c") == "GET c 2"


def test_where_there_are_none_the_server_is_asked_once() -> None:
    server = Server(("chunks", "PUT"))
    book = server.book()
    assert [url(book, name, "PUT") for name in "abc"] == [None, None, None]
    assert url(book, "a") == "GET a 2"
    assert server.asked == [("chunks", 1, "PUT"), ("chunks", 1, "GET")]


def test_nobody_sees_a_url_by_accident() -> None:
    found = Server().book().find("chunks", "GET", "a")
    assert found is not None
    assert "GET a 1" not in repr(found)
    assert found.headers == {"x": "a"}
