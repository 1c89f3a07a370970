"""`roost up` runs the server in the foreground; `roost down` ends the one of this home."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from roost.cli.output import note
from roost.errors import Unavailable

_SERVER_MODULES = ("aiohttp", "alembic", "fastapi", "pydantic_settings", "ray", "sqlalchemy", "uvicorn")


def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on. [default: 7463]")
    ] = None,
    home: Annotated[
        str | None,
        typer.Option(metavar="DIRECTORY", help="Folder of everything Roost keeps. [default: ~/.roost]"),
    ] = None,
    ray_dashboard: Annotated[
        str | None, typer.Option(metavar="URL", help="Use this Ray cluster instead of an embedded one.")
    ] = None,
    serve_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where that cluster's Serve answers.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Records. [default: SQLite in home]")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Artifacts. [default: a folder in home]")
    ] = None,
    num_gpus: Annotated[
        int | None, typer.Option(min=0, help="GPUs of the embedded cluster. [default: as measured]")
    ] = None,
    fake_gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="SIZE", help="Invent a card, for trials: 12GiB, 24GB. May be repeated."),
    ] = None,
    cluster_host: Annotated[
        str | None,
        typer.Option(metavar="IP", help="Address at which other machines join. [default: 127.0.0.1]"),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow an open server beyond loopback.")
    ] = False,
) -> None:
    """Run the server; without a Ray address it starts an embedded cluster and stops it on exit."""
    require_server()
    flags: dict[str, Any] = {
        "host": host,
        "port": port,
        "home": home,
        "ray_dashboard_url": ray_dashboard,
        "serve_url": serve_url,
        "database_url": database,
        "storage_url": storage,
        "num_gpus": num_gpus,
        "fake_gpus": fake_gpu or None,
        "cluster_host": cluster_host,
        "insecure": insecure or None,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    # Loaded by name: the server's libraries take a second that no other command should pay.
    import_module("roost.server").run(given)


def down(
    home: Annotated[
        str | None, typer.Option(metavar="DIRECTORY", help="Home of the server to end. [default: ~/.roost]")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, help="Longest wait in seconds before it is forced.")
    ] = 40.0,
) -> None:
    """End the server of this home, and an embedded cluster that a killed server left behind."""
    require_server()
    flags = {} if home is None else {"home": home}
    note(import_module("roost.daemon").end_server(flags, timeout))


def require_server() -> None:
    """Return when the server extra is installed.

    Raises:
        Unavailable: naming what is missing.
    """
    missing = [name for name in _SERVER_MODULES if find_spec(name) is None]
    if missing:
        raise Unavailable(
            f"The server is not installed (missing: {', '.join(missing)}).",
            hint='Install it with: pip install "roost[server]"',
        )
