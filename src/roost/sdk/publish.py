"""Writes one registry entry: claim, upload, commit. A kill at any step leaves the old entry whole."""

from __future__ import annotations

import getpass
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roost.bundle import Bundle, check, pack, trace
from roost.client import Client, control_calls
from roost.contracts.model import (
    AbandonRequest,
    Claim,
    ClaimMode,
    ClaimRequest,
    CommitRequest,
    RefreshRequest,
    SavedModel,
)
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, RoostError
from roost.keys import ModelKey
from roost.sdk.artifacts import open_artifacts
from roost.sdk.notes import tell
from roost.sdk.progress import transfer, waiting
from roost.sdk.sources.weights import WeightsSource
from roost.sdk.stored_bundle import check_bundle
from roost.storage.artifacts import ArtifactStore
from roost.storage.manifest import Manifest
from roost.storage.upload import upload_tree


@dataclass(frozen=True, slots=True)
class Servable:
    """A servable that has passed its import check, with the bundle that carries it."""

    ref: ServableRef
    bundle: Bundle

    @classmethod
    def prepare(cls, servable: type, include: Sequence[str | Path]) -> Servable:
        """Trace, pack and import the class in a clean interpreter; what its owner should know is said.

        Raises:
            InvalidServable: naming the missing module or the reason.
        """
        with waiting(f"Checking {getattr(servable, '__name__', servable)}"):
            bundle = pack(trace(servable, include))
            prepared = cls(check(bundle), bundle)
        tell(bundle.notes)
        return prepared


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be written, beside the weights. None leaves what is stored."""

    servable: Servable
    requirements: ModelRequirements | None
    config: dict[str, str] | None


class Publisher:
    """Writes registry entries through one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._artifacts: ArtifactStore | None = None

    @property
    def artifacts(self) -> ArtifactStore:
        """Where chunks, manifests and bundles go."""
        if self._artifacts is None:
            storage = self._client.run(control_calls.info()).storage
            self._artifacts = open_artifacts(self._client, storage)
        return self._artifacts

    def claim(self, key: ModelKey, mode: ClaimMode) -> Claim:
        """Ask to write the entry, or learn that it is ready."""
        return self._client.run(control_calls.claim(key, ClaimRequest(mode=mode, writer=_writer())))

    def publish(self, key: ModelKey, claim: Claim, entry: Entry, weights: WeightsSource | None) -> SavedModel:
        """Upload under the claim and finish it; on any failure the claim is given up with the reason."""
        assert claim.token is not None
        with self._held(key, claim) as lease:
            manifest = self._upload(key, weights) if weights is not None else None
            self.upload_bundle(entry.servable.bundle)
            lease.check()
            request = CommitRequest(
                manifest_digest=manifest.digest if manifest is not None else None,
                size_bytes=manifest.size_bytes if manifest is not None else 0,
                servable=entry.servable.ref,
                requirements=entry.requirements,
                config=entry.config,
            )
            return self._client.run(control_calls.commit(key, claim.token, request))

    def refresh(self, key: ModelKey, entry: Entry) -> SavedModel:
        """Give a finished import the current code, and what it has none of yet."""
        self.upload_bundle(entry.servable.bundle)
        request = RefreshRequest(
            servable=entry.servable.ref, requirements=entry.requirements, config=entry.config
        )
        return self._client.run(control_calls.refresh_bundle(key, request))

    def upload_bundle(self, bundle: Bundle) -> None:
        """Send the bundle unless it is stored as it should be."""
        if check_bundle(bundle.fingerprint, self.artifacts).problems:
            self.artifacts.put("bundles", bundle.fingerprint, bundle.data)

    def _upload(self, key: ModelKey, weights: WeightsSource) -> Manifest:
        with weights.opened() as directory, transfer(f"Uploading {key}") as progress:
            return upload_tree(directory, self.artifacts, progress=progress)

    @contextmanager
    def _held(self, key: ModelKey, claim: Claim) -> Iterator[_Lease]:
        assert claim.token is not None
        lease = _Lease(self._client, key, claim)
        try:
            lease.start()
            yield lease
        except BaseException as error:
            lease.stop()
            self._abandon(key, claim.token, error)
            raise
        lease.stop()

    def _abandon(self, key: ModelKey, token: str, error: BaseException) -> None:
        try:
            self._client.run(control_calls.abandon(key, token, AbandonRequest(reason=_reason(error))))
        except RoostError as failure:
            # The claim lapses by itself; the first error is the one to show.
            error.add_note(f"The claim on {key} could not be given up either: {failure.message}")


class _Lease(threading.Thread):
    """Renews a claim until it is stopped; `check` raises once the claim is lost."""

    def __init__(self, client: Client, key: ModelKey, claim: Claim) -> None:
        super().__init__(name=f"lease {key}", daemon=True)
        assert claim.token is not None
        self._client = client
        self._key = key
        self._token = claim.token
        self._period_s = claim.lease_s / 3
        self._stopped = threading.Event()
        self._lost: ModelBusy | None = None

    def run(self) -> None:
        """Renew a third of the way through each lease. A server that is away is asked again."""
        while not self._stopped.wait(self._period_s):
            try:
                self._client.run(control_calls.renew(self._key, self._token))
            except ModelBusy as error:
                self._lost = error
                return
            except RoostError:
                continue

    def check(self) -> None:
        """Raise `ModelBusy` when another writer has taken the claim over."""
        if self._lost is not None:
            raise self._lost

    def stop(self) -> None:
        """Stop renewing."""
        self._stopped.set()


def _writer() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} (pid {os.getpid()})"


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    name = "" if isinstance(error, RoostError) else type(error).__name__
    return ": ".join(filter(None, (name, str(error))))[:2000]
