"""A change of 2,000 files planned and reverted, beside `cp -r` of the same files."""

from __future__ import annotations

import random
import statistics
import subprocess
import tempfile
import tracemalloc
from pathlib import Path

from tests.benchmarks.timing import seconds
from tests.support.revert_rig import RevertRig

FILES = 2_000
FOLDERS = 120
_ROUNDS = 3


def main() -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        rounds = [_measure(Path(folder) / str(number)) for number in range(_ROUNDS)]
    copy, synced, plan, apply, memory = (statistics.median(column) for column in zip(*rounds, strict=True))
    return [
        ("cp -r of 2,000 files", copy * 1e3, "ms"),
        ("the same, then sync -f", synced * 1e3, "ms"),
        ("plan their revert", plan * 1e3, "ms"),
        ("revert them, durably", apply * 1e3, "ms"),
        ("plan and revert beside cp -r", (plan + apply) / copy, "times"),
        ("memory at most, above the plan", memory / 1e6, "MB"),
    ]


def _measure(folder: Path) -> tuple[float, float, float, float, float]:
    """Return the seconds of the copy, of a synced one, of plan and revert, and the revert's bytes."""
    folder.mkdir()
    rig = RevertRig(folder)
    chance = random.Random(19)
    paths = [f"folder{number % FOLDERS}/deeper/file{number}.py" for number in range(FILES)]
    texts = {path: "".join(f"line {chance.random()}\n" for _ in range(150)) for path in paths}
    rig.write(texts)
    with rig.call() as changes:
        rig.write({path: text.replace("line", "changed") for path, text in texts.items()})
    copy = seconds(lambda: subprocess.run(["cp", "-r", rig.root, folder / "copy"], check=True))
    subprocess.run(["sync", "-f", folder], check=True)

    def copy_synced() -> None:
        subprocess.run(["cp", "-r", rig.root, folder / "other"], check=True)
        subprocess.run(["sync", "-f", folder], check=True)

    synced = seconds(copy_synced)
    plan = rig.plan(changes)
    planned = seconds(lambda: rig.plan(changes))
    applied = seconds(lambda: rig.reverts.apply("session", plan, {}))
    with rig.call() as again:
        rig.write({path: text.replace("line", "again") for path, text in texts.items()})
    plan = rig.plan(again)
    tracemalloc.start()
    rig.reverts.apply("session", plan, {})
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rig.database.close()
    return copy, synced, planned, applied, memory
