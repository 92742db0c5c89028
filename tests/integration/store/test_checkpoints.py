"""Checkpoints in a real store: in its check, repair, archives, trash and redaction, and for others."""

from __future__ import annotations

from pathlib import Path

import plyvel
import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.kinds import checkpoint_key, event_key
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.remote.client import RemoteStore
from tests.support import session_rewrites
from tests.support.histories import conversation_with
from tests.support.session_simulator import SessionSimulator
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    make_content,
    make_summary,
)
from tests.support.store.damage import compact_tables, flip_last_bit

SECRET = "Zk7qPw29xLm4Rt8v"


def conversation_with_checkpoints(*sentences: str) -> SessionSimulator:
    simulator = conversation_with(3)
    for sentence in sentences:
        session_rewrites.write_checkpoint(simulator, sentence)
    return simulator


async def store_with(folder: Path, simulator: SessionSimulator) -> LevelDbStore:
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    contents = [make_content(data) for data in simulator.contents.values()]
    await store.commit(Commit("s", simulator.log, contents, summary=make_summary("s")))
    return store


async def seqs_found(store: LevelDbStore | RemoteStore, words: str) -> list[int]:
    return [hit.seq for hit in await store.search_handovers(words)]


@pytest.mark.parametrize("is_session_alone", [False, True])
async def test_they_pass_the_check_and_come_back_from_an_archive(
    tmp_path: Path, is_session_alone: bool
) -> None:
    simulator = conversation_with_checkpoints("It is half done", "It is done")
    store = await store_with(tmp_path / "store", simulator)
    report = await store.health.check()
    assert (report.damaged, report.problems) == ((), ())
    archive = str(tmp_path / "a.helix")
    if is_session_alone:
        await export_session(store, archive, "Name", START_MS, "s")
    else:
        await export_store(store, archive, "Name", START_MS)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE, TickingClock())
    await import_store(other, archive)
    read = await other.events("s")
    assert read == simulator.log
    assert Transcript(read).checkpoints == simulator.transcript.checkpoints
    assert await seqs_found(other, "done") == [simulator.log[-1].seq]
    report = await other.health.check()
    assert (report.damaged, report.problems) == ((), ())
    await other.close()


@pytest.mark.parametrize("lost", ["the mark", "the list of files", "a row"])
async def test_a_repair_brings_them_back(tmp_path: Path, lost: str) -> None:
    """A lost mark is reported by the check; after a repair the search finds each checkpoint again."""
    folder = tmp_path / "store"
    simulator = conversation_with_checkpoints("It is half done", "It is done")
    await (await store_with(folder, simulator)).close()
    first, newest = simulator.transcript.checkpoints
    compact_tables(folder)
    match lost:
        case "the mark":
            db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
            db.delete(checkpoint_key("s", newest), sync=True)
            db.close()
            store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
            assert await seqs_found(store, "done") == [first]
            (problem,) = (await store.health.check()).problems
            assert f"s {newest}" in str(problem)
            await store.close()
        case "a row":
            flip_last_bit(folder, event_key("s", newest))
            compact_tables(folder)  # which drops the row as it was
    for manifest in (folder / "db").glob("MANIFEST-*"):
        manifest.unlink()
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    assert store.health.report is not None
    assert await seqs_found(store, "done") == [first if lost == "a row" else newest]
    assert (await store.health.check()).problems == ()
    checkpoints = Transcript(await store.events("s")).checkpoints
    assert list(checkpoints) == ([first] if lost == "a row" else [first, newest])
    await store.close()


async def test_nothing_is_left_of_a_session_that_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = await store_with(folder, conversation_with_checkpoints("It is half done"))
    await store.retention.trash_session("s")
    await store.retention.restore_session("s")
    assert len(await seqs_found(store, "half")) == 1
    await store.retention.trash_session("s")
    await store.retention.empty_trash()
    assert await seqs_found(store, "half") == []
    assert (await store.health.check()).problems == ()
    await store.close()
    db = plyvel.DB(str(folder / "db"), create_if_missing=False)
    assert [key for key, _ in db if key.startswith((b"h", b"k", b"es"))] == []
    db.close()


async def test_what_a_checkpoint_says_can_be_redacted(tmp_path: Path) -> None:
    """From its text, from the search, and from every file."""
    folder = tmp_path / "store"
    store = await store_with(folder, conversation_with_checkpoints(f"The key is {SECRET}", "It is done"))
    request = RedactionRequest(SECRET)
    assert not (await store.redaction.preview(request)).is_empty
    await store.redaction.redact(request)
    assert await seqs_found(store, SECRET) == []
    first, _ = Transcript(await store.events("s")).checkpoints.values()
    assert first.handover.sections[0].bullets[0].text.startswith("The key is [FORGOTTEN ")
    assert (await store.redaction.preview(request)).is_empty
    assert (await store.health.check()).problems == ()
    await store.close()
    holding = [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == []
