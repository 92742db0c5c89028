"""The durable store against other databases and plain SHA-256, on the same payloads in the same run.

Payloads are outputs of tools (tests/support/tool_outputs.py). All sides put the same bytes under the same
keys and sync every write. The peers keep the bytes as they are, on the calling thread; the store hashes,
packs, indexes and verifies them on threads of its own; what hashing and packing alone cost a single thread
without an event loop stands beside it as "the least". Both sides of a ratio take turns and its median over
the rounds counts, so that a noisy machine is noisy to both. Where the disk takes a synced put in a tenth of a
millisecond the ratios measure SHA-256, zstd and the way to another thread; so with a C compiler there are
also ratios on a disk that is slowed down by 2 ms a sync. As a script, `bench_store.py torture 100` kills a
writing process a hundred times.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.context.content import Content
from helix_desktop.context.digest import digest_of
from helix_desktop.store.content import Contents
from helix_desktop.store.leveldb import LevelStore
from helix_desktop.store.opening import Files, open_files
from helix_desktop.store.quarantine import Quarantine
from tests.support.disk_peers import Peer, RawLevelDb, peers
from tests.support.store_killing import check_acknowledged, check_rows_agree, kill_a_writer
from tests.support.store_making import WORKSPACE
from tests.support.tool_outputs import tool_outputs

ROUNDS = 9
PER_ROUND = 192
ENTRIES = 10_000
PRODUCERS = 32
SLOWER_US = 2_000
GROUPS = {1: ">= 0.80", 16: ">= 0.75", 64: ">= 0.50"}

SLOW_SYNC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static int slow(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    usleep(atoi(getenv("HELIX_BENCH_SLOWER_US")));
    return real(fd);
}
int fdatasync(int fd) { return slow("fdatasync", fd); }
int fsync(int fd) { return slow("fsync", fd); }
"""

Figure = tuple[str, float, str]
Work = Callable[[], Awaitable[object]]


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


async def peer_writes(peer: Peer, made: list[Content], size: int) -> None:
    """Synced writes of `size` values, one after the other."""
    for at in range(0, len(made), size):
        peer.write(made[at : at + size])


async def commits(store: LevelStore, made: list[Content], size: int) -> None:
    """Commits of `size` contents, one after the other."""
    for at in range(0, len(made), size):
        await store.commit("s", contents=made[at : at + size])


async def producers(store: LevelStore, made: list[Content], count: int = PRODUCERS) -> None:
    """Many callers at once, each with one content at a time."""
    await asyncio.gather(*(commits(store, made[start::count], 1) for start in range(count)))


async def hashes(made: list[Content]) -> None:
    """SHA-256 of every payload."""
    for one in made:
        digest_of(one.data)


async def peer_reads(peer: Peer, made: list[Content]) -> None:
    """Every payload."""
    for one in made:
        peer.read(one.digest)


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


async def writing(store: LevelStore, others: list[Peer]) -> list[Figure]:
    """Durable writes, alone, in groups and from many callers; the targets are against raw LevelDB."""
    source = tool_outputs(1)
    alone = [await seconds(partial(peer_writes, others[0], some(source), 1)) for _ in range(3)]
    figures = [("one raw synced put, ms", statistics.median(alone) / PER_ROUND * 1000, "what the disk takes")]
    for size, target in GROUPS.items():
        for peer in others:
            pairs: list[tuple[Work, Work]] = [
                (partial(peer_writes, peer, some(source), size), partial(commits, store, some(source), size))
                for _ in range(ROUNDS)
            ]
            name = f"{'durable put' if size == 1 else f'group of {size}'} / {peer.name}"
            figures.append((name, await ratio(pairs), target if peer is others[0] else "one thread, inline"))
        if len(others) > 1:
            least: list[tuple[Work, Work]] = [
                (
                    partial(peer_writes, others[0], some(source), size),
                    partial(peer_writes, others[1], some(source), size),
                )
                for _ in range(ROUNDS)
            ]
            name = f"the least: {others[1].name} / {others[0].name}, by {size}"
            figures.append((name, await ratio(least), "one thread, inline"))
    for peer in others[:2]:
        pairs = [
            (partial(peer_writes, peer, some(source), 1), partial(producers, store, some(source)))
            for _ in range(ROUNDS)
        ]
        said = ">= 10" if peer is others[0] else "one thread, inline"
        figures.append((f"{PRODUCERS} producers / synced puts of {peer.name}", await ratio(pairs), said))
    against_own: list[tuple[Work, Work]] = [
        (partial(commits, store, some(source), 1), partial(producers, store, some(source)))
        for _ in range(ROUNDS)
    ]
    figures.append((f"{PRODUCERS} producers / our puts one by one", await ratio(against_own), ""))
    return figures


