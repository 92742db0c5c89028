"""A store with many entries: lists and openings compared with SQLite, puts and reads compared with other
databases of the same size, and the memory of idle open workspaces.

Three sizes in one run, in about seven minutes; as a script it takes one: `bench_store_scale.py 1000000`. Most
contents are short here, because lists read records and never contents; outputs of tools are among them, to be
read and stored again.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import CacheEntry, Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.benchmarks.store_rounds import (
    MINIMAL,
    PER_ROUND,
    Figure,
    durable_puts,
    repeated_puts,
    some,
    tool_outputs,
    verified_reads,
)
from tests.support.store.builders import WORKSPACE, TickingClock
from tests.support.store.reference_databases import ReferenceDatabase, open_reference_databases

SIZES = (10_000, 100_000, 1_000_000)
LIMIT = 200
ROUNDS = 50
WORKSPACES = 20
ENTRIES_PER_WORKSPACE = 200
OUTPUTS = 2_000  # how many outputs of tools lie among the short contents
COLUMNS = "digest, created, size, tokens, tool, target, first_line"


def short(number: int) -> Content:
    data = b"%d " % number * 40
    return Content(digest_of(data), data, "read_file", f"src/app_{number % 997}.py", "import os", 100)


async def build(
    folder: Path, entries: int, others: list[ReferenceDatabase]
) -> tuple[sqlite3.Connection, list[Content]]:
    """Fill a store, a table of SQLite with the same records, and other databases with the same contents.

    Return the table, and the outputs of tools among the `entries` short contents.
    """
    store = await LevelDbStore.open(folder / "ours", WORKSPACE, TickingClock(step=1))
    peer = sqlite3.connect(folder / "peer.db")
    peer.execute(f"CREATE TABLE entries ({COLUMNS}, PRIMARY KEY (digest)) WITHOUT ROWID")
    peer.execute("CREATE INDEX newest ON entries (created DESC)")
    source = tool_outputs(2)
    outputs = list[Content]()
    for at in range(0, entries, 500):
        new_rows = [short(number) for number in range(at, min(entries, at + 500))]
        outputs += (longer := some(source, OUTPUTS * len(new_rows) // entries))
        await store.commit(Commit("s", contents=[*new_rows, *longer]))
        rows = [
            (row.digest, at, len(row.data), row.tokens, row.tool, row.target, row.first_line)
            for row in new_rows
        ]
        peer.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        for other in others:
            other.write([*new_rows, *longer])
    await store.close()
    peer.commit()
    return peer, outputs


def forget_cached(folder: Path) -> None:
    """Ask the system to drop the files from its memory, where that is possible."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


async def time_call(ask: Callable[[], object]) -> float:
    """Return the milliseconds of a call, including the await of its result."""
    start = time.perf_counter()
    answer = ask()
    if asyncio.iscoroutine(answer):
        await answer
    return (time.perf_counter() - start) * 1000


