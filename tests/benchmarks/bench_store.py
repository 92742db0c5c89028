"""The durable store against other databases and plain SHA-256, on the same payloads in the same run.

store_rounds.py explains how the sides take turns. Where the disk syncs a put in a tenth of a millisecond
the ratios measure SHA-256, zstd and the way to another thread; so with a C compiler there are also ratios
on a disk slowed down by 2 ms a sync. Where the processor has instructions for SHA-256 a repeated put
measures everything except SHA-256; so it is also measured without them.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.benchmarks.store_rounds import (
    MINIMAL,
    ROUNDS,
    Figure,
    durable_puts,
    producers,
    repeated_puts,
    some,
    tool_outputs,
    verified_reads,
)
from tests.support.store.builders import WORKSPACE
from tests.support.store.reference_databases import (
    ContentAddressedLevelDb,
    RawLevelDb,
    ReferenceDatabase,
    open_reference_databases,
)

ENTRIES = 10_000
SLOWER_US = 2_000
NO_SHA = ":~0x20000000"  # OpenSSL passes over a processor's instructions for SHA-256: bit 29 of cpuid 7, EBX

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


async def stalls(store: LevelDbStore) -> list[Figure]:
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


async def reading(folder: Path, others: list[ReferenceDatabase]) -> list[Figure]:
    """Measure verified reads, and space on the disk, at ENTRIES entries."""
    store = await LevelDbStore.open(folder, WORKSPACE)
    outputs = some(tool_outputs(2), ENTRIES)
    for at in range(0, ENTRIES, 64):
        await store.commit(Commit("s", contents=outputs[at : at + 64]))
        for peer in others:
            peer.write(outputs[at : at + 64])
    await store.close()
    stored = sum(path.stat().st_size for path in (folder / "db").iterdir())
    figures = await verified_reads(folder, others, random.Random(3).sample(outputs, 1000))
    return [*figures, ("disk / raw bytes", stored / sum(len(output.data) for output in outputs), "<= 0.30")]


async def measure(folder: Path) -> list[Figure]:
    store = await LevelDbStore.open(folder / "ours", WORKSPACE)
    others = open_reference_databases(folder)
    try:
        figures = await durable_puts(store, others)
        figures += await repeated_puts(store, others[MINIMAL], some(tool_outputs(4)))
        figures += await stalls(store)
        return figures + await reading(folder / "read", others)
    finally:
        await store.close()
        for peer in others:
            peer.close()


async def measure_slowly(folder: Path) -> list[Figure]:
    store = await LevelDbStore.open(folder / "ours", WORKSPACE)
    others: list[ReferenceDatabase] = [RawLevelDb(folder / "raw"), ContentAddressedLevelDb(folder / "least")]
    try:
        return await durable_puts(store, others)
    finally:
        await store.close()
        for peer in others:
            peer.close()


async def measure_hashing(folder: Path) -> list[Figure]:
    """Measure repeated puts: where SHA-256 is quick they measure all the rest."""
    store = await LevelDbStore.open(folder / "ours", WORKSPACE)
    minimal = ContentAddressedLevelDb(folder / "least")
    try:
        return await repeated_puts(store, minimal, some(tool_outputs(4)))
    finally:
        await store.close()
        minimal.close()


ELSEWHERE: dict[str, Callable[[Path], Coroutine[object, object, list[Figure]]]] = {
    "slow disk": measure_slowly,
    "SHA-256 in software": measure_hashing,
}


def elsewhere(name: str, folder: Path, added: dict[str, str]) -> list[Figure]:
    answer = folder / "answer.json"
    line = [sys.executable, __file__, name, str(folder), str(answer)]
    subprocess.run(line, env=os.environ | added, check=True)
    figures = json.loads(answer.read_text(encoding="utf-8"))
    return [(f"{name}: {what}", figure, unit) for what, figure, unit in figures]


def slowed(folder: Path) -> list[Figure]:
    """Measure writes with slower syncs; nothing without a C compiler."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return []
    source = folder / "slow.c"
    shim = folder / "slow.so"
    source.write_text(SLOW_SYNC, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    added = {"LD_PRELOAD": str(shim), "HELIX_BENCH_SLOWER_US": str(SLOWER_US)}
    return elsewhere("slow disk", folder, added)


def main() -> list[Figure]:
    """Return name, value and target of each figure; takes about four minutes."""
    folder = Path(tempfile.mkdtemp(prefix="bench-store-"))
    try:
        for name in ("slow", "software"):
            (folder / name).mkdir()
        figures = asyncio.run(measure(folder)) + slowed(folder / "slow")
        if platform.machine() in {"x86_64", "AMD64"}:
            figures += elsewhere("SHA-256 in software", folder / "software", {"OPENSSL_ia32cap": NO_SHA})
        return figures
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    measured = asyncio.run(ELSEWHERE[sys.argv[1]](Path(sys.argv[2])))
    Path(sys.argv[3]).write_text(json.dumps(measured), encoding="utf-8")
