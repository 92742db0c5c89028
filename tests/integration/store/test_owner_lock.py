"""One owner at a time, in this process and among processes."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from helix_desktop.domain.errors import DataDirUnavailable, StoreLocked
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.server import SharedStore, StoreServer
from tests.support.store.builders import OTHER_WORKSPACE, WORKSPACE, user_message_event
from tests.support.store.crash_checks import kill_writer

CHECKOUT = Path(__file__).resolve().parents[3]
HOLDER = """
import asyncio, sys
from pathlib import Path
from helix_desktop.store.leveldb_store import LevelDbStore

async def hold():
    store = await LevelDbStore.open(Path(sys.argv[1]), sys.argv[2])
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(hold())
"""


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Remove write permission from the folder and its lock, until the test ends."""

    def take() -> None:
        (tmp_path / "owner.lock").chmod(0o400)
        tmp_path.chmod(0o500)

    yield take
    tmp_path.chmod(0o700)


async def test_a_second_open_in_this_process_is_refused_and_harmless(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    for path in (tmp_path, tmp_path / ".." / tmp_path.name):
        with pytest.raises(StoreLocked, match="already open here") as caught:
            await LevelDbStore.open(path, WORKSPACE)
        assert caught.value.owner_pid == os.getpid()
    # The lock still excludes other processes.
    command = [sys.executable, "-c", HOLDER, str(tmp_path), WORKSPACE]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert f"process {os.getpid()}" in done.stderr
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    assert await store.events("s") == [user_message_event(1)]
    await store.close()


async def test_the_store_of_another_process_is_refused_with_its_pid(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(tmp_path), WORKSPACE,
        cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert await child.stdout.readline() == b"open\n"
        with pytest.raises(StoreLocked, match="in use by another running Helix Desktop") as caught:
            await LevelDbStore.open(tmp_path, WORKSPACE)
        assert caught.value.owner_pid == child.pid
        assert str(child.pid) in str(caught.value)
    finally:
        await child.communicate(b"")
    assert child.returncode == 0
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_the_lock_of_a_killed_process_is_acquired(tmp_path: Path) -> None:
    kill_writer(tmp_path, 1, 0.05)
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    assert int((tmp_path / "owner.lock").read_text()) == os.getpid()
    await store.close()


async def test_a_failed_opening_leaves_no_lock_behind(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()
    for _ in range(2):
        with pytest.raises(ValueError, match="UUID"):
            await LevelDbStore.open(tmp_path, "no-uuid")
        with pytest.raises(Exception, match="another workspace"):
            await LevelDbStore.open(tmp_path, OTHER_WORKSPACE)
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()


async def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataDirUnavailable, match="can't be created"):
        await LevelDbStore.open(tmp_path / "file" / "store", WORKSPACE)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
async def test_a_read_only_folder_is_named(tmp_path: Path, read_only: Callable[[], None]) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await store.close()
    read_only()
    with pytest.raises(DataDirUnavailable, match="writable"):
        await LevelDbStore.open(tmp_path, WORKSPACE)


@pytest.mark.parametrize("loopback", [False, True])
async def test_a_server_stopped_during_startup_leaves_no_socket(tmp_path: Path, loopback: bool) -> None:
    store, folder = await SharedStore.open(tmp_path / "store", WORKSPACE), tmp_path / "address"
    folder.mkdir()
    for turns in range(6):
        server = StoreServer(folder, WORKSPACE, store)
        beginning = asyncio.get_running_loop().create_task(server.start(loopback))
        for _ in range(turns):
            await asyncio.sleep(0)
        beginning.cancel()
        with suppress(asyncio.CancelledError):
            await beginning
        await server.close()
        del server, beginning
        gc.collect()  # an unclosed socket is a warning, and a warning is an error
        assert list(folder.iterdir()) == []
    await store.close()
