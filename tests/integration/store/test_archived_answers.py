"""A workspace as one file: what came so far of an answer that was being received, and of running calls."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import Commit, PartialOutput
from helix_desktop.store.archive_transfer import export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    user_message_event,
)


async def test_what_came_of_an_answer_goes_along(tmp_path: Path) -> None:
    """An archive made while an answer is received has what is saved of it; what is there already stays."""
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, TickingClock())
    await store.commit(Commit("s", [user_message_event(1)]))
    partial = RecordedEvent(1, START_MS, AssistantSpoke("So far", "m", 2))
    await store.save_partial_answer("s", partial)
    archive = str(tmp_path / "a.helix")
    await export_store(store, archive, "Name", START_MS)
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE, TickingClock())
    await import_store(other, archive)
    assert (await other.draft("s")).partial_answer == partial
    longer = RecordedEvent(1, START_MS, AssistantSpoke("So far so good", "m", 4))
    await other.save_partial_answer("s", longer)
    await import_store(other, archive)
    assert (await other.draft("s")).partial_answer == longer

    answered = RecordedEvent(2, START_MS, AssistantSpoke("So far so good.", "m", 4))
    await store.commit(Commit("s", [answered]))
    await store.save_partial_answer("s", None)
    await import_store(store, archive)
    assert (await store.draft("s")).partial_answer is None, "an older archive brings back no part of it"
    await export_store(store, archive, "Name", START_MS)
    await import_store(other, archive)
    assert (await other.draft("s")).partial_answer is None, "the archive has all of it"
    assert (await other.events("s"))[1:] == [answered]
    await store.close()
    await other.close()


async def test_what_running_calls_had_printed_goes_along(tmp_path: Path) -> None:
    """It comes with the open call, what is there already stays, and an answer takes its place."""
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, TickingClock())
    calls = (ToolCall("c0", "run_command", "{}"), ToolCall("c1", "run_command", "{}"))
    spoke = RecordedEvent(2, START_MS, AssistantSpoke("", "m", 2, calls=calls))
    await store.commit(Commit("s", [user_message_event(1), spoke]))
    printed = PartialOutput("c0", "12 passed"), PartialOutput("c1", "building")
    await store.save_partial_outputs("s", printed)
    archive = str(tmp_path / "a.helix")
    await export_store(store, archive, "Name", START_MS)
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE, TickingClock())
    await import_store(other, archive)
    assert (await other.draft("s")).partial_outputs == printed
    longer = PartialOutput("c1", "building\ndone")
    await other.save_partial_outputs("s", [longer])
    await import_store(other, archive)
    assert (await other.draft("s")).partial_outputs == (printed[0], longer)

    answered = ToolAnswered("c0", "run_command", "13 passed", "", 9, 3, 3)
    await other.commit(Commit("s", [RecordedEvent(3, START_MS, answered)]))
    await import_store(other, archive)
    assert (await other.draft("s")).partial_outputs == (longer,)
    await store.close()
    await other.close()
