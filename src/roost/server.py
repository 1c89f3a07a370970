"""The server: settings in, a listening process out."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import uvicorn

import roost
from roost.app import create_app
from roost.daemon import HomeLock
from roost.errors import BadRequest, PortTaken, RoostError
from roost.hosts import is_loopback
from roost.logs import configure_logging
from roost.parts import Parts
from roost.settings import Settings, read_settings

_log = logging.getLogger("roost")
_BACKLOG = 2048
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(flags: dict[str, Any]) -> None:
    """Run the server until it is interrupted; the flags win over the environment.

    Raises:
        BadRequest: for a setting that is not valid, or an open server beyond loopback.
        PortTaken: when the address is in use.
        Conflict: when another server runs in this home.
    """
    settings = read_settings(flags)
    configure_logging(settings.log_level)
    check_exposure(settings)
    with _no_folders_left(settings):
        _run_alone(settings, HomeLock(settings.home_dir))


def _run_alone(settings: Settings, lock: HomeLock) -> None:
    lock.take(settings.url)
    # Until the loop runs, SIGTERM ends as Ctrl-C does: by an exception that cleans up on its way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        listener, parts = _accepted(settings, lock)
        _log.info("Roost %s listens at %s (home %s)", roost.__version__, settings.url, settings.home_dir)
        _run_parts(parts, listener)
    except KeyboardInterrupt:
        _log.info("Interrupted")
    finally:
        lock.release()
    _log.info("Roost has stopped")


def _accepted(settings: Settings, lock: HomeLock) -> tuple[socket.socket, Parts]:
    with ExitStack() as refused:
        refused.callback(lock.release, remove=True)
        listener = refused.enter_context(listen(settings))
        parts = Parts(settings)
        refused.pop_all()
    return listener, parts


@contextmanager
def _no_folders_left(settings: Settings) -> Iterator[None]:
    """Remove folders that a refused start has made, as far as nothing is in them."""
    storage = urlsplit(settings.resolved_storage_url)
    folders = [settings.home_dir, *([Path(unquote(storage.path))] if storage.scheme == "file" else [])]
    made = {each for folder in folders for each in (folder, *folder.parents) if not each.exists()}
    try:
        yield
    except RoostError:
        for folder in sorted(made, key=lambda each: len(each.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise


def check_exposure(settings: Settings) -> None:
    """Refuse to listen beyond loopback while no key protects the server.

    Raises:
        BadRequest: unless `insecure` is set.
    """
    if settings.insecure or is_loopback(settings.host):
        if not is_loopback(settings.host):
            _log.warning("Everyone who reaches %s may use and change everything (--insecure)", settings.url)
        return
    raise BadRequest(
        f"host {settings.host!r} can be reached from other machines, and no API key protects the server.",
        hint="Listen on 127.0.0.1, or say --insecure if the network is trusted.",
    )


def listen(settings: Settings) -> socket.socket:
    """A listening socket.

    Raises:
        PortTaken: when the address is in use, or is not one of this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise PortTaken(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror or error}.",
            hint="Choose another port with --port, or end what listens there (`ss -ltnp` names it).",
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Lets waiting callers go before it waits for running requests."""

    def __init__(self, config: uvicorn.Config, before_drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_drain = before_drain

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain."""
        self._before_drain()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM drain, and are not raised again afterwards: the exit code is then 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _run_parts(parts: Parts, listener: socket.socket) -> None:
    try:
        parts.start()
        _serve(parts, listener)
    finally:
        parts.stop()


def _serve(parts: Parts, listener: socket.socket) -> None:
    config = uvicorn.Config(
        create_app(parts),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=round(parts.settings.shutdown_grace_s),
    )
    _Server(config, parts.changes.close).run(sockets=[listener])
