"""What the server says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from roost.contracts.base import Wire


class StorageInfo(Wire):
    """Where artifacts are kept. A caller that sees the same `storage_id` at `url` may write directly."""

    url: str
    storage_id: str


class NodeInfo(Wire):
    """One node of the Ray cluster. Resources as Ray counts them; memory in bytes.

    Attributes:
        used: What actors hold of the resources now; neither tasks nor placement groups are seen.
        used_gpu_shares: GPUs of each actor that holds some, largest first.
    """

    node_id: str
    name: str
    ip: str
    alive: bool
    labels: dict[str, str] = Field(default_factory=dict)
    resources: dict[str, float] = Field(default_factory=dict)
    used: dict[str, float] = Field(default_factory=dict)
    used_gpu_shares: list[float] = Field(default_factory=list)


class EngineInfo(Wire):
    """The Ray cluster as the server sees it.

    Attributes:
        state: `starting` and `stopped` only of an embedded cluster.
        log_dir: Folder of an embedded cluster's logs.
        exposed: Listeners of an embedded cluster that can be reached from other machines.
    """

    state: Literal["starting", "ready", "unreachable", "stopped"]
    embedded: bool
    dashboard_url: str
    serve_url: str
    message: str = ""
    log_dir: str | None = None
    nodes: list[NodeInfo] = Field(default_factory=list)
    exposed: list[str] = Field(default_factory=list)


class ServerInfo(Wire):
    """Version, parts and counts of one server.

    Attributes:
        name: Of this server, among those of one database.
        leader: The server that writes to Ray; None between two.
    """

    version: str
    url: str
    home: str
    database: str
    storage: StorageInfo
    engine: EngineInfo
    models: int = 0
    deployments: int = 0
    pid: int = 0
    name: str = ""
    leader: str | None = None
