"""Many concurrent callers: close waits, a canceled call is atomic, nothing crashes, no thread leaks."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, make_content, tool_answer_event, user_message_event
from tests.torture.threads import torture


async def test_a_canceled_commit_is_stored_completely_or_not_at_all(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    complete = none = 0
    for number in range(80):
        session_id = f"s{number}"
        data = b"%d " % number * 500
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
