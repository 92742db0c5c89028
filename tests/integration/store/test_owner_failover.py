"""An owner ends while others use its store: they go on, as its heir or through it, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import pytest

from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.store import Commit
from helix_desktop.store.remote.client import RemoteStore, connect, open_store
from helix_desktop.store.remote.rpc import ENDPOINT_FILE, read_endpoint
from helix_desktop.store.remote.server import SharedStore
from tests.support.store.builders import WORKSPACE, user_message_event
from tests.support.store.owner_process import owner_process


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
async def test_an_owner_that_ends_is_followed(tmp_path: Path, how: int | None) -> None:
    async with owner_process(tmp_path) as owner:
        store = await open_store(tmp_path, WORKSPACE)
        assert isinstance(store, RemoteStore)
        await store.commit(Commit("s", [user_message_event(1)]))
        left = read_endpoint(tmp_path)
        if how:
            owner.send_signal(how)
            await owner.wait()
        else:
            await owner.communicate(b"")
        assert await store.events("s") == [user_message_event(1)]
        await store.commit(Commit("s", [user_message_event(2)]))
        assert left is not None
        assert not left.path or not Path(left.path).parent.exists()
        async with asyncio.timeout(300):
            guest = await connect(tmp_path, WORKSPACE)  # it serves others in its turn
        assert guest.owner_pid == os.getpid()
        assert await guest.events("s") == [user_message_event(1), user_message_event(2)]
        await guest.close()
        await store.close()
    assert not (tmp_path / ENDPOINT_FILE).exists()


async def inherited(owner: SharedStore, folder: Path) -> SharedStore:
    """The store of an owner in this process, once that has ended."""
    await owner.close()
    return await SharedStore.open(folder, WORKSPACE)


@pytest.mark.parametrize("ended_after", [1, 7, 60, 150])
async def test_a_write_in_flight_when_the_owner_ended_is_stored_once_and_in_order(
    tmp_path: Path, ended_after: int
) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    enough = asyncio.Event()

    async def say(seq: int) -> None:
        await store.commit(Commit("s", [user_message_event(seq)]))
        if seq == ended_after:
            enough.set()

    async def end() -> None:
        await enough.wait()
        await owner.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(end())
        for seq in range(1, 601):  # some of them while others are requested again
            group.create_task(say(seq))
            await asyncio.sleep(0.0005 if seq > ended_after else 0)
    assert await store.events("s") == [user_message_event(seq) for seq in range(1, 601)]
    await store.close()


@pytest.mark.parametrize(("seq", "outcome"), [(1, nullcontext()), (3, pytest.raises(ValueError, match="3"))])
async def test_a_write_that_is_sent_again_is_refused_unless_it_was_stored(
    tmp_path: Path, seq: int, outcome: AbstractContextManager[object]
) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    await store.commit(Commit("s", [user_message_event(1)]))
    with pytest.raises(ValueError, match="1"):  # the owner that stored it is still there
        await store.commit(Commit("s", [user_message_event(1)]))
    await owner.close()
    with outcome:
        await store.commit(Commit("s", [user_message_event(seq)]))
    assert await store.events("s") == [user_message_event(1)]
    await store.close()


async def test_a_request_that_must_not_run_twice_fails_and_the_next_succeeds(tmp_path: Path) -> None:
    owner = await SharedStore.open(tmp_path, WORKSPACE)
    store = await connect(tmp_path, WORKSPACE, partial(inherited, owner, tmp_path))
    await owner.close()
    with pytest.raises(StoreClosed, match="Lost the connection"):
        await store.retention.empty_trash()
    assert (await store.totals()).entries == 0
    assert (await store.retention.empty_trash()).digests == ()
    await store.close()
    with pytest.raises(StoreClosed, match="is closed"):
        await store.totals()