async def listing(folder: Path, entries: int, peer: sqlite3.Connection) -> list[Figure]:
    opened = []
    for _ in range(9):
        before = time.perf_counter()
        store = await LevelDbStore.open(folder / "ours", WORKSPACE)
        opened.append((time.perf_counter() - before) * 1000)
        await store.close()
    forget_cached(folder / "ours" / "db")
    store = await LevelDbStore.open(folder / "ours", WORKSPACE)
    cold = await time_call(store.page)
    rng = random.Random(7)
    prefixes = [short(rng.randrange(entries)).digest[:8] for _ in range(ROUNDS)]
    middle = await depth(store, entries // 2)
    newest = f"SELECT * FROM entries ORDER BY created DESC LIMIT {LIMIT}"
    peer_pages = [await time_call(lambda: _entries(peer, newest)) for _ in range(ROUNDS)]
    pages = [await time_call(store.page) for _ in range(ROUNDS)]
    deep = [await time_call(lambda: store.page(middle)) for _ in range(ROUNDS)]
    find_times = [await time_call(partial(store.find, prefix)) for prefix in prefixes]
    entry_times = [await time_call(partial(store.entry, short(number).digest)) for number in range(ROUNDS)]
    await store.close()
    return [
        (f"newest page of {LIMIT}, p50 ms", statistics.median(pages), "<= 1"),
        ("the same from SQLite, p50 ms", statistics.median(peer_pages), "on the calling thread"),
        (f"page of {LIMIT} at half the depth, p50 ms", statistics.median(deep), "<= 1"),
        ("first page after opening, cold, ms", cold, "<= 100"),
        ("hash prefix, p50 ms", statistics.median(find_times), "<= 1"),
        ("one entry, p50 ms", statistics.median(entry_times), ""),
        ("clean open, p50 ms", statistics.median(opened), "<= 300"),
    ]


async def compare_with_peers(
    folder: Path, others: list[ReferenceDatabase], outputs: list[Content]
) -> list[Figure]:
    """Measure puts and verified reads when all sides have as many entries."""
    store = await LevelDbStore.open(folder / "ours", WORKSPACE)
    figures = await durable_puts(store, others, seed=5)
    figures += await repeated_puts(store, others[MINIMAL], outputs[:PER_ROUND])
    await store.close()
    return figures + await verified_reads(folder / "ours", others, random.Random(3).sample(outputs, 1000))


async def scale(folder: Path, entries: int) -> list[Figure]:
    others = open_reference_databases(folder)
    try:
        peer, outputs = await build(folder, entries, others)
        figures = await listing(folder, entries, peer)
        peer.close()
        return figures + await compare_with_peers(folder, others, outputs)
    finally:
        for other in others:
            other.close()


def _entries(peer: sqlite3.Connection, query: str) -> list[CacheEntry]:
    return [
        CacheEntry(created, created, size, size, tokens, tool, target, line, "output", digest=digest)
        for digest, created, size, tokens, tool, target, line in peer.execute(query)
    ]


async def depth(store: LevelDbStore, entries: int) -> str:
    """The cursor behind so many entries."""
    cursor = ""
    for _ in range(0, entries, 5000):
        cursor = (await store.page(cursor, 5000)).cursor
    return cursor


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def idle(folder: Path) -> list[float]:
    """Return the megabytes of one of many open workspaces: just opened, and after some reads and writes."""
    names = [folder / str(number) for number in range(WORKSPACES)]
    for name in names:
        store = await LevelDbStore.open(name, WORKSPACE)
        await store.commit(Commit("s", contents=[short(number) for number in range(ENTRIES_PER_WORKSPACE)]))
        await store.close()
    warm = await LevelDbStore.open(folder / "warm", WORKSPACE)
    await warm.commit(Commit("s", contents=[short(1)]))
    gc.collect()
    before = resident()
    stores = [await LevelDbStore.open(name, WORKSPACE) for name in names]
    await asyncio.gather(*(store.page() for store in stores))
    opened = (resident() - before) / WORKSPACES / 1e6
    for store in stores:
        await store.commit(Commit("s", contents=[short(ENTRIES_PER_WORKSPACE)]))
        await store.get(short(1).digest)
    used = (resident() - before) / WORKSPACES / 1e6
    for store in [*stores, warm]:
        await store.close()
    return [opened, used]


def memory(folder: Path) -> list[Figure]:
    """Measure the memory of open workspaces, in its own process."""
    if not Path("/proc/self/statm").exists():
        return []
    line = [sys.executable, __file__, "idle", str(folder)]
    output = subprocess.run(line, capture_output=True, check=True).stdout
    opened, used = json.loads(output)
    return [
        (f"each of {WORKSPACES} open workspaces, MB", opened, "<= 2"),
        (f"each of {WORKSPACES} after a put and a read, MB", used, "<= 2"),
    ]


def main(sizes: Sequence[int] = SIZES) -> list[Figure]:
    figures = []
    for entries in sizes:
        with tempfile.TemporaryDirectory(prefix="bench-store-scale-") as folder:
            figures += [
                (f"{entries:,} entries: {name}", value, target)
                for name, value, target in asyncio.run(scale(Path(folder), entries))
            ]
    with tempfile.TemporaryDirectory(prefix="bench-store-scale-") as folder:
        return figures + memory(Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["idle"]:
        sys.stdout.write(json.dumps(asyncio.run(idle(Path(sys.argv[2])))))
        sys.exit()
    for name, value, target in main([int(size) for size in sys.argv[1:]] or SIZES):
        sys.stdout.write(f"{name:75s} {value:8.2f}   {target}\n")
