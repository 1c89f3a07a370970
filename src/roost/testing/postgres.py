"""A PostgreSQL of one's own for tests, from the system's packages (Debian: `postgresql-15`)."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any, Final

from roost.testing.server_process import free_port, wait_until

_DEBIAN: Final = Path("/usr/lib/postgresql")
_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0


def find_programs() -> Path | None:
    """The folder with `initdb` and `postgres`, the newest version of several; None when not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = [path.parent for path in _DEBIAN.glob("*/bin/initdb")]
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


class PostgresServer:
    """One server on a free port of loopback, without durability; its data goes when it is stopped.

    PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody` where there is none.

    Args:
        programs: What `find_programs` found.
    """

    def __init__(self, programs: Path) -> None:
        self.port = free_port()
        self._programs = programs
        self._user = _other_user() if os.geteuid() == 0 else None
        # Short, for the socket in it; the other user may not enter the folders of pytest.
        self._folder = Path(tempfile.mkdtemp(prefix="roost-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> PostgresServer:
        """Make a cluster and start it; returns when it takes connections."""
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        data = str(self._folder / "data")
        self._run(
            "initdb", "-D", data, "-U", "roost", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"
        )
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "fsync": "off",
            "max_connections": 200,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", data, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **self._options(),
            )
        wait_until(self._is_ready, _START_TIMEOUT_S, "PostgreSQL takes connections")
        return self

    def new_database(self) -> str:
        """Make an empty database; its URL for SQLAlchemy and for `ROOST_DATABASE_URL`."""
        name = f"t{uuid.uuid4().hex}"
        self._run("createdb", "-h", str(self._folder), "-p", str(self.port), "-U", "roost", name)
        return f"postgresql://roost@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        """End it at once and remove its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_STOP_TIMEOUT_S)
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            **self._options(),
        )
        assert done.returncode == 0, f"{program} ended with {done.returncode}:\n{done.stderr}"

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": self._folder, "start_new_session": True}
        if self._user is not None:
            options |= {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}
        return options

    def _is_ready(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"postgres ended with {code}:\n{(self._folder / 'log').read_text()}"
        try:
            return (self._folder / "data" / "postmaster.pid").read_text().rstrip().endswith("ready")
        except FileNotFoundError:
            return False


def _other_user() -> str:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"
