"""Finds the processes of Serve in what Ray says of itself, so that a test can kill them."""

from __future__ import annotations

import re
from typing import Any


def controller_pid(details: dict[str, Any]) -> int | None:
    """Serve's controller; None while Ray does not name one. Ray tells its pid only by its log's name."""
    log: str = (details.get("controller_info") or {}).get("log_file_path") or ""
    found = re.search(r"controller_(\d+)\.log$", log)
    return int(found.group(1)) if found else None


def running_replicas(details: dict[str, Any], app_name: str) -> dict[str, int]:
    """An application's running replicas: pid by id."""
    app = details["applications"].get(app_name, {})
    replicas = app.get("deployments", {}).get("App", {}).get("replicas", [])
    return {each["replica_id"]: each["pid"] for each in replicas if each["state"] == "RUNNING"}
