"""Checkpoints in a real store: in its check and its archives."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.store.commit import Commit
from helix_desktop.store.archive.transfer import export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support import session_rewrites
from tests.support.histories import conversation_with
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    make_content,
    make_summary,
)


async def test_they_pass_the_check_and_come_back_from_an_archive(tmp_path: Path) -> None:
    simulator = conversation_with(3)
    session_rewrites.write_checkpoint(simulator)
    session_rewrites.write_checkpoint(simulator, "It is done")
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, TickingClock())
    log = simulator.log
    contents = [make_content(data) for data in simulator.contents.values()]
    await store.commit(Commit("s", log, contents, summary=make_summary("s")))
    assert (await store.health.check()).damaged == ()
    assert await store.handovers() == [], "the store lists what the context has had"
    archive = str(tmp_path / "a.helix")
    await export_store(store, archive, "Name", START_MS)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE, TickingClock())
    await import_store(other, archive)
    read = await other.events("s")
    assert read == log
    assert Transcript(read).checkpoints == simulator.transcript.checkpoints
    assert (await other.health.check()).damaged == ()
    await other.close()
