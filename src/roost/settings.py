"""Settings of the server, read from `ROOST_*` and the flags of `roost up`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from roost.errors import BadRequest

DEFAULT_PORT = 7463
_DAY_S = 86_400
_HOUR_S = 3600


def _check_grace(grace_s: float) -> float:
    if not grace_s >= _HOUR_S:
        raise PydanticCustomError(
            "too_short",
            "it must be at least 3600, for an upload that was interrupted goes on from what it has stored; "
            "`roost gc --grace 0s` frees all at once",
        )
    return grace_s


def _check_folder(folder: Any) -> Any:
    if isinstance(folder, str) and not folder.strip():
        raise PydanticCustomError("blank", "it must name a folder; '.' is the current one")
    return folder


Folder = Annotated[Path, BeforeValidator(_check_folder)]
Grace = Annotated[float, AfterValidator(_check_grace)]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)]


class Settings(BaseSettings):
    """All settings of a server. Each is also an environment variable, `ROOST_` + its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="ROOST_", extra="ignore")

    home: Folder = Field(Path("~/.roost"), description="Folder of everything Roost keeps on this machine.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(DEFAULT_PORT, ge=1, le=65535, description="Port to listen on.")
    database_url: str | None = Field(None, description="Records; default is SQLite in the home folder.")
    storage_url: str | None = Field(
        None,
        description="Artifacts: `file://`, `s3://bucket/prefix`, `gs://`, `az://`; default in `home`.",
    )
    cache_dir: Folder | None = Field(
        None, description="Cache of a node; default is `cache` in the home folder."
    )
    ray_dashboard_url: str | None = Field(
        None, description="Dashboard of an existing Ray cluster; without it an embedded one is started."
    )
    ray_token: SecretStr | None = Field(
        None,
        description="Token of the Ray cluster. Without it an embedded one makes its own; of an existing one "
        "Ray's own variables and file are read.",
    )
    serve_url: str | None = Field(
        None,
        description="Where an existing cluster's Serve answers; default is the dashboard's host, port 8000.",
    )
    num_cpus: int | None = Field(
        None, ge=1, description="CPUs of the embedded cluster; default is the machine's."
    )
    num_gpus: int | None = Field(
        None, ge=0, description="GPUs of the embedded cluster; default is what is measured."
    )
    fake_gpus: list[str] = Field(
        [], description='Invented cards of the embedded cluster, for trials, as JSON: `["12GiB"]`.'
    )
    cluster_host: str = Field(
        "127.0.0.1",
        description="Address of the embedded cluster; beyond loopback other machines join it (`roost node`).",
    )
    replica_cpus: float = Field(0.1, ge=0, le=1024, description="CPUs a replica reserves; it may use more.")
    start_timeout_s: float = Field(
        120.0, gt=0, le=_DAY_S, description="Longest start of the embedded cluster, in seconds."
    )
    claim_lease_s: float = Field(
        30.0,
        ge=1,
        le=3600,
        description="Seconds without a sign of life after which an upload is given up and another may begin.",
    )
    shutdown_grace_s: float = Field(
        30.0, ge=0, le=_DAY_S, description="Longest wait for running requests on shutdown, in seconds."
    )
    max_body_bytes: int = Field(
        100 * 1024 * 1024,
        ge=0,
        description="Largest request body in bytes, counted as received; 0 = no limit.",
    )
    gc_grace_s: Grace = Field(
        float(_DAY_S),
        le=3650 * _DAY_S,
        description="What is stored and nothing refers to goes to the trash after so many seconds, at least "
        "3600, and is deleted after as many again.",
    )
    allowed_hosts: list[str] = Field(
        [], description="Host names besides loopback's that requests may be for, as JSON."
    )
    insecure: bool = Field(False, description="Allow an open server on an address other than loopback.")
    log_level: LogLevel = Field("INFO", description="DEBUG, INFO, WARNING or ERROR.")

    @property
    def home_dir(self) -> Path:
        """The home folder, absolute."""
        return self.home.expanduser().absolute()

    @property
    def resolved_database_url(self) -> str:
        """The SQLAlchemy URL of the records."""
        return self.database_url or f"sqlite:///{self.home_dir / 'roost.db'}"

    @property
    def resolved_storage_url(self) -> str:
        """The URL of the storage."""
        return self.storage_url or (self.home_dir / "storage").as_uri()

    @property
    def resolved_cache_dir(self) -> Path:
        """The folder of the node cache of embedded replicas."""
        return (self.cache_dir or self.home_dir / "cache").expanduser().absolute()

    @property
    def url(self) -> str:
        """The server's own URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def read_settings(flags: dict[str, Any]) -> Settings:
    """Settings of the environment with the flags laid over them.

    Raises:
        BadRequest: naming the variable and its value.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = "ROOST_" + "_".join(str(step) for step in first["loc"]).upper()
        raise BadRequest(f"{name}={first['input']!r} is not valid: {first['msg']}.") from error
