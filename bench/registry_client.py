"""`python -m bench.registry_client save TREE URL | load DIGEST URL CACHE`: one transfer as the SDK makes it,
in a process of its own. Waits for a line on stdin, then prints what it took as JSON."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from roost.contracts.artifact import ArtifactKind
from roost.storage.artifacts import StoredArtifacts
from roost.storage.node_cache import NodeCache
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree


class Counted(StoredArtifacts):
    """Real artifacts that count the bytes which pass."""

    def __init__(self, store: ObjectStore) -> None:
        super().__init__(store)
        self._lock = threading.Lock()
        self.moved_bytes = 0
        self.objects = 0

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        super().put(kind, name, data)
        self._count(data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        data = super().get(kind, name)
        self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        with self._lock:
            self.moved_bytes += len(data)
            self.objects += 1


def main() -> None:
    """Do what the command line says."""
    action, what, url, *cache = sys.argv[1:]
    artifacts = Counted(ObjectStore.open(url))
    artifacts.missing("manifests", ["0" * 64])  # connections and threads are there before the clock runs
    print("ready", flush=True)
    sys.stdin.readline()
    started, used = time.perf_counter(), time.process_time()
    if action == "save":
        result = upload_tree(Path(what), artifacts).digest
    else:
        result = str(NodeCache(Path(cache[0])).weights(what, artifacts))
    found = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "peak_mib": peak_mib(),
        "moved_bytes": artifacts.moved_bytes,
        "objects": artifacts.objects,
        "result": result,
    }
    print(json.dumps(found), flush=True)


def peak_mib() -> float:
    """Of this process itself: `ru_maxrss` would carry over what its parent had before the exec."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    main()
