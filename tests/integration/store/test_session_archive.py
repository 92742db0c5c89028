"""A session or a workspace as a file: what goes with it, what runs, and nothing that the user removed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, SubagentStarted, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import BranchKind, SessionBranched
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, PartialOutput, session_tree
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.words.session_markdown import session_markdown
from helix_desktop.words.store_reports import export_summary, import_summary
from helix_desktop.words.translation import translate
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)


async def test_a_session_is_exported_with_its_versions_and_imported_as_one(tmp_path: Path) -> None:
    store, other = (
        await LevelDbStore.open(tmp_path / "a", WORKSPACE),
        await LevelDbStore.open(tmp_path / "b", OTHER_WORKSPACE),
    )
    log = [user_message_event(1, "message 1"), user_message_event(2, "message 2")]
    await store.commit(Commit("first", log, summary=make_summary("first")))
    kinds: tuple[tuple[str, BranchKind], ...] = (("edited", "edit"), ("branch", ""))
    for name, how in kinds:
        branched = RecordedEvent(2, START_MS, SessionBranched("first", 1, name, how))
        summary = msgspec.structs.replace(
            make_summary(name, START_MS + 1),
            created=START_MS + 1,
            branch_of="first",
            branch_seq=1,
            branch_how=how,
        )
        own = [branched, user_message_event(3, "message 3")]
        await store.commit(Commit(name, own, summary=summary))
    paths = [str(tmp_path / f"{session_id}.helix") for session_id in ("first", "edited")]
    for session_id, path in zip(("first", "edited"), paths, strict=True):
        done = await export_session(store, path, "Name", START_MS, session_id)
        assert done.totals.sessions == 2
    await import_store(other, paths[-1])
    assert [row.versions for row in session_tree(await other.sessions())] == [("first", "edited")]
    assert await other.events("edited") == await store.events("edited")
    markdown = session_markdown("T", await store.events("edited"), {1: await store.events("first")})
    assert markdown.index("message 3") < markdown.index("# Version 1 of 2") < markdown.index("message 2")
    assert markdown.count("message 1") == 1, "what they share is there once"
    for each in (store, other):
        assert (await each.health.check()).is_sound
        await each.close()


async def test_a_session_is_exported_with_all_that_it_leads_to(tmp_path: Path) -> None:
    """Its subagent, what its handover indexes and its draft names; nothing of another session."""
    store, other = (
        await LevelDbStore.open(tmp_path / "a", WORKSPACE),
        await LevelDbStore.open(tmp_path / "b", OTHER_WORKSPACE),
    )
    index = f"{digest_of(b'indexed')} read_file\n".encode()
    contents = [make_content(data) for data in (b"one", b"indexed", b"of the subagent", b"in the draft")]
    contents.append(make_content(index, kind="index"))
    begun = RecordedEvent(3, START_MS, SubagentStarted("call-1", "sub", "a task"))
    log = [tool_answer_event(1, b"one"), handover_event(2, index), begun]
    trashed = msgspec.structs.replace(make_summary("s"), trashed=START_MS)
    await store.commit(Commit("s", log, contents, summary=trashed))
    of_parent = msgspec.structs.replace(make_summary("sub"), parent="s")
    await store.commit(Commit("sub", [tool_answer_event(1, b"of the subagent")], summary=of_parent))
    attached = Attachment(digest_of(b"in the draft"), "along", "", 1, 1)
    await store.save_draft("s", "unsent", [attached])
    others = [make_content(b"of another")]
    await store.commit(Commit("t", [tool_answer_event(1, b"of another")], others, summary=make_summary("t")))

    done = await export_session(store, str(tmp_path / "s.helix"), "Name", START_MS, "s")
    totals = done.totals
    assert (totals.entries, totals.sessions, totals.subagents, totals.trashed_sessions) == (5, 2, 1, 1)
    summary = "Contains 5 entries and 2 sessions (1 of a subagent and 1 in the trash)."
    assert translate(export_summary(done)) == summary
    imported = await import_store(other, done.path)
    assert (imported.new, imported.trashed, imported.missing) == (("s", "sub"), ("s",), ())
    assert translate(import_summary(imported)).endswith("Sessions: 2 new (1 in the trash).")
    again = translate(import_summary(await import_store(other, done.path)))
    assert again.endswith("Sessions: 2 unchanged (1 in the trash).")
    for session_id in ("s", "sub"):
        assert await other.events(session_id) == await store.events(session_id)
        assert await other.draft(session_id) == await store.draft(session_id)
    assert {content.digest: await other.get(content.digest) for content in contents} == {
        content.digest: content.data for content in contents
    }
    assert (await other.totals()).entries == len(contents)
    await store.close()
    await other.close()


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


async def test_what_the_user_removed_is_not_lost(tmp_path: Path) -> None:
    """Here and where it is imported; what an archive says was removed may be stored there."""
    secret = b"the key is hunter22-of-tide"
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    events = [tool_answer_event(1, secret), tool_answer_event(2, b"kept")]
    await store.commit(Commit("s", events, [make_content(secret), make_content(b"kept")]))
    await store.redaction.redact(RedactionRequest("hunter22-of-tide"))
    other = await LevelDbStore.open(tmp_path / "other", OTHER_WORKSPACE)
    result = await export_store(store, str(tmp_path / "a.helix"), "", START_MS)
    exported = result.totals
    assert export_summary(result) == "Contains 1 entry and 1 session. Without 1 output that you removed."
    assert (exported.entries, exported.lost, list(exported.removed)) == (1, (), [digest_of(secret)])
    assert exported.missing == tuple(exported.removed), "so that older versions read the file"
    assert (await import_store(other, str(tmp_path / "a.helix"))).missing == ()
    for removed_from in (store, other):
        with pytest.raises(ContentRedacted):
            await removed_from.get(digest_of(secret))
    again = (await export_store(other, str(tmp_path / "b.helix"), "", START_MS)).totals
    assert (again.lost, again.removed) == ((), exported.removed)
    await other.commit(Commit("t", [tool_answer_event(1, secret)], [make_content(secret)]))
    assert await other.get(digest_of(secret)) == secret
    await store.close()
    await other.close()
