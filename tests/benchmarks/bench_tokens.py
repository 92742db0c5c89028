"""Counting tokens: speed on code, cost of loading, and how long the event loop is blocked."""

from __future__ import annotations

import asyncio
import gc
import resource
import sysconfig
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from helix_desktop.config.paths import resources_dir
from helix_desktop.providers.tiktoken_counter import VOCABULARY, TiktokenCounter

Figure = tuple[str, float, str]

TICK_S = 0.001
SAMPLE_BYTES = 4_000_000


def main() -> list[Figure]:
    """Measure the vocabulary on Python's own library."""
    return asyncio.run(_measure(VOCABULARY, _sample()))


async def _measure(name: str, sample: list[str]) -> list[Figure]:
    counter = TiktokenCounter(resources_dir() / "tokenizers" / f"{name}.tiktoken")
    gc.collect()
    before = _memory_mb()
    async with _stalls() as loading:
        started = time.perf_counter()
        await counter.load()
        load_s = time.perf_counter() - started
    memory_mb = _memory_mb() - before
    async with _stalls() as counting:
        started = time.perf_counter()
        tokens = sum(await counter.count(sample))
        count_s = time.perf_counter() - started
    started = time.perf_counter()
    await counter.count(sample)
    again_s = time.perf_counter() - started
    size_mb = sum(len(text.encode()) for text in sample) / 1e6
    counting.sort()
    return [
        (f"{name}: load", load_s * 1e3, "ms, once, in a thread"),
        (f"{name}: longest stall while loading", max(loading) * 1e3, "ms of the event loop, once"),
        (f"{name}: memory", memory_mb, "MB"),
        (f"{name}: speed on code", size_mb / count_s, "MB/s"),
        (f"{name}: bytes per token", size_mb * 1e6 / tokens, "on code"),
        (f"{name}: speed on known texts", size_mb / again_s, "MB/s"),
        (
            f"{name}: stall while counting, p99",
            counting[int(len(counting) * 0.99)] * 1e3,
            "ms of the event loop",
        ),
        (f"{name}: longest stall while counting", counting[-1] * 1e3, "ms of the event loop"),
    ]


@asynccontextmanager
async def _stalls() -> AsyncIterator[list[float]]:
    """Return how late a timer of the event loop was each time, in seconds."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter()
            await asyncio.sleep(TICK_S)
            late.append(max(0.0, time.perf_counter() - due - TICK_S))

    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(tick())
        yield late
        await asyncio.sleep(TICK_S)
        ticking.cancel()


def _sample() -> list[str]:
    """Some 4 MB of Python, a file each."""
    texts: list[str] = []
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.append(text)
        size += len(text)
        if size > SAMPLE_BYTES:
            break
    return texts


def _memory_mb() -> float:
    """Return the resident memory now, where the system reports it; else the maximum."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
