"""Many concurrent callers: close waits, a canceled call is atomic, nothing crashes, no thread leaks."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, StoreClosed
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, make_content, tool_answer_event, user_message_event
from tests.torture.threads import torture


async def test_calls_that_race_with_close_succeed_or_raise_closed(tmp_path: Path) -> None:
    for round_ in range(10):
        store = await LevelDbStore.open(tmp_path / str(round_), WORKSPACE)
        acknowledged = 0

        async def write(store: LevelDbStore = store) -> None:
            nonlocal acknowledged
            for seq in range(1, 10_000):
                data = b"%d" % seq * 2000
                await store.commit(Commit("s", [tool_answer_event(seq, data)], [make_content(data)]))
                acknowledged = seq

        async def read(store: LevelDbStore = store) -> None:
            while True:
                await store.page(limit=50)
                await store.events("s")

        workers = [asyncio.ensure_future(task) for task in (write(), read(), read(), read())]  # noqa: TID251 - a test owns its tasks
        for _ in range(random.Random(round_).randrange(1, 12)):
            await store.totals()
        await store.close()
        results = await asyncio.gather(*workers, return_exceptions=True)
        assert [type(result) for result in results] == [StoreClosed] * 4
        store = await LevelDbStore.open(tmp_path / str(round_), WORKSPACE)
        assert len(await store.events("s")) == acknowledged
        await store.close()


async def test_a_canceled_commit_is_stored_completely_or_not_at_all(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    complete = none = 0
    for number in range(80):
        session_id, data = f"s{number}", b"%d " % number * 500
        task = asyncio.ensure_future(  # noqa: TID251 - a test owns its tasks
            store.commit(
                Commit(session_id, [tool_answer_event(1, data), user_message_event(2)], [make_content(data)])
            )
        )
        for _ in range(number % 4):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # Written in order: once this is acknowledged, the canceled one was written or dropped.
        await store.commit(Commit("other", recalls=[]))
        await store.save_draft("other", str(number))
        events = await store.events(session_id)
        if events:
            assert events == [tool_answer_event(1, data), user_message_event(2)]
            assert await store.get(digest_of(data)) == data
            complete += 1
        else:
            with pytest.raises(DigestUnknown):
                await store.get(digest_of(data))
            none += 1
    assert none > 0
    assert complete + none == 80
    await store.close()


async def test_many_large_writes_wait_without_stopping_the_event_loop(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    bodies = [random.Random(number).randbytes(6_000_000) for number in range(14)]  # 12 fill the queue
    contents = [make_content(data) for data in bodies]
    stored = 0

    async def commit(content: Content) -> None:
        nonlocal stored
        await store.commit(Commit("s", contents=[content]))
        stored += 1

    stored_at_each_turn = set()
    async with asyncio.TaskGroup() as group:
        for content in contents:
            group.create_task(commit(content))
        while stored < len(contents):
            await asyncio.sleep(0)
            stored_at_each_turn.add(stored)
    assert len(stored_at_each_turn) > 2, "the loop turned while they were written one by one"
    for content in contents:
        assert await store.get(content.digest) == content.data
    await store.close()


async def test_a_canceled_open_leaves_nothing_open(tmp_path: Path) -> None:
    for turns in range(6):
        task = asyncio.ensure_future(LevelDbStore.open(tmp_path, WORKSPACE))  # noqa: TID251 - a test owns its tasks
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        result = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(result, LevelDbStore):  # it was open before it could be canceled
            assert turns > 0
            await result.close()
            continue
        assert isinstance(result, asyncio.CancelledError)
        for thread in [thread for thread in threading.enumerate() if tmp_path.name in thread.name]:
            await asyncio.to_thread(thread.join)
        store = await LevelDbStore.open(tmp_path, WORKSPACE)
        await store.close()


async def test_closing_under_readers_writers_and_packers_never_crashes() -> None:
    await asyncio.to_thread(torture, 10, 7)
