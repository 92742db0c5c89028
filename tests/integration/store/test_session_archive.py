"""One session as a file: what goes with it, and what stays behind."""

from __future__ import annotations

from pathlib import Path

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import Attachment, SubagentStarted
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import BranchKind, SessionBranched
from helix_desktop.domain.store import Commit, session_tree
from helix_desktop.store.archive_transfer import export_session, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.words.session_markdown import session_markdown
from helix_desktop.words.store_reports import export_summary, import_summary
from helix_desktop.words.translation import translate
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
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
