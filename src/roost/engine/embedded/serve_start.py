"""Starts Serve while `ray start` is still at work."""

from __future__ import annotations

import threading

from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable, RoostError

_RETRY_S = 0.25


class ServeStart:
    """PUTs an empty set as soon as the dashboard takes it, then waits for the ingress to be healthy.

    Runs in a thread of its own: Ray holds the answer until Serve is up. `done` is set when it serves;
    `error` is what Ray said last, and `refused` whether trying on is pointless.
    """

    def __init__(self, api: ServeApi, *, host: str, port: int) -> None:
        self.done = threading.Event()
        self.error: RoostError | None = None
        self.refused = False
        self._api = api
        self._http_options = {"host": host, "port": port}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="roost-serve-start", daemon=True)

    def begin(self) -> None:
        """Start trying."""
        self._thread.start()

    def stop(self) -> None:
        """Stop trying; a call that Ray still holds ends when the cluster does."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            self._bring_up()
        finally:
            self._api.close()

    def _bring_up(self) -> None:
        body = {
            "proxy_location": "HeadOnly",
            "http_options": self._http_options,
            "applications": [],
        }
        started = False
        while not self._stopped.is_set():
            try:
                if not started:
                    self._api.put(body)
                    started = True
                if is_healthy(self._api):
                    self.done.set()
                    return
            except EngineUnavailable as error:
                self.error = error
            except RoostError as error:
                self.error, self.refused = error, True
                return
            self._stopped.wait(0.1 if started else _RETRY_S)


def is_healthy(api: ServeApi) -> bool:
    """Whether Serve runs and its ingress takes requests; raises what `ServeApi.get` raises."""
    proxies = api.get().get("proxies") or {}
    return bool(proxies) and all(proxy.get("status") == "HEALTHY" for proxy in proxies.values())
