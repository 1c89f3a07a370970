"""A Hugging Face hub with one repository, on loopback. Its faults are set by the test."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

REPOSITORY: Final = "acme/tiny"
COMMIT: Final = "c0ffee" + "0" * 34
PAGE: Final = 2
"""Entries of one page of a listing."""


@dataclass
class HubRepository:
    """What the hub holds, and what goes wrong.

    Attributes:
        files: Contents by path.
        large: Paths whose content lies outside of git, behind a redirect to another host.
        revisions: Commits by name; a commit is found by itself, too.
        token: When not None, only who shows it may see the repository.
        gated: Nobody may read it, whoever asks.
        cuts: By path, after how many bytes of the answer the connection is cut; one for each answer.
        altered: By path, what is sent in place of the content.
        stalls: By path, what is waited for in the middle of the answer.
    """

    files: dict[str, bytes]
    large: set[str] = field(default_factory=set)
    revisions: dict[str, str] = field(default_factory=lambda: {"main": COMMIT, "v1.0": COMMIT})
    token: str | None = None
    gated: bool = False
    cuts: dict[str, list[int]] = field(default_factory=dict)
    altered: dict[str, bytes] = field(default_factory=dict)
    stalls: dict[str, threading.Event] = field(default_factory=dict)

    def entry(self, path: str) -> dict[str, Any]:
        """A file as a listing shows it."""
        data = self.files[path]
        entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": _blob(data)}
        if path in self.large:
            oid = hashlib.sha256(data).hexdigest()
            entry |= {"oid": "0" * 40, "lfs": {"oid": oid, "size": len(data), "pointerSize": 130}}
        return entry

    def etag(self, path: str) -> str:
        """The hash by which the hub knows a file."""
        entry = self.entry(path)
        tag: str = entry.get("lfs", entry)["oid"]
        return tag


@dataclass(frozen=True)
class HubRequest:
    """A request as it came."""

    method: str
    path: str
    token: str | None
    range: str | None


class FakeHub:
    """Serves a repository on two ports: the hub, and the host of its large files.

    Attributes:
        requests: What was asked, in the order of the answers.
    """

    def __init__(self, repository: HubRepository) -> None:
        self.repository = repository
        self.requests: list[HubRequest] = []
        self._servers = [_Server(("127.0.0.1", 0), _handler(self)) for _ in range(2)]
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            for server in self._servers
        ]

    @property
    def url(self) -> str:
        """For `HF_ENDPOINT`."""
        return f"http://127.0.0.1:{self._servers[0].server_address[1]}"

    @property
    def content_url(self) -> str:
        """Where large files are."""
        return f"http://127.0.0.1:{self._servers[1].server_address[1]}"

    def start(self) -> FakeHub:
        """Listen."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Refuse connections."""
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle of an answer is no fault."""


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.hub = hub
    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def do_GET(self) -> None:
        repository, url = self.hub.repository, urlsplit(self.path)
        bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.hub.requests.append(
            HubRequest(self.command, unquote(url.path), bearer, self.headers.get("Range"))
        )
        steps = unquote(url.path).strip("/").split("/")
        if steps[0] == "content":
            self._send_file("/".join(steps[1:]), COMMIT)
            return
        is_api = steps[:2] == ["api", "models"]
        name, rest = "/".join(steps[2:4] if is_api else steps[:2]), steps[4:] if is_api else steps[2:]
        if name != REPOSITORY or (repository.token is not None and bearer != repository.token):
            self._refuse(401 if bearer is None else 404, "RepoNotFound", "Repository not found")
        elif repository.gated:
            self._refuse(403, "GatedRepo", f"Access to model {name} is restricted.")
        else:
            self._answer(rest, parse_qs(url.query))

    do_HEAD = do_GET  # noqa: N815  # the names that http.server calls

    def _answer(self, rest: list[str], query: dict[str, list[str]]) -> None:
        what, revision = rest[0], rest[1]
        commits = self.hub.repository.revisions
        commit = commits.get(revision, revision if revision in commits.values() else "")
        if not commit:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif what == "revision":
            files = [{"rfilename": path} for path in self.hub.repository.files]
            self._send_json({"id": REPOSITORY, "modelId": REPOSITORY, "sha": commit, "siblings": files})
        elif what == "tree":
            self._send_page(commit, int(query.get("cursor", ["0"])[0]))
        else:
            self._send_resolved("/".join(rest[2:]), commit)

    def _send_page(self, commit: str, begin: int) -> None:
        paths = list(self.hub.repository.files)
        headers = {}
        if begin + PAGE < len(paths):
            following = (
                f"{self.hub.url}/api/models/{REPOSITORY}/tree/{commit}?recursive=true&cursor={begin + PAGE}"
            )
            headers["Link"] = f'<{following}>; rel="next"'
        folder: list[dict[str, Any]] = [{"type": "directory", "path": "a-folder", "oid": "0" * 40, "size": 0}]
        files = [self.hub.repository.entry(path) for path in paths[begin : begin + PAGE]]
        self._send_json(files if begin else folder + files, headers)

    def _send_resolved(self, path: str, commit: str) -> None:
        repository = self.hub.repository
        if path not in repository.files:
            self._refuse(404, "EntryNotFound", "Entry not found")
        elif path in repository.large:
            size, etag = len(repository.files[path]), repository.etag(path)
            self.send_response(302)
            self.send_header("Location", f"{self.hub.content_url}/content/{quote(path)}?signed=yes")
            self.send_header("X-Repo-Commit", commit)
            self.send_header("X-Linked-Size", str(size))
            self.send_header("X-Linked-Etag", f'"{etag}"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send_file(path, commit)

    def _send_file(self, path: str, commit: str) -> None:
        repository = self.hub.repository
        data = repository.files[path]
        if self.command == "GET":
            data = repository.altered.get(path, data)
        begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if self.headers.get("Range") else 200)
        self.send_header("ETag", f'"{repository.etag(path)}"')
        self.send_header("X-Repo-Commit", commit)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - begin))
        if self.headers.get("Range"):
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        cuts = repository.cuts.get(path, [])
        end = begin + cuts.pop(0) if cuts else len(data)
        half = (begin + end) // 2
        self.wfile.write(data[begin:half])
        self.wfile.flush()
        if path in repository.stalls:
            repository.stalls[path].wait()
        self.wfile.write(data[half:end])
        if end < len(data):
            self.close_connection = True

    def _refuse(self, status: int, code: str, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_json(self, value: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written: the tests look at `requests`."""


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
