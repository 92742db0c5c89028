"""A branch of an open session of 100,000 events: how long it takes, what it adds, and how it opens cold."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy import PROFILES
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.benchmarks.bench_long_session import store_session
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, replies_in_order
from tests.support.store.builders import WORKSPACE

ROUNDS = 5

Figure = tuple[str, float, str]


async def timed_ms(work: Callable[[], Awaitable[object]]) -> float:
    """Return the milliseconds that some work takes."""
    gc.collect()
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


def size(folder: Path) -> int:
    """Return the bytes of a store's database."""
    return sum(path.stat().st_size for path in (folder / "db").iterdir())


async def opened(folder: Path) -> OpenWorkspace:
    """Open the workspace on the store in `folder`."""
    store = await LevelDbStore.open(folder, WORKSPACE, index_after_s=None)
    return AgentRig(ScriptedModel(replies_in_order())).create_workspace(store, PROFILES["balanced"])


async def cold_ms(folder: Path, session_id: str) -> float:
    """Return the milliseconds in which a session opens in a workspace that has just been opened."""
    workspace = await opened(folder)
    duration = await timed_ms(lambda: workspace.open_session(session_id))
    await workspace.close()
    return duration


async def measure(folder: Path) -> list[Figure]:
    """Branch the session at its end and in its middle, then open parent and branch in turns."""
    await store_session(folder)
    workspace = await opened(folder)
    parent = await workspace.open_session("long")
    middle = len(parent.session.log) // 2
    branches: list[str] = []

    async def branch_at_end() -> None:
        branches.append((await workspace.branches.open("long")).session.id)

    before = size(folder)
    at_end = [await timed_ms(branch_at_end) for _ in range(ROUNDS)]
    added = (size(folder) - before) / ROUNDS / 1024
    in_middle = [await timed_ms(lambda: workspace.branches.create("long", middle)) for _ in range(ROUNDS)]
    opened_in_middle = await timed_ms(lambda: workspace.branches.open("long", middle))
    await workspace.close()
    cold: dict[str, list[float]] = {"long": [], branches[0]: []}
    for number in range(ROUNDS):
        for session_id in sorted(cold, reverse=bool(number % 2)):
            cold[session_id].append(await cold_ms(folder, session_id))
    return [
        ("branch of an open session of 100,000 events at its end, ms", statistics.median(at_end), "<= 100"),
        ("the same in its middle, stored, ms", statistics.median(in_middle), "<= 100"),
        ("the same in its middle, opened, ms", opened_in_middle, ""),
        ("what a branch adds to the store, KB", added, "<= 10"),
        ("cold opening of the parent, best of 5, ms", min(cold["long"]), ""),
        ("cold opening of a branch over that", min(cold[branches[0]]) / min(cold["long"]), "<= 1.1"),
    ]


def main() -> list[Figure]:
    """Name, value and target of each figure."""
    with tempfile.TemporaryDirectory(prefix="bench-branches-") as folder:
        return asyncio.run(measure(Path(folder)))
