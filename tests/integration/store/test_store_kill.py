"""kill -9 at random moments loses nothing that was acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store_killing import Acknowledged, check_acknowledged, check_rows_agree, kill_a_writer
from tests.support.store_making import WORKSPACE

ROUNDS = 6


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_kill_9_loses_nothing_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    everything: Acknowledged = {}
    for seed in range(ROUNDS):
        acknowledged = kill_a_writer(folder, seed)
        everything |= acknowledged
        # A stale owner lock is simply taken.
        store = await LevelDbStore.open(folder, WORKSPACE)
        try:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            if seed == ROUNDS - 1:
                await check_acknowledged(store, everything)
                totals = await store.totals()
                assert totals.sessions == len(await store.sessions())
        finally:
            await store.close()
        check_rows_agree(folder)
