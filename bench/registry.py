"""Saving and loading weights, beside `cp` + `sha256sum` on disk and boto3 and rclone on SeaweedFS."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.registry_runs import BOTO, COPY, ROOST, Roost, Runs, on_bucket, on_disk
from bench.report import table, write
from bench.weights import MIB, change, make_tree
from roost.storage.transfer import WORKERS

DISK_TARGET, BUCKET_TARGET = 0.7, 1.3
SENT_TARGET, WARM_TARGET_MS, MEMORY_TARGET_MIB = 0.10, 50.0, 300.0
LOADERS = 8
TUNED = (("5 % in one region", 1), ("5 % in eight regions, as of tensors", 8))


@dataclass(frozen=True, slots=True)
class _Tuned:
    name: str
    changed: int
    sent: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Herd:
    """Loaders that began at once in one empty cache."""

    seconds: float
    fetched: int


def run(rounds: int, mib: int) -> None:
    """Alternating rounds on one tree; medians."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        tree, disk, bucket = Path(folder, "tree"), Runs(), Runs()
        size = make_tree(tree, mib)
        for at in range(rounds):
            print(f"round {at + 1}/{rounds}", flush=True)
            on_disk(disk, tree, Path(folder, "disk"), at)
            on_bucket(bucket, tree, Path(folder, "bucket"), at)
        ours = Roost(Path(folder, "storage").as_uri())
        digest = ours.save(tree)["result"]
        taken = ours.load(digest, Path(folder, "cache"), processes=LOADERS)
        herd = _Herd(max(each["seconds"] for each in taken), sum(each["moved_bytes"] for each in taken))
        tuned = [_tune(ours, tree, name, regions) for name, regions in TUNED]
    about = (
        f"A tree of {size / MIB:.0f} MiB of random bytes: one large file, 20 medium, 2,000 small; it is in the "
        f"page cache, and what is dirty is flushed before each run. Medians of {rounds} alternating rounds, each "
        f"with a fresh store, target and process. Roost uses {WORKERS} threads, verifies every byte and flushes "
        "all to the disk; boto3, rclone and cp do not.\n"
    )
    parts = [
        about,
        _compared("On disk", disk, size, COPY),
        _compared("On SeaweedFS, on the same machine", bucket, size, BOTO),
        _shown_tuned(tuned, size),
        _targets(disk, bucket, tuned, herd, size),
    ]
    write("registry", "Weights", f"python -m bench registry --rounds {rounds} --mib {mib}", parts)


def _tune(ours: Roost, tree: Path, name: str, regions: int) -> _Tuned:
    changed = change(tree, 0.05, regions, seed=regions)
    taken = ours.save(tree)
    return _Tuned(name, changed, taken["moved_bytes"], taken["seconds"])


def _compared(title: str, runs: Runs, size: int, base: str) -> str:
    rows = []
    for action in ("save", "load"):
        for name in runs.names():
            seconds = runs.median(name, action, "seconds") or 0.0
            rows.append(
                (
                    action,
                    name,
                    f"{seconds:.2f}",
                    f"{size / MIB / seconds:.0f}",
                    f"{_ratio(runs, base, name, action):.2f}",
                    _cell(runs.median(name, action, "cpu_seconds"), ".1f"),
                    _cell(runs.median(name, action, "peak_mib"), ".0f"),
                )
            )
    columns = ("", "by", "s", "MiB/s", "throughput x", "client's CPU s", "client's peak MiB")
    return f"## {title}\n\n{table(columns, rows)}\n"


def _ratio(runs: Runs, base: str, name: str, action: str) -> float:
    """Throughput of `name` over that of `base`."""
    return (runs.median(base, action, "seconds") or 0.0) / (runs.median(name, action, "seconds") or 1.0)


def _cell(found: float | None, form: str) -> str:
    return "" if found is None else format(found, form)


def _shown_tuned(tuned: list[_Tuned], size: int) -> str:
    rows = [
        (
            each.name,
            f"{each.changed / MIB:.0f}",
            f"{each.sent / MIB:.0f}",
            f"{each.sent / size:.1%}",
            f"{each.seconds:.2f}",
        )
        for each in tuned
    ]
    columns = ("changed", "MiB changed", "MiB sent", "of the tree", "s")
    return f"## Saving a fine-tune, on disk\n\n{table(columns, rows)}\n"


def _targets(disk: Runs, bucket: Runs, tuned: list[_Tuned], herd: _Herd, size: int) -> str:
    rows = []
    for runs, base, what, target in (
        (disk, COPY, "on disk, against copy + hash", DISK_TARGET),
        (bucket, BOTO, "on S3, against boto3", BUCKET_TARGET),
    ):
        for action in ("save", "load"):
            ratio = _ratio(runs, base, ROOST, action)
            rows.append((f"{action} {what}", f"{ratio:.2f} x", f">= {target} x", ratio >= target))
    most = max(each.sent for each in tuned) / size
    rows.append(
        ("a fine-tune of 5 % sends, of the tree", f"{most:.1%}", f"<= {SENT_TARGET:.0%}", most <= SENT_TARGET)
    )
    warm = 1000 * (disk.median(ROOST, "warm load", "seconds") or 0.0)
    rows.append(("warm load", f"{warm:.0f} ms", f"<= {WARM_TARGET_MS:.0f} ms", warm <= WARM_TARGET_MS))
    # The manifest is fetched too, by each that finds no tree yet.
    once = herd.fetched < 1.01 * size
    rows.append(
        (
            f"{LOADERS} loaders at once fetch ({herd.seconds:.1f} s)",
            f"{herd.fetched / size:.2f} trees",
            "1",
            once,
        )
    )
    peak = max(disk.most("peak_mib"), bucket.most("peak_mib"))
    rows.append(
        (
            "the client's peak memory",
            f"{peak:.0f} MiB",
            f"< {MEMORY_TARGET_MIB:.0f} MiB",
            peak < MEMORY_TARGET_MIB,
        )
    )
    shown = [(what, found, target, "met" if met else "missed") for what, found, target, met in rows]
    return f"## Targets\n\n{table(('what', 'found', 'target', ''), shown)}"
