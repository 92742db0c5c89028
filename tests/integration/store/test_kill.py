"""kill -9 at random moments loses nothing that was acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, closing_store
from tests.support.store.crash_checks import (
    AcknowledgedCommits,
    check_acknowledged,
    check_row_consistency,
    kill_writer,
)

ROUNDS = 3  # torture does a hundred


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_kill_9_loses_nothing_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    everything: AcknowledgedCommits = {}
    for seed in range(ROUNDS):
        acknowledged = kill_writer(folder, seed)
        everything |= acknowledged
        # A stale owner lock is simply acquired.
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            if seed == ROUNDS - 1:
                await check_acknowledged(store, everything)
                totals = await store.totals()
                assert totals.sessions == len(await store.sessions())
        check_row_consistency(folder)
