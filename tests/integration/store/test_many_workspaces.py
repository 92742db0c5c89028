"""Many workspaces at once, in one process and in two: none sees another, and nothing stays open."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, StoreLocked
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    WORKSPACE,
    make_content,
    make_summary,
    tool_answer_event,
)

CHECKOUT = Path(__file__).resolve().parents[3]
COUNT = 20


def open_files(folder: Path) -> list[str]:
    here = Path("/proc/self/fd")
    targets = [os.readlink(path) for path in here.iterdir() if path.exists()] if here.exists() else []
    return [target for target in targets if target.startswith(str(folder))]


def body(number: int) -> bytes:
    return b"only of workspace %d\n" % number * 300


async def fill(store: LevelDbStore, number: int) -> None:
    data = body(number)
    title = make_summary("s", title=f"of {number}")
    await store.commit(Commit("s", [tool_answer_event(1, data)], [make_content(data)], summary=title))
    await store.save_draft("s", f"typed in {number}")


async def check(store: LevelDbStore, number: int) -> None:
    """All of one workspace is there, and nothing of its neighbor."""
    assert await store.get(digest_of(body(number))) == body(number)
    with pytest.raises(DigestUnknown):
        await store.get(digest_of(body(number + 1)))
    assert [entry.digest for entry in (await store.page()).entries] == [digest_of(body(number))]
    assert await store.events("s") == [tool_answer_event(1, body(number))]
    assert [session.title for session in await store.sessions()] == [f"of {number}"]
    assert (await store.draft("s")).text == f"typed in {number}"
    assert await store.find(digest_of(body(number + 1))[:8]) == []
    assert (await store.totals()).entries == 1


def store_threads() -> set[threading.Thread]:
    """Return the threads of all open stores: compare with those before, a failed test may leave its own."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("helix-store")}


async def test_twenty_workspaces_are_isolated_and_leave_nothing_open(tmp_path: Path) -> None:
    before = store_threads()
    for _ in range(2):
        stores = [await LevelDbStore.open(tmp_path / str(number), WORKSPACE) for number in range(COUNT)]
        if not await stores[0].sessions():
            await asyncio.gather(*(fill(store, number) for number, store in enumerate(stores)))
        await asyncio.gather(*(check(store, number) for number, store in enumerate(stores)))
        assert len(store_threads() - before) <= 4 * COUNT
        await asyncio.gather(*(store.close() for store in stores))
        assert store_threads() <= before
        assert open_files(tmp_path) == []
    assert sorted(os.listdir(tmp_path)) == sorted(str(number) for number in range(COUNT))


CHILD = """
import asyncio, sys
from pathlib import Path
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.integration.store.test_many_workspaces import check, fill

async def run():
    store = await LevelDbStore.open(Path(sys.argv[1]), sys.argv[2])
    await fill(store, 2)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await check(store, 2)
    await store.close()

asyncio.run(run())
"""


async def test_two_processes_work_in_two_workspaces_and_cannot_open_each_others(tmp_path: Path) -> None:
    mine, its = tmp_path / "mine", tmp_path / "its"
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        str(its),
        OTHER_WORKSPACE,
        cwd=CHECKOUT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"open\n"
    store = await LevelDbStore.open(mine, WORKSPACE)
    await fill(store, 1)
    with pytest.raises(StoreLocked) as caught:
        await LevelDbStore.open(its, OTHER_WORKSPACE)
    assert str(child.pid) in f"{caught.value.what} {caught.value.why}"
    await check(store, 1)
    await child.communicate(b"\n")
    assert child.returncode == 0
    await check(store, 1)
    await store.close()
    store = await LevelDbStore.open(its, OTHER_WORKSPACE)
    await check(store, 2)
    await store.close()
