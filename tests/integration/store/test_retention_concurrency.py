"""Cleanup during other work, and killed in the middle: nothing referenced is lost, and the rows agree."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.retention import DAY_MS, RetentionRule
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
)
from tests.support.store.crash_checks import (
    RETENTION_SCRIPT,
    check_acknowledged,
    check_row_consistency,
    kill_writer,
)

ROUNDS = 5


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_a_store_killed_during_cleanup_is_consistent(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    for seed in range(ROUNDS):
        acknowledged = kill_writer(folder, seed, 0.6, RETENTION_SCRIPT)
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            await check_totals(store)
        check_row_consistency(folder)


async def check_totals(store: LevelDbStore) -> None:
    """Assert that the counts are those of the entries, wherever they lie."""
    entries = [*(await store.retention.trash()).entries]
    cursor = ""
    while True:
        page = await store.page(cursor, 1000)
        entries += page.entries
        cursor = page.cursor
        if not cursor:
            break
    totals = await store.totals()
    assert totals.entries == len(entries)
    assert totals.size == sum(entry.size for entry in entries)
    assert totals.stored_size == sum(entry.stored_size for entry in entries)
    assert totals.sessions == len(await store.sessions()) + len((await store.retention.trash()).sessions)


@pytest.mark.parametrize("size", [300, 1_200_000])
async def test_a_put_at_the_moment_of_removal_wins(tmp_path: Path, size: int) -> None:
    clock = TickingClock()
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, clock)
    data = random.Random(size).randbytes(size)
    content = make_content(data)
    try:
        await store.commit(Commit("s", contents=[content]))
        for seq in range(1, 8):
            session_id = f"s{seq}"
            clock.now += 2 * DAY_MS
            await store.retention.collect([content.digest])
            assert [entry.digest for entry in (await store.retention.trash()).entries] == [content.digest]
            actions = [
                store.retention.empty_trash(),
                store.commit(
                    Commit(
                        session_id, [tool_answer_event(1, data)], [content], summary=make_summary(session_id)
                    )
                ),
                store.retention.empty_trash(),
            ]
            random.Random(seq).shuffle(actions)
            await asyncio.gather(*actions)
            assert await store.get(content.digest) == data
            assert (await store.retention.plan(RetentionRule())).referenced.entries == 1
            await store.retention.trash_session(session_id)
            await store.retention.empty_trash()
            await check_totals(store)
    finally:
        await store.close()
