"""Rounds in which the store and other databases take turns on the same payloads, and the figures they give.

Payloads are outputs of tools (tests/support/tool_outputs.py). All sides put the same bytes under the same
keys and sync every write. The peers keep the bytes as they are, on the calling thread; the store hashes,
packs, indexes and verifies them on threads of its own. What its promises take at the least stands beside it:
"the least" does SHA-256, zstd and a put, nothing else, on the calling thread; "the least, awaited" asks
another thread for the same, because the window's own must not wait for a disk.

Both sides of a ratio take turns and its median over the rounds counts, so that a noisy machine is noisy to
both.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.files.quarantine import Quarantine
from helix_desktop.store.leveldb.contents import ContentStore
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.open.open_files import OpenFiles, open_files
from helix_desktop.store.threads.loop_bridge import LoopBridge
from helix_desktop.store.threads.reader_threads import ReaderThreads
from tests.support.store.builders import WORKSPACE
from tests.support.store.reference_databases import ReferenceDatabase
from tests.support.tool_outputs import tool_outputs

ROUNDS = 9
PER_ROUND = 192
PRODUCERS = 32
GROUPS = {1: ">= 0.80", 16: ">= 0.75", 64: ">= 0.50"}
RAW, LEAST = 0, 1  # where raw LevelDB and the least stand among the peers

Figure = tuple[str, float, str]
Work = Callable[[], Awaitable[object]]
Side = Callable[[list[Content]], Awaitable[object]]


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


async def ratio(pairs: Sequence[tuple[Work, Work]]) -> float:
    """The median of base time over our time."""
    found = []
    for number, (base, ours) in enumerate(pairs):
        if number % 2:
            our_s, base_s = await seconds(ours), await seconds(base)
        else:
            base_s, our_s = await seconds(base), await seconds(ours)
        found.append(base_s / our_s)
    return statistics.median(found)


class Awaited:
    """A peer that is asked through another thread, as the event loop must ask a disk."""

    def __init__(self, peer: ReferenceDatabase) -> None:
        self._peer = peer
        self._threads = ReaderThreads("bench-peer")
        self._delivery = LoopBridge(asyncio.get_running_loop())

    async def write(self, made: list[Content], size: int) -> None:
        """Synced writes of `size` values, each awaited."""
        for at in range(0, len(made), size):
            part = made[at : at + size]
            await self._threads.submit_async(self._delivery, partial(self._peer.write, part))

    async def read(self, made: list[Content]) -> None:
        """Every payload, each awaited."""
        for one in made:
            await self._threads.submit_async(self._delivery, partial(self._peer.read, one.digest))

    async def hash(self, made: list[Content], size: int) -> None:
        """SHA-256 of every payload, `size` at a time, each such group awaited."""
        for at in range(0, len(made), size):
            await self._threads.submit_async(self._delivery, partial(_hash, made[at : at + size]))

    def close(self) -> None:
        """End the threads."""
        self._threads.close()


async def peer_writes(peer: ReferenceDatabase, made: list[Content], size: int) -> None:
    """Synced writes of `size` values, one after the other."""
    for at in range(0, len(made), size):
        peer.write(made[at : at + size])


async def commits(store: LevelDbStore, made: list[Content], size: int) -> None:
    """Commits of `size` contents, one after the other."""
    for at in range(0, len(made), size):
        await store.commit(Commit("s", contents=made[at : at + size]))


async def producers(store: LevelDbStore, made: list[Content], count: int = PRODUCERS) -> None:
    """Many callers at once, each with one content at a time."""
    await asyncio.gather(*(commits(store, made[start::count], 1) for start in range(count)))


async def hashes(made: list[Content]) -> None:
    """SHA-256 of every payload."""
    _hash(made)


def _hash(made: list[Content]) -> None:
    for one in made:
        digest_of(one.data)


async def peer_reads(peer: ReferenceDatabase, made: list[Content]) -> None:
    """Every payload."""
    for one in made:
        peer.read(one.digest)


async def reads(store: LevelDbStore, made: list[Content]) -> None:
    """Every payload, verified, one after the other."""
    for one in made:
        await store.get(one.digest)


async def reads_at_once(store: LevelDbStore, made: list[Content]) -> None:
    """Every payload, verified, as fast as the readers go."""
    await asyncio.gather(*(store.get(one.digest) for one in made))


async def reads_inside(files: OpenFiles, made: list[Content]) -> None:
    """Every payload, verified, on the calling thread: what a reader thread does."""
    contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
    for one in made:
        files.database.read(partial(contents.read, digest=one.digest))


async def fresh(source: Iterator[bytes], base: Side, ours: Side) -> float:
    """The ratio of two sides that get new payloads in every round."""
    return await ratio([(partial(base, some(source)), partial(ours, some(source))) for _ in range(ROUNDS)])


async def durable_puts(store: LevelDbStore, others: list[ReferenceDatabase], seed: int = 1) -> list[Figure]:
    """Durable writes, alone, in groups and from many callers; the targets are against raw LevelDB."""
    source, raw = tool_outputs(seed), others[RAW]
    alone = [await seconds(partial(peer_writes, raw, some(source), 1)) for _ in range(3)]
    figures = [("one raw synced put, ms", statistics.median(alone) / PER_ROUND * 1000, "what the disk takes")]
    for size, target in GROUPS.items():
        ours = partial(commits, store, size=size)
        put = "durable put" if size == 1 else f"group of {size}"
        for peer in others:
            said = target if peer is raw else "one thread, inline"
            side = partial(peer_writes, peer, size=size)
            figures.append((f"{put} / {peer.name}", await fresh(source, side, ours), said))
        figures += await _least(source, others, ours, size, put)
    many = partial(producers, store)
    for peer in others[: LEAST + 1]:
        said = ">= 10" if peer is raw else "one thread, inline"
        figure = await fresh(source, partial(peer_writes, peer, size=1), many)
        figures.append((f"{PRODUCERS} producers / synced puts of {peer.name}", figure, said))
    against_own = await fresh(source, partial(commits, store, size=1), many)
    return [*figures, (f"{PRODUCERS} producers / our puts one by one", against_own, "")]


async def _least(
    source: Iterator[bytes], others: list[ReferenceDatabase], ours: Side, size: int, put: str
) -> list[Figure]:
    """What the promises take at the least, and our side against it."""
    if len(others) <= LEAST:
        return []
    raw = partial(peer_writes, others[RAW], size=size)
    awaited = Awaited(others[LEAST])
    try:
        return [
            (
                f"the least / {others[RAW].name}, by {size}",
                await fresh(source, raw, partial(peer_writes, others[LEAST], size=size)),
                "one thread, inline",
            ),
            (
                f"the least, awaited / {others[RAW].name}, by {size}",
                await fresh(source, raw, partial(awaited.write, size=size)),
                "as the window must",
            ),
            (
                f"{put} / the least, awaited",
                await fresh(source, partial(awaited.write, size=size), ours),
                "what all the rest costs",
            ),
        ]
    finally:
        awaited.close()


async def known_puts(
    store: LevelDbStore, least: ReferenceDatabase, known: list[Content], size: int = 16
) -> list[Figure]:
    """Puts of what is stored."""
    await commits(store, known, size)
    base, awaited = partial(hashes, known), Awaited(least)
    try:
        ours = await ratio([(base, partial(commits, store, known, size))] * ROUNDS)
        bare = await ratio([(base, partial(awaited.hash, known, size))] * ROUNDS)
    finally:
        awaited.close()
    return [
        ("put of existing content / SHA-256", ours, ">= 0.70"),
        (f"SHA-256 of {size} at a time, awaited / SHA-256", bare, "the most that can be had"),
    ]


async def verified_reads(
    folder: Path, others: list[ReferenceDatabase], sample: list[Content]
) -> list[Figure]:
    """Verified reads from the closed store in `folder`, which is opened for it."""
    raw = partial(hashes, sample)
    files = open_files(folder, WORKSPACE)
    inside = await ratio([(raw, partial(reads_inside, files, sample))] * ROUNDS)
    alone = [await seconds(partial(reads_inside, files, [one])) * 1000 for one in sample]
    files.close()
    store, awaited = await LevelDbStore.open(folder, WORKSPACE), Awaited(others[LEAST])
    single = [await seconds(partial(store.get, one.digest)) * 1000 for one in sample]
    least = [await seconds(partial(awaited.read, [one])) * 1000 for one in sample]
    hashed = [await seconds(partial(hashes, [one])) * 1000 for one in sample]

    async def per(base: Work, ours: Work) -> float:
        return await ratio([(base, ours)] * ROUNDS)

    one_by_one, at_once = partial(reads, store, sample), partial(reads_at_once, store, sample)
    figures = [
        ("SHA-256 of one content, p50 ms", statistics.median(hashed), "the floor of a verified read"),
        ("verified read / SHA-256, in the reader", inside, ">= 0.25"),
        ("verified read / SHA-256, one by one", await per(raw, one_by_one), ">= 0.25"),
        ("verified read / SHA-256, at once", await per(raw, at_once), ">= 0.25"),
        ("verified read in the reader, p50 ms", statistics.median(alone), "<= 0.05"),
        ("verified read through the event loop, p50 ms", statistics.median(single), "<= 0.05"),
        ("the least, awaited, verified read, p50 ms", statistics.median(least), "as the window must"),
    ]
    for peer in others:
        said = "verified" if peer is others[LEAST] else "unchecked"
        figure = await per(partial(peer_reads, peer, sample), one_by_one)
        figures.append((f"verified read / {peer.name}", figure, said))
    awaited.close()
    await store.close()
    return figures
