"""Reads, writes and closes a store from many threads at once, many times: nothing may crash or be wrong.

`threads.py 1000 [SEED]` does it in a process of its own, so that a crash of LevelDB or zstd is seen as one.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreClosed, WorkspaceClosed
from helix_desktop.domain.store import Commit
from helix_desktop.store.database import Database, ReadView, create_db
from helix_desktop.store.kinds import compress, decompress
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.threads import WriteBatch
from tests.support.store.builders import WORKSPACE, make_content, tool_answer_event

ROOT = Path(__file__).resolve().parents[2]
_SHARED = 300_000  # bytes; more than the writer's helper passes over


def torture(rounds: int, seed: int) -> None:
    """Run it in a child. Raises CalledProcessError when the child crashes or finds something wrong."""
    environ = os.environ | {"PYTHONFAULTHANDLER": "1", "PYTHONPATH": str(ROOT)}
    if Path("/dev/shm").is_dir():
        environ["TMPDIR"] = "/dev/shm"  # threads race sooner where they do not wait for a disk
    subprocess.run([sys.executable, __file__, "child", str(rounds), str(seed)], env=environ, check=True)


def run(rounds: int, seed: int) -> None:
    for number in range(rounds):
        rng = random.Random(seed + number)
        with tempfile.TemporaryDirectory(prefix="torture-threads-") as folder:
            _handle_round(Path(folder, "db"), rng)
            asyncio.run(_store_round(Path(folder, "store"), rng))


class _ThreadGroup:
    """Threads that run until the handle is closed; unexpected errors are recorded."""

    def __init__(self, works: list[Callable[[], None]]) -> None:
        self.wrong: list[BaseException] = []
        self.steps = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._go_on, args=(work,)) for work in works]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        if self.wrong:
            raise self.wrong[0]

    def _go_on(self, work: Callable[[], None]) -> None:
        while True:
            try:
                work()
            except StoreClosed:
                return
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that judges
                self.wrong.append(error)
                return
            finally:
                self.steps.release()


def _handle_round(path: Path, rng: random.Random) -> None:
    """Threads on one open LevelDB, which another closes under them, and pack."""
    rows = {b"k%d" % number: b"value %d " % number * 40 for number in range(20)}
    create_db(path, rows)
    handle = Database(path)

    def check() -> None:
        for key, row in rows.items():
            assert handle.get(key) == handle.get_verified(key) == row

    def scan(view: ReadView) -> dict[bytes, bytes]:
        return dict(view.scan((b"k", b"l"), reverse=rng.random() < 0.5))

    def walk() -> None:
        assert handle.read(scan) == rows

    def write() -> None:
        batch = WriteBatch(handle.get)
        batch.put(b"other", os.urandom(5000))
        handle.write(batch)

    def pack() -> None:
        data = b"packed by many " * 300
        packed = compress(data)
        assert packed is not None
        assert decompress(packed, len(data)) == data
        handle.get(b"k0")

    gang = _ThreadGroup([check, check, walk, walk, write, pack, pack])
    gang.start()
    for _ in range(rng.randrange(1, 30)):
        gang.steps.acquire()
    closers = [threading.Thread(target=handle.close) for _ in range(2)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()
    gang.join()


async def _store_round(folder: Path, rng: random.Random) -> None:
    """Run tasks on an open store that is closed meanwhile; acknowledged data must be there afterwards."""
    store = await LevelDbStore.open(folder, WORKSPACE)
    stored: list[bytes] = []

    async def write() -> None:
        for seq in range(1, 10_000):
            data = b"%d " % seq * rng.choice((50, 4000, _SHARED // 2))
            await store.commit(Commit("s", [tool_answer_event(seq, data)], [make_content(data)]))
            stored.append(data)

    async def read() -> None:
        while True:
            data = rng.choice(stored or [b""])
            if stored:
                assert await store.get(digest_of(data)) == data
            await store.page(limit=20)

    tasks = [asyncio.ensure_future(task) for task in (write(), read(), read(), read())]  # noqa: TID251 - no scope here
    for _ in range(rng.randrange(1, 10)):
        await store.totals()
    await store.close()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in ended] == [WorkspaceClosed] * len(tasks), ended
    store = await LevelDbStore.open(folder, WORKSPACE)
    assert len(await store.events("s")) == len(stored)
    for data in stored:
        assert await store.get(digest_of(data)) == data
    await store.close()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["child"]:
        run(int(arguments[1]), int(arguments[2]))
        return 0
    rounds = int(arguments[0])
    seed = int(arguments[1]) if arguments[1:] else 1
    torture(rounds, seed)
    sys.stdout.write(f"threads: {rounds} rounds, no crash, nothing wrong\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["1000"]))
