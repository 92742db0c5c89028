"""Lists and searches of a full cache: pages in every order at any depth, hash prefixes, index against scan.

Run as a script for a table; with a number, of that many entries (`1000000` takes some minutes and 5 GB).
Contents are about 1 KB of code, so that the figures measure searching and not reading; a scan of larger ones
is slower.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content, EntryFilter, EntryOrder, EntrySort
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, TickingClock

ENTRIES = 100_000
ROUNDS = 60
_AT_ONCE = 1_000
_TOOLS = ("read_file", "run_command", "search_text", "list_folder", "web_fetch")

Figure = tuple[str, float, str]


def contents(count: int) -> list[Content]:
    """Return slices of Python's library, each with its own number; one in 10,000 contains a rare word."""
    library = Path(statistics.__file__).parent
    pool = "\n".join(path.read_text(errors="replace") for path in sorted(library.glob("*.py")))
    rng = random.Random(count)
    batch = []
    for number in range(count):
        at = rng.randrange(len(pool) - 4000)
        size = rng.randrange(200, 2000)
        rare = "quetzalcoatl\n" if number % 10_000 == 77 else ""
        data = f"call {number}\n{rare}{pool[at : at + size]}".encode()
        target = f"src/{rng.randrange(999)}/module_{rng.randrange(99)}.py"
        batch.append(Content(digest_of(data), data, _TOOLS[number % 5], target, f"call {number}", size // 4))
    return batch


async def fill(store: LevelDbStore, count: int) -> list[str]:
    """Store so many contents; some of their digests."""
    batch = contents(count)
    for at in range(0, count, _AT_ONCE):
        part = batch[at : at + _AT_ONCE]
        await store.commit(Commit(f"session-{at // 20_000}", contents=part, recalls=[part[at % 7].digest]))
    return [content.digest for content in batch[:: max(1, count // ROUNDS)]]


async def milliseconds(work: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    """Return the median duration in milliseconds."""
    durations = []
    for _ in range(rounds):
        start = time.perf_counter()
        await work()
        durations.append((time.perf_counter() - start) * 1000)
    return statistics.median(durations)


async def pages(store: LevelDbStore, count: int) -> list[Figure]:
    """Pages of 200 in several orders, at the top and in the middle."""
    figures: list[Figure] = []
    listed: list[tuple[str, EntryOrder, EntryFilter]] = [
        ("newest", "newest", EntryFilter()),
        ("largest", EntrySort("size", True), EntryFilter()),
        ("by target", EntrySort("target"), EntryFilter()),
        ("by last use", EntrySort("used", True), EntryFilter()),
        ("newest of a tool", "newest", EntryFilter(tool="run_command")),
        ("newest of a session", "newest", EntryFilter(session="session-1")),
        ("newest never recalled", "newest", EntryFilter(unused=True)),
        ("largest of a tool", EntrySort("size", True), EntryFilter(tool="run_command")),
    ]
    for name, order, entry_filter in listed:
        top = await milliseconds(lambda: store.page("", 200, order, entry_filter=entry_filter))  # noqa: B023 - awaited here
        figures.append((f"page of 200, {name}, p50 ms", top, "<= 1"))
        if entry_filter == EntryFilter():
            middle = (await store.page("", count // 2, order, entry_filter=entry_filter)).cursor
            deep = await milliseconds(lambda: store.page(middle, 200, order, entry_filter=entry_filter))  # noqa: B023 - awaited here
            figures.append((f"page of 200, {name}, in the middle / at the top", deep / top, "<= 1.5"))
    path = EntryFilter(target="module_42")
    figures.append(
        (
            "page of 200, newest of a path, p50 ms",
            await milliseconds(lambda: store.page(entry_filter=path)),
            "",
        )
    )
    figures.append(
        ("digests of all by size, ms", await milliseconds(lambda: store.digests(EntrySort("size")), 3), "")
    )
    return figures


async def measure(folder: Path, count: int) -> list[Figure]:
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock(), index_after_s=None)
    try:
        some = await fill(store, count)
        queries = {"rare": "quetzalcoatl", "common": "import self", "none": "xylophone zebra"}
        # A scan for a rare word reads everything; one for a missing word would take as long again.
        scans = {name: await milliseconds(_searched(store, queries[name]), 1) for name in ("rare", "common")}
        start = time.perf_counter()
        await store.wait_until_indexed()
        indexed = time.perf_counter() - start
        figures = await pages(store, count)
        prefixes = iter(some * 9)
        figures.append(
            ("hash prefix, p50 ms", await milliseconds(lambda: store.find(next(prefixes)[:8])), "<= 1")
        )
        by_prefix = await milliseconds(
            lambda: store.page("", 20, EntrySort("size"), entry_filter=EntryFilter(prefix=next(prefixes)[:6]))
        )
        figures.append(("hash prefix, sorted by size, p50 ms", by_prefix, "<= 1"))
        for name, query in queries.items():
            duration = await milliseconds(_searched(store, query), 9)
            figures.append((f"search, {name} words, p50 ms", duration, ""))
            if name in scans:
                figures.append((f"scan / search, {name} words", scans[name] / duration, ""))
        figures.append(("texts indexed per second", count / indexed, ""))
        size = (await store.totals()).size
    finally:
        await store.close()
    opened = await _opened(folder)
    index_size = (folder / "search.db").stat().st_size
    return [
        *figures,
        ("open with an index, ms", opened, "<= 300"),
        ("index / raw bytes", index_size / size, ""),
    ]


def _searched(store: LevelDbStore, query: str) -> Callable[[], Awaitable[Any]]:
    return lambda: store.search(query, limit=10)


async def _opened(folder: Path) -> float:
    durations = []
    for _ in range(5):
        start = time.perf_counter()
        store = await LevelDbStore.open(folder, WORKSPACE)
        await store.page(order=EntrySort("size"))
        durations.append((time.perf_counter() - start) * 1000)
        await store.close()
    return statistics.median(durations)


def main(count: int = ENTRIES) -> list[Figure]:
    """Return name, value and target of each figure; takes some minutes."""
    folder = Path(tempfile.mkdtemp(prefix="bench-search-"))
    try:
        return asyncio.run(measure(folder, count))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    for figure, value, target in main(int(sys.argv[1]) if sys.argv[1:] else ENTRIES):
        sys.stdout.write(f"{figure:<56} {value:>12.3f}   {target}\n")
