"""One measurement with wrk: POST one body over and over from a number of clients."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. Times in milliseconds."""

    p50_ms: float
    p99_ms: float
    requests_s: float
    errors: int


def call(url: str, body: bytes) -> dict[str, object]:
    """One request by hand, so that a benchmark never measures an error page."""
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, object] = json.loads(answer.read())
        return found


def measure(url: str, body: bytes, *, clients: int, seconds: float) -> Measured:
    """Run wrk. Non-2xx answers and socket errors are counted, and make the run void for the caller."""
    with tempfile.TemporaryDirectory() as folder:
        payload = Path(folder, "body.json")
        payload.write_bytes(body)
        script = Path(folder, "post.lua")
        script.write_text(
            'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
            f'local file = io.open("{payload}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n'
        )
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--timeout", "30s", "--latency"]
        output = subprocess.run(
            [*command, "-s", str(script), url], check=True, capture_output=True, text=True
        ).stdout
    return _parse(output)


def _parse(output: str) -> Measured:
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    errors = int(bad.group(1)) if bad else 0
    errors += sum(map(int, sockets.groups())) if sockets else 0
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert rate is not None, output
    return Measured(_percentile(output, "50%"), _percentile(output, "99%"), float(rate.group(1)), errors)


def _percentile(output: str, which: str) -> float:
    found = re.search(rf"{which}\s+([\d.]+)(us|ms|s)\b", output)
    assert found is not None, output
    return float(found.group(1)) * _UNITS[found.group(2)]
