"""`boto_client.py save TREE BUCKET PREFIX WORKERS | load ...`: boto3's transfer manager over a tree; 0 workers
are its default. Waits for a line on stdin, then prints what it took as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import boto3
from s3transfer.manager import TransferConfig, TransferManager


def main() -> None:
    """Do what the command line says."""
    action, tree, bucket, prefix, workers = sys.argv[1:]
    config = TransferConfig(max_request_concurrency=int(workers)) if int(workers) else TransferConfig()
    client = boto3.client("s3", region_name="us-east-1", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
    print("ready", flush=True)
    sys.stdin.readline()
    started, used = time.perf_counter(), time.process_time()
    with TransferManager(client, config) as manager:
        move = save if action == "save" else load
        for future in move(client, manager, Path(tree), bucket, prefix):
            future.result()
    found = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "peak_mib": peak_mib(),
    }
    print(json.dumps(found), flush=True)


def save(client, manager, tree, bucket, prefix):
    """Begin all uploads."""
    files = [path for path in tree.rglob("*") if path.is_file()]
    return [manager.upload(str(path), bucket, f"{prefix}/{path.relative_to(tree)}") for path in files]


def load(client, manager, tree, bucket, prefix):
    """Begin all downloads."""
    futures = []
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/"):
        for item in page["Contents"]:
            path = tree / item["Key"].removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            futures.append(manager.download(bucket, item["Key"], str(path)))
    return futures


def peak_mib() -> float:
    """Of this process itself."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    main()
