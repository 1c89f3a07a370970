"""Builds an environment of its own for each peer, and installs wrk and rclone (Debian) where they are missing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENTS = ROOT / ".envs"
LOCKS = ROOT.parent / "requirements" / "peers"
PEERS = ("pixano", "bentoml", "litserve", "plain", "boto3")


def main() -> None:
    """Build what is missing or stale."""
    for program in ("wrk", "rclone"):
        _install(program)
    for peer in PEERS:
        _build(peer)


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment."""
    return ENVIRONMENTS / peer / "bin" / "python"


def _build(peer: str) -> None:
    lock = LOCKS / f"{peer}.txt"
    stamp = ENVIRONMENTS / peer / ".lock"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"==> setting up {peer} in {ENVIRONMENTS / peer}")
    shutil.rmtree(ENVIRONMENTS / peer, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(ENVIRONMENTS / peer))
    pip = (str(python_of(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--require-hashes", "-r", str(lock))
    if peer == "pixano":
        _run(*pip, "--no-deps", str(ROOT / "peers" / "pixano_models"))
    stamp.write_text(wanted)


def _install(program: str) -> None:
    if shutil.which(program):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SystemExit(
            f"{program} is missing; install it (Debian: apt-get install {program}) and run `make bench` again."
        )
    _run("apt-get", "update", "-qq")
    _run("apt-get", "install", "-y", "-qq", program)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if "apt-get" in command[0] else None)


if __name__ == "__main__":
    main()
