"""A session or a branch as a file: what goes with it, what runs, and nothing that the user removed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import plyvel
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
from helix_desktop.store.kinds import event_key
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.words.session_markdown import session_markdown
from helix_desktop.words.store_reports import export_summary, import_summary
from helix_desktop.words.translation import translate
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    handover_event,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)

NAMES = ("p", "a-branch", "deepest")


async def family(
    folder: Path, workspace_id: str = WORKSPACE
) -> tuple[LevelDbStore, dict[str, list[RecordedEvent]]]:
    """Open a store with a parent, its branch and a branch of that; return it and the logs.

    Each branch is listed before its parent, by its name.
    """
    store = await LevelDbStore.open(folder, workspace_id, TickingClock())
    data = b"an output"
    parent = [user_message_event(1), tool_answer_event(2, data), user_message_event(3), user_message_event(4)]
    await store.commit(Commit("p", parent, [make_content(data)], summary=make_summary("p")))
    for name, of, seq in (("a-branch", "p", 3), ("deepest", "a-branch", 5)):
        first = RecordedEvent(seq + 1, START_MS + seq, SessionBranched(of, seq, name))
        own = [first, user_message_event(seq + 2, f"in {name}")]
        await store.commit(Commit(name, own, summary=make_summary(name)))
    return store, {name: await store.events(name) for name in NAMES}


async def test_a_branch_ends_where_its_parents_log_is_cut(tmp_path: Path) -> None:
    """What lies behind the cut is put aside and named; both go on from there."""
    store, logs = await family(tmp_path / "store")
    await store.close()
    db = plyvel.DB(str(tmp_path / "store" / "db"), compression=None)
    db.delete(event_key("p", 2))
    db.close()
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    await store.health.check()
    await store.close()
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        report = store.health.report
        assert report is not None
        assert {cut.session: (cut.kept, cut.aside, cut.lost) for cut in report.cut} == {
            "p": (1, 2, 1),
            "a-branch": (1, 2, 2),
            "deepest": (1, 2, 4),
        }
        for name in NAMES:
            assert await store.events(name) == logs["p"][:1]
            await store.commit(Commit(name, [user_message_event(2, f"on in {name}")]))
            assert len(await store.events(name)) == 2
        assert (await store.health.check()).is_sound


async def test_branches_are_exported_with_their_parents_and_imported_anywhere(tmp_path: Path) -> None:
    """Into an empty workspace, a second time, and beside a session of the same id that went another way."""
    store, logs = await family(tmp_path / "one")
    result = await export_store(store, str(tmp_path / "x.helix"), "x", START_MS)
    await store.close()
    assert result.totals.events == 4 + 2 + 2
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    assert set((await import_store(other, result.path)).new) == set(NAMES)
    assert {name: await other.events(name) for name in NAMES} == logs
    assert set((await import_store(other, result.path)).unchanged) == set(NAMES)
    await other.close()

    third = await LevelDbStore.open(tmp_path / "three", OTHER_WORKSPACE, TickingClock())
    await third.commit(Commit("p", [user_message_event(1, "another")], summary=make_summary("p")))
    first = await import_store(third, result.path)
    (apart,) = first.apart
    assert await third.events(apart) == logs["p"]
    branched = await third.events("a-branch")
    assert (branched[:3], branched[4:]) == (logs["p"][:3], logs["a-branch"][4:])
    assert branched[3].event == SessionBranched(apart, 3, "a-branch")
    assert set((await import_store(third, result.path)).unchanged) == {apart, "a-branch", "deepest"}
    assert (await third.health.check()).is_sound
    await third.close()


async def test_a_branch_exported_alone_has_its_whole_log_and_no_more_of_its_parents(tmp_path: Path) -> None:
    store, logs = await family(tmp_path / "one")
    result = await export_session(store, str(tmp_path / "x.helix"), "x", START_MS, "deepest")
    assert (await import_store(store, result.path)).unchanged == ("deepest",)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    assert (await import_store(other, result.path)).new == ("deepest",)
    assert [await other.events(name) for name in NAMES] == [[], [], logs["deepest"]]
    await other.commit(Commit("deepest", [user_message_event(len(logs["deepest"]) + 1)]))
    assert (await other.health.check()).is_sound
    await other.close()


@pytest.mark.parametrize("is_there", [False, True], ids=["into an empty one", "beside the parent"])
async def test_a_branch_is_imported_without_its_deleted_parent(tmp_path: Path, is_there: bool) -> None:
    """The part that it needs comes along, hidden; where the parent lives it stays as it is."""
    store, logs = await family(tmp_path / "one")
    await store.retention.trash_session("p")
    await store.retention.empty_trash()
    result = await export_store(store, str(tmp_path / "x.helix"), "x", START_MS)
    await store.close()
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE, TickingClock())
    if is_there:
        data = b"an output"
        await other.commit(Commit("p", logs["p"][:2], [make_content(data)], summary=make_summary("p")))
    await import_store(other, result.path)
    try:
        assert await other.events("deepest") == logs["deepest"]
        listed = {summary.id for summary in await other.sessions()}
        assert listed == ({*NAMES} if is_there else {"a-branch", "deepest"})
        assert (await other.totals()).sessions == len(listed)
        assert (await other.health.check()).is_sound
        for name in ("deepest", "a-branch"):
            await other.retention.trash_session(name)
        await other.retention.empty_trash()
        assert len(await other.events("p")) == (3 if is_there else 0)
    finally:
        await other.close()


async def test_a_session_is_exported_with_its_versions_and_imported_as_one(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "a", WORKSPACE)
    other = await LevelDbStore.open(tmp_path / "b", OTHER_WORKSPACE)
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
    store = await LevelDbStore.open(tmp_path / "a", WORKSPACE)
    other = await LevelDbStore.open(tmp_path / "b", OTHER_WORKSPACE)
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


async def test_what_came_of_an_answer_and_of_its_calls_goes_along(tmp_path: Path) -> None:
    """An archive made meanwhile has what is saved of them; what is there already stays until it is whole."""
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

    calls = (ToolCall("c0", "run_command", "{}"), ToolCall("c1", "run_command", "{}"))
    answered = RecordedEvent(2, START_MS, AssistantSpoke("So far so good.", "m", 4, calls=calls))
    await store.commit(Commit("s", [answered]))
    await store.save_partial_answer("s", None)
    await import_store(store, archive)
    assert (await store.draft("s")).partial_answer is None, "an older archive brings back no part of it"
    printed = PartialOutput("c0", "12 passed"), PartialOutput("c1", "building")
    await store.save_partial_outputs("s", printed)
    await export_store(store, archive, "Name", START_MS)
    await import_store(other, archive)
    assert (await other.draft("s")).partial_answer is None, "the archive has all of it"
    assert (await other.events("s"))[1:] == [answered]
    assert (await other.draft("s")).partial_outputs == printed
    more = PartialOutput("c1", "building\ndone")
    await other.save_partial_outputs("s", [more])
    await import_store(other, archive)
    assert (await other.draft("s")).partial_outputs == (printed[0], more)

    output = ToolAnswered("c0", "run_command", "13 passed", "", 9, 3, 3)
    await other.commit(Commit("s", [RecordedEvent(3, START_MS, output)]))
    await import_store(other, archive)
    assert (await other.draft("s")).partial_outputs == (more,), "an answer takes its place"
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
