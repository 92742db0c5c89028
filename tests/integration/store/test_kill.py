"""Killed or without power at any moment, nothing acknowledged or referenced is lost; see tests/torture."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
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
from tests.support.store.damage import (
    AcknowledgedCommits,
    check_acknowledged,
    check_row_consistency,
    kill_writer,
)
from tests.support.store.power_loss import (
    LOSS_MODES,
    check_after_power_loss,
    record_copies,
    simulate_power_loss,
)

TORTURE = "HELIX_TORTURE" in os.environ  # set by tests/torture/damage.py
KILLS, AT_ONCE = (10, 10) if TORTURE else (1, 3)
# Of torture enough for LevelDB to change its log and write tables meanwhile.
GROUPS, LARGEST = (24, 2_000_000) if TORTURE else (4, 60_000)
LOSSES = 36 if TORTURE else 2  # of each mode


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("batch", range(KILLS))
async def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, batch: int) -> None:
    folder = tmp_path / "store"
    everything: AcknowledgedCommits = {}
    for number in range(AT_ONCE):
        acknowledged = kill_writer(folder, batch * AT_ONCE + number)
        everything |= acknowledged
        # A stale owner lock is simply acquired.
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            if number == AT_ONCE - 1:
                await check_acknowledged(store, everything)
                totals = await store.totals()
                assert totals.sessions == len(await store.sessions())
                assert (await store.health.check()).is_sound
        check_row_consistency(folder)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store after each of some groups of writes."""
    return record_copies(tmp_path_factory.mktemp("power"), GROUPS, LARGEST)


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")
@pytest.mark.parametrize("mode", LOSS_MODES)
async def test_power_loss_costs_nothing_acknowledged(copies: list[Path], tmp_path: Path, mode: str) -> None:
    for seed in range(LOSSES):
        rng = random.Random(f"{mode} {seed}")
        acknowledged = rng.randrange(1, GROUPS)
        folder = tmp_path / str(seed)
        simulate_power_loss(copies[acknowledged - 1], copies[acknowledged], folder, rng, mode)
        await check_after_power_loss(folder, acknowledged, LARGEST)
        shutil.rmtree(folder)


CLEANUP_ROUNDS = 5


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_a_store_killed_during_cleanup_is_consistent(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    for seed in range(CLEANUP_ROUNDS):
        acknowledged = kill_writer(folder, seed, 0.6, "cleanup")
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
