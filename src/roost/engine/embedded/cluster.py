"""The embedded Ray cluster of one home: at most one, with its own token, on loopback unless told."""

from __future__ import annotations

import secrets
import sys
import uuid
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Protocol

from roost.engine.embedded.command import log_dir, object_store_size, start_command
from roost.engine.embedded.environment import start_environment
from roost.engine.embedded.host import LOOPBACK
from roost.engine.embedded.ports import BlockClaim, PortBlock, claim_block
from roost.engine.embedded.processes import core_processes, find_processes, is_running
from roost.engine.embedded.remains import end_remains, make_run_dir, new_run_dir
from roost.engine.embedded.start import StartAttempt
from roost.engine.embedded.state import ClusterState, boot_id, find_state, write_state
from roost.engine.hardware import Cards, advertise, cards_environment
from roost.engine.serve_api import ServeApi
from roost.errors import EngineStartFailed, RoostError
from roost.storage.node_cache import default_cache_dir

_CORE_SIZE: Final = 3
_FAST_GRACE_S: Final = 0.5
_GRACE_S: Final = 3.0


class EventLike(Protocol):
    """A `threading.Event`, as far as it is needed here."""

    def is_set(self) -> bool:
        """Whether it was set."""
        ...


class EmbeddedCluster:
    """Starts, adopts and ends the Ray cluster of `home`. The caller holds the home's lock; not thread-safe.

    Args:
        home: The server's home; `ray/cluster.json` in it says how to find the cluster again.
        num_cpus: CPUs Ray may give out; None for the machine's.
        num_gpus: GPUs; None for those of `cards`, and what Ray finds where there are none.
        cards: The machine's, advertised to Ray.
        host: Address of its node; other machines can join when it is not loopback. See `check_host`.
        token: Its token; None for one of its own.
        timeout_s: Longest start.
        environment: More variables for all processes of the cluster.

    Attributes:
        warnings: What was not right but did not stop the last start.
    """

    def __init__(
        self,
        home: Path,
        *,
        num_cpus: int | None = None,
        num_gpus: int | None = None,
        cards: Cards | None = None,
        host: str = LOOPBACK,
        token: str | None = None,
        timeout_s: float = 120.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._dir = home.absolute() / "ray"
        self._home = home.absolute()
        self._num_cpus = num_cpus
        self._cards = cards or Cards()
        self._advertised = advertise(self._cards, num_gpus)
        self._host = host
        self._timeout_s = timeout_s
        self._environment = dict(environment or {})
        self._state_file = self._dir / "cluster.json"
        self._state: ClusterState | None = None
        self._claim: BlockClaim | None = None
        self._ports: PortBlock | None = None
        self._given_token = token
        self._token = token or secrets.token_hex(32)

    def reserve(self) -> None:
        """Settle ports and token, so that the URLs are known before it runs and stay over its restarts.

        They are those of a cluster that `adopt` would take over, else a block that is kept from other
        servers until `stop`.

        Raises:
            EngineStartFailed: when every block is in use.
        """
        if self._ports is not None:
            return
        state = find_state(self._state_file)
        if state is not None and self._is_adoptable(state):
            self._ports, self._token = state.ports, state.token
            return
        self.end_remains()
        self._claim = claim_block(self._home)
        self._ports = self._claim.block

    @property
    def ports(self) -> PortBlock:
        """Its ports; RuntimeError before `reserve`, `start` or `adopt`."""
        if self._ports is None:
            raise RuntimeError("The embedded cluster has no ports yet.")
        return self._ports

    @property
    def state(self) -> ClusterState:
        """The cluster that was started or adopted; RuntimeError before that."""
        if self._state is None:
            raise RuntimeError("The embedded cluster is not started.")
        return self._state

    @property
    def dashboard_url(self) -> str:
        """Where its REST API answers."""
        return f"http://{LOOPBACK}:{self.ports.dashboard}"

    @property
    def serve_url(self) -> str:
        """Where its deployments answer. The same at every start of this home, while its ports are free."""
        return f"http://{self._host}:{self.ports.serve}"

    @property
    def address(self) -> str:
        """Where nodes join it."""
        return f"{self._host}:{self.ports.gcs}"

    @property
    def token(self) -> str:
        """Its own token; the same over its restarts."""
        return self._token

    @property
    def log_dir(self) -> Path:
        """Folder of Ray's logs; goes when the cluster is stopped."""
        return log_dir(self.state)

    def start(
        self,
        should_abort: EventLike | Callable[[], bool] = lambda: False,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start Ray and Serve; returns when the first application can be PUT and its ingress is healthy.

        What is left of an earlier cluster of this home is ended first. Nothing stays behind when this
        raises, whatever it raises; the logs of a failure are kept in `ray/failed-start` of the home.

        Raises:
            EngineStartFailed: Ray ended, a part of it died, it took too long, or `should_abort` says so;
                the message has the last lines of the log that tells why. Interrupting takes at most 2 s.
        """
        self.end_remains()
        self.reserve()
        self._start(self.ports.base, _as_callable(should_abort), on_progress)

    def adopt(self) -> bool:
        """Take over the cluster a killed server left, when it serves and was made as this one would be.

        Otherwise what is left of it is ended, and False returned.
        """
        state = find_state(self._state_file)
        if state is not None and self._is_adoptable(state):
            self._state = state
            self._ports, self._token = state.ports, state.token
            return True
        self.end_remains()
        return False

    def alive(self) -> bool:
        """Whether its control store, node and dashboard all live. Cheap; asks no network."""
        state = self._state
        return state is not None and state.phase == "ready" and all(is_running(core) for core in state.core)

    def stop(self, *, fast: bool = False) -> None:
        """End all its processes, free its ports and files; under 2 s when `fast`. Safe to call twice."""
        self._end(fast=fast)
        if self._claim is not None:
            self._claim.release()
        self._claim = self._ports = None

    def end_remains(self) -> bool:
        """End what is left of this home's cluster, whoever started it; whether there was anything alive."""
        return self._end(fast=True)

    def _start(self, base: int, should_abort: Callable[[], bool], on_progress: Callable[[str], None]) -> None:
        state = ClusterState(
            cluster_id=uuid.uuid4().hex,
            token=self._token,
            boot_id=boot_id(),
            run_dir=str(new_run_dir()),
            port_base=base,
            phase="starting",
            made_with=self._made_with(),
            host=self._host,
        )
        # Written before anything exists, so that a kill at any later moment leaves nothing unknown.
        write_state(self._state_file, state)
        self._state = state
        try:
            attempt = self._prepare(state)
            attempt.run(should_abort, on_progress, timeout_s=self._timeout_s)
            core = core_processes(find_processes(state.cluster_id))
            if len(core) < _CORE_SIZE:
                raise EngineStartFailed("A part of Ray died just after it started.")
            self._state = state.ready(core)
            write_state(self._state_file, self._state)
        except BaseException:
            self._end(fast=True)
            raise

    def _prepare(self, state: ClusterState) -> StartAttempt:
        make_run_dir(state)
        store_bytes, warning = object_store_size()
        self.warnings = [warning] if warning else []
        return StartAttempt(
            state,
            command=start_command(
                state, num_cpus=self._num_cpus, advertised=self._advertised, object_store_bytes=store_bytes
            ),
            environment=start_environment(
                state, cards_environment(self._cards), self._environment, default_cache_dir() / "bytecode"
            ),
            kept_logs=self._dir / "failed-start",
        )

    def _end(self, *, fast: bool) -> bool:
        known, self._state = self._state, None
        return end_remains(self._state_file, known, grace_s=_FAST_GRACE_S if fast else _GRACE_S)

    def _is_adoptable(self, state: ClusterState) -> bool:
        complete = state.phase == "ready" and len(state.core) == _CORE_SIZE
        if not complete or state.boot_id != boot_id() or state.made_with != self._made_with():
            return False
        if self._given_token not in (None, state.token) or not all(is_running(core) for core in state.core):
            return False
        api = ServeApi(f"http://{LOOPBACK}:{state.ports.dashboard}", state.token, timeout_s=5.0)
        try:
            return bool(api.get().get("proxies"))
        except RoostError:
            return False
        finally:
            api.close()

    def _made_with(self) -> dict[str, str]:
        """What a running cluster cannot be changed to."""
        return {
            "python": sys.executable,
            "ray": _version("ray"),
            "roost": _version("roost"),
            "num_cpus": str(self._num_cpus),
            "advertised": str(self._advertised),
            "host": self._host,
            "environment": repr(sorted(self._environment.items())),
        }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _as_callable(should_abort: EventLike | Callable[[], bool]) -> Callable[[], bool]:
    return should_abort if callable(should_abort) else should_abort.is_set
