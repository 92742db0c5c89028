"""The durable store against raw LevelDB and raw SHA-256, on the same payloads in the same run.

Run as a script for a table, or with `torture 100` to kill a writing process a hundred times. Payloads are
slices of Python's own library, log-normal around 8 KB. Both sides of a ratio take turns and its median over
the rounds counts, so that a noisy machine is noisy to both. What a synced put costs is printed too: where a
disk takes it in a tenth of a millisecond, the ratios to raw LevelDB measure SHA-256, zstd and the way to
another thread instead of the disk.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import plyvel
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of
from helix_desktop.store.content import Contents
from helix_desktop.store.leveldb import LevelStore
from helix_desktop.store.opening import Files, open_files
from helix_desktop.store.quarantine import Quarantine
from tests.support.store_killing import check_acknowledged, check_rows_agree, kill_a_writer
from tests.support.store_making import WORKSPACE

ROUNDS = 9
PER_ROUND = 192
ENTRIES = 10_000

Figure = tuple[str, float, str]
Work = Callable[[], Awaitable[object]]
Store = Callable[[plyvel.DB, list[Content], int], Awaitable[object]]


def payloads(seed: int) -> Iterator[bytes]:
    """Code as an agent reads it, each with a line of its own so that none is stored already."""
    library = Path(statistics.__file__).parent
    pool = b"\n".join(path.read_bytes() for path in sorted(library.glob("*.py")))
    rnd = random.Random(seed)
    for number in range(10**9):
        size = int(min(200_000, max(1024, rnd.lognormvariate(9.0, 1.2))))
        at = rnd.randrange(len(pool) - size)
        yield b"$ read --call %d.%d\n" % (seed, number) + pool[at : at + size]


def some(source: Iterator[bytes], count: int = PER_ROUND) -> list[Content]:
    """The next payloads as the agent hands them over: it has made the digest already."""
    return [
        Content(digest_of(data), data, "read_file", "src/app.py", "import os", len(data) // 4)
        for data in islice(source, count)
    ]


async def seconds(work: Work) -> float:
    """How long it takes."""
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def raw_batches(db: plyvel.DB, made: list[Content], size: int) -> None:
    """Synced writes of `size` values as they are."""
    for at in range(0, len(made), size):
        batch = db.write_batch(sync=True)
        for one in made[at : at + size]:
            batch.put(bytes.fromhex(one.digest), one.data)
        batch.write()


async def addressed_batches(db: plyvel.DB, made: list[Content], size: int) -> None:
    """The least that keeping promises takes: SHA-256, zstd, synced writes."""
    pack = zstandard.ZstdCompressor(level=1)
    for at in range(0, len(made), size):
        batch = db.write_batch(sync=True)
        for one in made[at : at + size]:
            batch.put(bytes.fromhex(digest_of(one.data)), pack.compress(one.data))
        batch.write()


async def commits(store: LevelStore, made: list[Content], size: int) -> None:
    """Commits of `size` contents, one after the other."""
    for at in range(0, len(made), size):
        await store.commit("s", contents=made[at : at + size])


async def producers(store: LevelStore, made: list[Content], size: int, count: int) -> None:
    """Many callers at once, each with `size` contents at a time."""
    await asyncio.gather(*(commits(store, made[start::count], size) for start in range(count)))


async def hashes(made: list[Content]) -> None:
    """SHA-256 of every payload."""
    for one in made:
        digest_of(one.data)


async def reads(store: LevelStore, made: list[Content]) -> None:
    """Every payload, verified, one after the other."""
    for one in made:
        await store.get(one.digest)


async def reads_at_once(store: LevelStore, made: list[Content]) -> None:
    """Every payload, verified, as fast as the readers go."""
    await asyncio.gather(*(store.get(one.digest) for one in made))


async def reads_inside(files: Files, made: list[Content]) -> None:
    """Every payload, verified, on the calling thread: what a reader thread does."""
    contents = Contents(files.handle, files.codec, Quarantine(files.layout.quarantine))
    for one in made:
        files.handle.read(partial(contents.read, digest=one.digest))


async def ratio(pairs: list[tuple[Work, Work]]) -> float:
    """The median of base time over our time."""
    found = []
    for number, (base, ours) in enumerate(pairs):
        if number % 2:
            our_s, base_s = await seconds(ours), await seconds(base)
        else:
            base_s, our_s = await seconds(base), await seconds(ours)
        found.append(base_s / our_s)
    return statistics.median(found)


async def writing(store: LevelStore, db: plyvel.DB) -> list[Figure]:
    """Durable writes, alone, in groups and from many callers."""
    source = payloads(1)

    def against(base: Store, size: int, callers: int = 1) -> list[tuple[Work, Work]]:
        return [
            (partial(base, db, some(source), size), partial(producers, store, some(source), size, callers))
            for _ in range(ROUNDS)
        ]

    known = some(source)
    alone = [await seconds(partial(raw_batches, db, some(source), 1)) for _ in range(3)]
    await commits(store, known, 16)
    again: list[tuple[Work, Work]] = [(partial(hashes, known), partial(commits, store, known, 16))] * ROUNDS
    return [
        ("one raw synced put, ms", statistics.median(alone) / PER_ROUND * 1000, "what the disk takes"),
        ("durable put / raw synced put", await ratio(against(raw_batches, 1)), ">= 0.80"),
        (
            "durable put / raw put with SHA-256 and zstd",
            await ratio(against(addressed_batches, 1)),
            ">= 0.80",
        ),
        ("group of 16 / raw synced batch", await ratio(against(raw_batches, 16)), ">= 0.75"),
        (
            "group of 16 / raw batch with SHA-256 and zstd",
            await ratio(against(addressed_batches, 16)),
            ">= 0.75",
        ),
        ("group of 64 / raw synced batch", await ratio(against(raw_batches, 64)), ">= 0.50"),
        ("32 producers / raw synced puts", await ratio(against(raw_batches, 1, 32)), ">= 10"),
        ("put of existing content / SHA-256", await ratio(again), ">= 0.70"),
    ]


async def reading(folder: Path) -> list[Figure]:
    """Verified reads, pages and opening, at ENTRIES entries."""
    store = await LevelStore.open(folder, WORKSPACE)
    made = some(payloads(2), ENTRIES)
    await commits(store, made, 64)
    await store.close()
    size = sum(len(one.data) for one in made)
    stored = sum(path.stat().st_size for path in (folder / "db").iterdir())
    opened = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        store = await LevelStore.open(folder, WORKSPACE)
        opened.append((time.perf_counter() - start) * 1000)
        await store.close()
    sample = random.Random(3).sample(made, 1000)
    raw = partial(hashes, sample)
    files = open_files(folder, WORKSPACE)
    inside = await ratio([(raw, partial(reads_inside, files, sample))] * ROUNDS)
    files.close()
    store = await LevelStore.open(folder, WORKSPACE)
    single = [await seconds(partial(store.get, one.digest)) * 1000 for one in sample]
    pages = [await seconds(store.page) * 1000 for _ in range(100)]
    middle = (await store.page(limit=ENTRIES // 2)).cursor
    deep = [await seconds(partial(store.page, middle)) * 1000 for _ in range(100)]
    figures = [
        ("verified read / SHA-256, in the reader", inside, ">= 0.25"),
        (
            "verified read / SHA-256, one by one",
            await ratio([(raw, partial(reads, store, sample))] * ROUNDS),
            ">= 0.25",
        ),
        (
            "verified read / SHA-256, at once",
            await ratio([(raw, partial(reads_at_once, store, sample))] * ROUNDS),
            ">= 0.25",
        ),
        ("verified read, p50 ms", statistics.median(single), "<= 0.05"),
        ("newest page of 200 at 10k, ms", statistics.median(pages), "<= 1"),
        ("page of 200 at depth 5k, ms", statistics.median(deep), "<= 1"),
        ("clean open at 10k, ms", statistics.median(opened), "<= 300"),
        ("disk / raw bytes", stored / size, "<= 0.30"),
    ]
    await store.close()
    return figures


async def measure(folder: Path) -> list[Figure]:
    """All figures."""
    db = plyvel.DB(
        str(folder / "raw"), create_if_missing=True, compression=None, write_buffer_size=16 * 1024 * 1024
    )
    store = await LevelStore.open(folder / "ours", WORKSPACE)
    try:
        written = await writing(store, db)
    finally:
        await store.close()
        db.close()
    return written + await reading(folder / "read")


def main() -> list[Figure]:
    """Name, value and target of each figure; takes about a minute."""
    folder = Path(tempfile.mkdtemp(prefix="bench-store-"))
    try:
        return asyncio.run(measure(folder))
    finally:
        shutil.rmtree(folder)


async def torture(rounds: int) -> int:
    """Kill a writing process `rounds` times and check what it had acknowledged; how many commits."""
    folder = Path(tempfile.mkdtemp(prefix="bench-store-"))
    count = 0
    try:
        for seed in range(rounds):
            acknowledged = kill_a_writer(folder, seed)
            store = await LevelStore.open(folder, WORKSPACE)
            count += await check_acknowledged(store, acknowledged)
            await store.close()
            check_rows_agree(folder)
        return count
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["torture"]:
        kills = int(sys.argv[2])
        sys.stdout.write(f"{kills} kills, {asyncio.run(torture(kills))} acknowledged commits, none lost\n")
        sys.exit()
    for name, value, target in main():
        sys.stdout.write(f"{name:50s} {value:8.2f}   {target}\n")