async def writing_again(store: LevelStore) -> list[Figure]:
    """Puts of what is stored."""
    known = some(tool_outputs(4))
    await commits(store, known, 16)
    pairs: list[tuple[Work, Work]] = [(partial(hashes, known), partial(commits, store, known, 16))] * ROUNDS
    return [("put of existing content / SHA-256", await ratio(pairs), ">= 0.70")]


async def stalls(store: LevelStore) -> list[Figure]:
    """How late the event loop comes back to a task while many callers write."""
    late: list[float] = []
    over = asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append((time.perf_counter() - start) * 1000 - 1)

    async def write() -> None:
        source = tool_outputs(5)
        for _ in range(ROUNDS):
            await producers(store, await asyncio.to_thread(some, source))
        over.set()

    await asyncio.gather(beat(), write())
    return [
        ("event loop comes late while they write, p99 ms", statistics.quantiles(late, n=100)[98], "<= 10")
    ]


async def reading(folder: Path) -> list[Figure]:
    """Verified reads, and room on the disk, at ENTRIES entries."""
    store = await LevelStore.open(folder / "ours", WORKSPACE)
    made = some(tool_outputs(2), ENTRIES)
    others = peers(folder)
    for at in range(0, ENTRIES, 64):
        await store.commit("s", contents=made[at : at + 64])
        for peer in others:
            peer.write(made[at : at + 64])
    await store.close()
    stored = sum(path.stat().st_size for path in (folder / "ours" / "db").iterdir())
    sample = random.Random(3).sample(made, 1000)
    raw = partial(hashes, sample)
    files = open_files(folder / "ours", WORKSPACE)
    inside = await ratio([(raw, partial(reads_inside, files, sample))] * ROUNDS)
    alone = [await seconds(partial(reads_inside, files, [one])) * 1000 for one in sample]
    files.close()
    store = await LevelStore.open(folder / "ours", WORKSPACE)
    single = [await seconds(partial(store.get, one.digest)) * 1000 for one in sample]
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
    ]
    for peer in others:
        said = "verified" if peer is others[1] else "unchecked"
        figures.append(
            (f"verified read / {peer.name}", await per(partial(peer_reads, peer, sample), one_by_one), said)
        )
        peer.close()
    figures.append(("disk / raw bytes", stored / sum(len(one.data) for one in made), "<= 0.30"))
    await store.close()
    return figures


async def measure(folder: Path) -> list[Figure]:
    """All figures on the disk as it is."""
    store, others = await LevelStore.open(folder / "ours", WORKSPACE), peers(folder)
    try:
        figures = await writing(store, others) + await writing_again(store) + await stalls(store)
    finally:
        await store.close()
        for peer in others:
            peer.close()
    (folder / "read").mkdir()
    return figures + await reading(folder / "read")


async def measure_slowly(folder: Path) -> list[Figure]:
    """What writing is like on a slow disk."""
    store, raw = await LevelStore.open(folder / "ours", WORKSPACE), RawLevelDb(folder / "raw")
    try:
        return await writing(store, [raw])
    finally:
        await store.close()
        raw.close()


def slowed(folder: Path) -> list[Figure]:
    """The figures of `measure_slowly` from a process whose syncs take longer; none without a C compiler."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return []
    source, shim, answer = folder / "slow.c", folder / "slow.so", folder / "slow.json"
    source.write_text(SLOW_SYNC, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    environ = os.environ | {"LD_PRELOAD": str(shim), "HELIX_BENCH_SLOWER_US": str(SLOWER_US)}
    subprocess.run([sys.executable, __file__, "slow", str(folder), str(answer)], env=environ, check=True)
    figures = json.loads(answer.read_text(encoding="utf-8"))
    return [(f"slow disk: {name}", figure, unit) for name, figure, unit in figures]


def main() -> list[Figure]:
    """Name, value and target of each figure; takes about two minutes."""
    folder = Path(tempfile.mkdtemp(prefix="bench-store-"))
    try:
        (folder / "slow").mkdir()
        return asyncio.run(measure(folder)) + slowed(folder / "slow")
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
    if sys.argv[1:2] == ["slow"]:
        Path(sys.argv[3]).write_text(
            json.dumps(asyncio.run(measure_slowly(Path(sys.argv[2])))), encoding="utf-8"
        )
        sys.exit()
    if sys.argv[1:2] == ["torture"]:
        kills = int(sys.argv[2])
        sys.stdout.write(f"{kills} kills, {asyncio.run(torture(kills))} acknowledged commits, none lost\n")
        sys.exit()
    for name, value, target in main():
        sys.stdout.write(f"{name:55s} {value:8.2f}   {target}\n")
