"""Rounds in which the store and other databases take turns on the same payloads, and the figures they give.

Payloads are outputs of tools: code, search results, logs and listings, from what every Python has. All sides
put the same bytes under the same keys and sync every write. The peers store the bytes unchanged, on the
calling thread; the store hashes, packs, indexes and verifies them on its own threads. The minimum that its
guarantees cost is measured too:
"the least" does SHA-256, zstd and a put, nothing else, on the calling thread; "the least, awaited" asks
another thread for the same, because the window's own must not wait for a disk.

Both sides of a ratio take turns and its median over the rounds counts, so that a noisy machine is noisy to
both.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.files import Quarantine
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.opening import OpenFiles, open_files
from helix_desktop.store.threads import LoopBridge, ReaderThreads
from tests.support.store.builders import WORKSPACE
from tests.support.store.reference_databases import ReferenceDatabase

ROUNDS = 9
PER_ROUND = 192
PRODUCERS = 32
GROUPS = {1: ">= 0.80", 16: ">= 0.75", 64: ">= 0.50"}
RAW = 0  # index of raw LevelDB among the peers
MINIMAL = 1  # index of the minimum among them

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
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def ratio(pairs: Sequence[tuple[Work, Work]]) -> float:
    """The median of base time over our time."""
    ratios = []
    for number, (base, ours) in enumerate(pairs):
        if number % 2:
            our_s = await seconds(ours)
            base_s = await seconds(base)
        else:
            base_s = await seconds(base)
            our_s = await seconds(ours)
        ratios.append(base_s / our_s)
    return statistics.median(ratios)


class AwaitedPeer:
    """A peer called through another thread, as the event loop must call a disk."""

    def __init__(self, peer: ReferenceDatabase) -> None:
        self._peer = peer
        self._threads = ReaderThreads("bench-peer")
        self._delivery = LoopBridge(asyncio.get_running_loop())

    async def write(self, outputs: list[Content], size: int) -> None:
        for at in range(0, len(outputs), size):
            part = outputs[at : at + size]
            await self._threads.submit_async(self._delivery, partial(self._peer.write, part))

    async def read(self, outputs: list[Content]) -> None:
        for output in outputs:
            await self._threads.submit_async(self._delivery, partial(self._peer.read, output.digest))

    async def hash(self, outputs: list[Content], size: int) -> None:
        """SHA-256 of every payload, `size` at a time, each such group awaited."""
        for at in range(0, len(outputs), size):
            await self._threads.submit_async(self._delivery, partial(_hash, outputs[at : at + size]))

    def close(self) -> None:
        self._threads.close()


async def peer_writes(peer: ReferenceDatabase, outputs: list[Content], size: int) -> None:
    """Synced writes of `size` values, one after the other."""
    for at in range(0, len(outputs), size):
        peer.write(outputs[at : at + size])


async def commits(store: LevelDbStore, outputs: list[Content], size: int) -> None:
    for at in range(0, len(outputs), size):
        await store.commit(Commit("s", contents=outputs[at : at + size]))


async def producers(store: LevelDbStore, outputs: list[Content], count: int = PRODUCERS) -> None:
    """Many callers at once, each with one content at a time."""
    await asyncio.gather(*(commits(store, outputs[start::count], 1) for start in range(count)))


async def hashes(outputs: list[Content]) -> None:
    _hash(outputs)


def _hash(outputs: list[Content]) -> None:
    for output in outputs:
        digest_of(output.data)


async def peer_reads(peer: ReferenceDatabase, outputs: list[Content]) -> None:
    for output in outputs:
        peer.read(output.digest)


async def reads(store: LevelDbStore, outputs: list[Content]) -> None:
    for output in outputs:
        await store.get(output.digest)


async def reads_at_once(store: LevelDbStore, outputs: list[Content]) -> None:
    """Every payload, verified, as fast as the readers go."""
    await asyncio.gather(*(store.get(output.digest) for output in outputs))


async def reads_inside(files: OpenFiles, outputs: list[Content]) -> None:
    """Read every payload, verified, on the calling thread, like a reader thread."""
    contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
    for output in outputs:
        files.database.read(partial(contents.read, digest=output.digest))


async def fresh(source: Iterator[bytes], base: Side, ours: Side) -> float:
    """The ratio of two sides that get new payloads in every round."""
    return await ratio([(partial(base, some(source)), partial(ours, some(source))) for _ in range(ROUNDS)])


async def durable_puts(store: LevelDbStore, others: list[ReferenceDatabase], seed: int = 1) -> list[Figure]:
    """Durable writes, alone, in groups and from many callers; the targets are against raw LevelDB."""
    source = tool_outputs(seed)
    raw = others[RAW]
    alone = [await seconds(partial(peer_writes, raw, some(source), 1)) for _ in range(3)]
    figures = [("one raw synced put, ms", statistics.median(alone) / PER_ROUND * 1000, "what the disk takes")]
    for size, target in GROUPS.items():
        ours = partial(commits, store, size=size)
        put = "durable put" if size == 1 else f"group of {size}"
        for peer in others:
            target_text = target if peer is raw else "one thread, inline"
            side = partial(peer_writes, peer, size=size)
            figures.append((f"{put} / {peer.name}", await fresh(source, side, ours), target_text))
        figures += await _minimal(source, others, ours, size, put)
    many = partial(producers, store)
    for peer in others[: MINIMAL + 1]:
        target_text = ">= 10" if peer is raw else "one thread, inline"
        figure = await fresh(source, partial(peer_writes, peer, size=1), many)
        figures.append((f"{PRODUCERS} producers / synced puts of {peer.name}", figure, target_text))
    against_own = await fresh(source, partial(commits, store, size=1), many)
    return [*figures, (f"{PRODUCERS} producers / our puts one by one", against_own, "")]


async def _minimal(
    source: Iterator[bytes], others: list[ReferenceDatabase], ours: Side, size: int, put: str
) -> list[Figure]:
    """Measure the minimum that the guarantees cost, and our side against it."""
    if len(others) <= MINIMAL:
        return []
    raw = partial(peer_writes, others[RAW], size=size)
    awaited = AwaitedPeer(others[MINIMAL])
    try:
        return [
            (
                f"the least / {others[RAW].name}, by {size}",
                await fresh(source, raw, partial(peer_writes, others[MINIMAL], size=size)),
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


async def repeated_puts(
    store: LevelDbStore, minimal: ReferenceDatabase, outputs: list[Content], size: int = 16
) -> list[Figure]:
    await commits(store, outputs, size)
    base = partial(hashes, outputs)
    awaited = AwaitedPeer(minimal)
    try:
        ours = await ratio([(base, partial(commits, store, outputs, size))] * ROUNDS)
        bare = await ratio([(base, partial(awaited.hash, outputs, size))] * ROUNDS)
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
    alone = [await seconds(partial(reads_inside, files, [content])) * 1000 for content in sample]
    files.close()
    store = await LevelDbStore.open(folder, WORKSPACE)
    awaited = AwaitedPeer(others[MINIMAL])
    single = [await seconds(partial(store.get, content.digest)) * 1000 for content in sample]
    minimal = [await seconds(partial(awaited.read, [content])) * 1000 for content in sample]
    hashed = [await seconds(partial(hashes, [content])) * 1000 for content in sample]

    async def per(base: Work, ours: Work) -> float:
        return await ratio([(base, ours)] * ROUNDS)

    sequential = partial(reads, store, sample)
    at_once = partial(reads_at_once, store, sample)
    figures = [
        ("SHA-256 of one content, p50 ms", statistics.median(hashed), "the floor of a verified read"),
        ("verified read / SHA-256, in the reader", inside, ">= 0.25"),
        ("verified read / SHA-256, one by one", await per(raw, sequential), ">= 0.25"),
        ("verified read / SHA-256, at once", await per(raw, at_once), ">= 0.25"),
        ("verified read in the reader, p50 ms", statistics.median(alone), "<= 0.05"),
        ("verified read through the event loop, p50 ms", statistics.median(single), "<= 0.05"),
        ("the least, awaited, verified read, p50 ms", statistics.median(minimal), "as the window must"),
    ]
    for peer in others:
        target_text = "verified" if peer is others[MINIMAL] else "unchecked"
        figure = await per(partial(peer_reads, peer, sample), sequential)
        figures.append((f"verified read / {peer.name}", figure, target_text))
    awaited.close()
    await store.close()
    return figures


STDLIB_DIR = Path(statistics.__file__).parent
# Sizes are log-normal: half are below 8 KB, the mean is 15 KB.
_LOG_MEDIAN = 9.0
_LOG_SIGMA = 1.2
_MIN_BYTES = 1024
_MAX_BYTES = 200_000


@cache
def _source_files() -> tuple[tuple[str, str], ...]:
    paths = sorted(STDLIB_DIR.glob("*.py")) + sorted(STDLIB_DIR.glob("asyncio/*.py"))
    return tuple(
        (path.relative_to(STDLIB_DIR).as_posix(), path.read_text(encoding="utf-8")) for path in paths
    )


@cache
def source_code() -> bytes:
    return "\n".join(text for _, text in _source_files()).encode()


@cache
def search_results() -> bytes:
    words = ("def ", "import ", "raise ", "self.")
    lines = (
        f"{name}:{number}:{line}"
        for word in words
        for name, text in _source_files()
        for number, line in enumerate(text.splitlines(), 1)
        if word in line
    )
    return "\n".join(lines).encode()


@cache
def build_log() -> bytes:
    """Return a build log: the interpreter's own account of its imports."""
    line = [
        sys.executable,
        "-v",
        "-c",
        "import asyncio, json, unittest, http.server, xml.dom.minidom, sqlite3",
    ]
    return subprocess.run(line, capture_output=True, check=True).stderr


@cache
def directory_listing() -> bytes:
    """Names, sizes and times, as `ls -lR` prints them."""
    rows = [
        f"{path.stat().st_size:>9} {path.stat().st_mtime:.0f} {path}"
        for path in sorted(STDLIB_DIR.rglob("*.py"))
    ]
    return "\n".join(rows).encode()


def tool_outputs(seed: int) -> Iterator[bytes]:
    """Endless outputs: half code, the rest search results, logs and listings; no two are the same."""
    rng = random.Random(seed)
    kinds = (source_code, search_results, build_log, directory_listing)
    for number in range(10**9):
        pool = rng.choices(kinds, (50, 25, 15, 10))[0]()
        size = int(
            min(_MAX_BYTES, len(pool) - 1, max(_MIN_BYTES, rng.lognormvariate(_LOG_MEDIAN, _LOG_SIGMA)))
        )
        at = rng.randrange(len(pool) - size)
        yield b"$ read --call %d.%d\n" % (seed, number) + pool[at : at + size]
