"""What every store must do, of branches too: the durable one, its twin in memory, clients of an owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentTooLarge, DigestUnknown, StoreClosed
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, SubagentStarted, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.image import Image
from helix_desktop.domain.store import Commit, Content, Draft, PartialOutput, SessionSummary
from helix_desktop.store.kinds import MAX_VALUE_BYTES
from tests.support.store.builders import (
    START_MS,
    TickingClock,
    checkpoint_event,
    handover_event,
    make_content,
    make_summary,
    open_kind,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.search_samples import collect_entries


@pytest.fixture(params=["leveldb", "memory", "socket", "loopback"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_kind(request.param, tmp_path / "store", TickingClock()) as store:
        yield store
        if request.param in ("leveldb", "memory"):  # a client's check is its owner's
            with suppress(StoreClosed):
                assert (await store.health.check()).problems == ()


@pytest.mark.parametrize("size", [0, 1, 600, 1 << 20, (1 << 20) + 1, 3_000_001])
async def test_bytes_come_back_exactly(store: Store, size: int) -> None:
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    content = make_content(data)
    await store.commit(Commit("s", contents=[content]))
    assert await store.get(content.digest) == data
    assert (await store.entry(content.digest)).size == size
    assert (await store.totals()).size == size


async def test_identical_content_is_stored_once_and_keeps_its_first_record(store: Store) -> None:
    first = make_content(b"same", tool="grep")
    again = make_content(b"same", tool="shell")
    await store.commit(Commit("s", contents=[first, again]))
    before = await store.entry(first.digest)
    await store.commit(Commit("t", contents=[again]))
    after = await store.entry(first.digest)
    assert after.last_used > before.last_used, "to store it again is a use"
    assert msgspec.structs.replace(after, last_used=before.last_used) == before
    assert before.tool == "grep"
    totals = await store.totals()
    assert (totals.entries, totals.size) == (1, 4)


async def test_events_come_back_unchanged(store: Store) -> None:
    data = b"output"
    verbatim = {"id": 10**30, "parts": [{"signature": "x" * 5000}, None, 1.5]}
    log = [
        user_message_event(1, "grüße 🌍"),
        RecordedEvent(2, START_MS, AssistantSpoke("ok", "m", 3, verbatim=verbatim)),
        tool_answer_event(3, data),
        handover_event(4, b"index"),
    ]
    await store.commit(Commit("s", log[:1]))
    await store.commit(Commit("s", log[1:], [make_content(data), make_content(b"index", kind="index")]))
    assert await store.events("s") == log
    assert await store.events("other") == []


@pytest.mark.parametrize("seqs", [[2], [0], [1, 3], [1, 1]])
async def test_a_commit_with_a_gap_in_the_log_is_refused_entirely(store: Store, seqs: list[int]) -> None:
    content = make_content(b"with it")
    with pytest.raises(ValueError, match="goes on with event"):
        await store.commit(
            Commit("s", [user_message_event(seq) for seq in seqs], [content], summary=make_summary("s"))
        )
    assert await store.events("s") == []
    assert await store.sessions() == []
    with pytest.raises(DigestUnknown):
        await store.get(content.digest)


async def test_an_event_may_not_reference_missing_content(store: Store) -> None:
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", [tool_answer_event(1, b"nowhere")]))
    attached = UserSpoke("see", 1, (Attachment(digest_of(b"nowhere"), "a", "b", 1, 1),))
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", [RecordedEvent(1, START_MS, attached)]))
    with pytest.raises(ValueError, match="not stored"):
        await store.commit(Commit("s", recalls=[digest_of(b"nowhere")]))
    assert await store.events("s") == []


async def test_content_must_match_its_digest(store: Store) -> None:
    with pytest.raises(ValueError, match="another SHA-256"):
        await store.commit(Commit("s", contents=[Content(digest_of(b"a"), b"b")]))
    with pytest.raises(ValueError, match="not a SHA-256"):
        await store.commit(Commit("s", contents=[Content("short", b"b")]))
    assert (await store.totals()).entries == 0


async def test_references_and_recalls_are_counted(store: Store) -> None:
    content = make_content(b"named")
    await store.commit(Commit("s", [tool_answer_event(1, b"named")], [content]))
    await store.commit(
        Commit("t", [tool_answer_event(1, b"named", recalled_digest=content.digest), user_message_event(2)])
    )
    await store.commit(Commit("t", [tool_answer_event(3, b"named")], recalls=[content.digest]))
    entry = await store.entry(content.digest)
    assert (entry.references, entry.recalls) == (3, 1)
    assert (entry.created, entry.last_used) == (START_MS + 1000, START_MS + 3000)
    assert (await store.page()).entries == (entry,)


async def test_an_unknown_digest_is_refused_with_near_matches(store: Store) -> None:
    content = make_content(b"known")
    await store.commit(Commit("s", contents=[content]))
    near = content.digest[:10] + "0" * 54
    with pytest.raises(DigestUnknown) as caught:
        await store.get(near)
    assert caught.value.near == (content.digest,)
    assert content.digest in str(caught.value)
    for text in ("", "zz", content.digest[:20], content.digest.upper(), "f" * 65):
        with pytest.raises(DigestUnknown):
            await store.get(text)
        with pytest.raises(DigestUnknown):
            await store.entry(text)


async def test_find_takes_prefixes_of_any_length(store: Store) -> None:
    contents = [make_content(b"%d" % number) for number in range(300)]
    await store.commit(Commit("s", contents=contents))
    digests = sorted(content.digest for content in contents)
    for prefix in ("0", "a", "f", digests[7][:3], digests[7][:4], digests[7]):
        expected = [digest for digest in digests if digest.startswith(prefix)]
        assert await store.find(prefix, 1000) == expected
        assert await store.find(prefix, 2) == expected[:2]
        assert [entry.digest for entry in await collect_entries(store, 3, prefix=prefix)] == expected
    for wrong in ("", "g", "A", "a" * 65):
        with pytest.raises(ValueError, match="hex"):
            await store.find(wrong)


@pytest.mark.parametrize("count", [1, 2, 5, 7])
async def test_pages_show_each_entry_once_in_both_orders(store: Store, count: int) -> None:
    # Two contents in each commit: equal times must not lose or repeat an entry.
    for number in range(count):
        await store.commit(
            Commit("s", contents=[make_content(b"a%d" % number), make_content(b"b%d" % number)])
        )
    newest = await collect_entries(store, 3)
    assert len({entry.digest for entry in newest}) == 2 * count
    assert [entry.created for entry in newest] == sorted((entry.created for entry in newest), reverse=True)
    assert await collect_entries(store, 3, "oldest") == newest[::-1]
    assert await collect_entries(store, 1) == newest
    assert await collect_entries(store, 2 * count) == newest


async def test_invalid_cursors_and_limits_are_refused(store: Store) -> None:
    await store.commit(Commit("s", contents=[make_content(b"1"), make_content(b"2")]))
    by_digest = digest_of(b"1")[0]
    for cursor in ("nonsense", "00", "ff" * 41):
        with pytest.raises(ValueError, match="cursor"):
            await store.page(cursor)
        with pytest.raises(ValueError, match="cursor"):
            await store.page(cursor, prefix=by_digest)
    with pytest.raises(ValueError, match="at least one"):
        await store.page(limit=0)


async def test_sessions_come_last_updated_first(store: Store) -> None:
    for session_id, updated in (("a", 5), ("b", 9), ("c", 7), ("d", 7)):
        await store.commit(
            Commit(session_id, [user_message_event(1)], summary=make_summary(session_id, updated))
        )
    await store.commit(Commit("a", [user_message_event(2)], summary=make_summary("a", 8, "renamed")))
    assert [(session.id, session.title) for session in await store.sessions()] == [
        ("b", "a title"),
        ("a", "renamed"),
        ("c", "a title"),
        ("d", "a title"),
    ]
    assert (await store.totals()).sessions == 4


@pytest.mark.parametrize("session_id", ["", "a\0b", "x" * 201])
async def test_invalid_session_names_are_refused(store: Store, session_id: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        await store.commit(Commit(session_id, [user_message_event(1)]))
    with pytest.raises(ValueError, match="session id"):
        await store.events(session_id)
    with pytest.raises(ValueError, match="session id"):
        await store.draft(session_id)
    with pytest.raises(ValueError, match="session id"):
        await store.save_draft(session_id, "x")


async def test_a_summary_of_another_session_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="summary"):
        await store.commit(Commit("s", summary=make_summary("t")))


async def test_a_draft_comes_back_with_its_attachments(store: Store) -> None:
    picture = Attachment("a" * 64, "lamp.png", "", 90, 12, Image("a" * 64, "image/png", 8, 8, 12, "lamp.png"))
    recalled = Attachment("b" * 64, "read_file a.py", "import os", 2, 9)
    await store.save_draft("s", "", (picture, recalled))
    assert await store.draft("s") == Draft("", (picture, recalled))
    await store.save_draft("s", "look", (picture,))
    assert await store.draft("s") == Draft("look", (picture,))
    await store.save_draft("s", "", ())
    assert not await store.draft("s")


async def test_what_came_of_an_answer_is_stored_with_the_draft(store: Store) -> None:
    answer = RecordedEvent(2, 7, AssistantSpoke("I found", "scripted", 0, stop="stopped"))
    await store.save_partial_answer("s", answer)
    assert await store.draft("s") == Draft(partial_answer=answer)
    assert not await store.draft("s")
    await store.save_draft("s", "typed")
    assert await store.draft("s") == Draft("typed", partial_answer=answer)
    outputs = (PartialOutput("c1", "begun\n"), PartialOutput("c2", "half"))
    await store.save_partial_outputs("s", outputs)
    assert await store.draft("s") == Draft("typed", partial_answer=answer, partial_outputs=outputs)
    await store.save_partial_outputs("s", [])
    await store.save_partial_answer("s", None)
    assert await store.draft("s") == Draft("typed")
    assert (await store.draft("t")).partial_answer is None
    await store.save_partial_answer("s", answer)
    await store.commit(Commit("s", [user_message_event(1)], ends_partial_answer=True))
    assert await store.draft("s") == Draft("typed")


async def test_content_over_the_cap_is_refused_clearly(store: Store) -> None:
    big = Content("0" * 64, bytes(MAX_VALUE_BYTES + 1), "run_command")
    with pytest.raises(ContentTooLarge, match=r"67,108,865 bytes.*at most 67,108,864 bytes"):
        await store.commit(Commit("s", [user_message_event(1)], [big]))
    assert await store.events("s") == []


async def test_concurrent_commits_keep_their_order(store: Store) -> None:
    await asyncio.gather(*(store.commit(Commit("s", [user_message_event(seq)])) for seq in range(1, 201)))
    assert await store.events("s") == [user_message_event(seq) for seq in range(1, 201)]


async def test_a_refused_commit_does_not_fail_its_neighbors(store: Store) -> None:
    good = [
        store.commit(Commit("s", [user_message_event(1)])),
        store.commit(Commit("s", [user_message_event(2)])),
    ]
    results = await asyncio.gather(
        good[0], store.commit(Commit("s", [user_message_event(7)])),
        store.commit(Commit("t", [tool_answer_event(1, b"?")])), good[1],
        return_exceptions=True,
    )  # fmt: skip
    assert [type(result) for result in results] == [type(None), ValueError, ValueError, type(None)]
    assert await store.events("s") == [user_message_event(1), user_message_event(2)]


async def test_content_may_be_referenced_by_the_next_commit_before_it_is_acknowledged(store: Store) -> None:
    first = store.commit(Commit("s", contents=[make_content(b"early")]))
    second = store.commit(Commit("s", [tool_answer_event(1, b"early")]))
    await asyncio.gather(first, second)
    assert (await store.entry(digest_of(b"early"))).references == 1


async def test_every_call_after_close_is_refused(store: Store) -> None:
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    await store.close()
    calls = [
        store.commit(Commit("s", [user_message_event(2)])),
        store.events("s"),
        store.sessions(),
        store.get("0" * 64),
        store.entry("0" * 64),
        store.find("0"),
        store.page(),
        store.totals(),
        store.save_draft("s", "x"),
        store.save_partial_answer("s", None),
        store.save_partial_outputs("s", []),
        store.draft("s"),
        store.health.check(),
        store.health.acknowledge(),
    ]
    for call in calls:
        with pytest.raises(StoreClosed):
            await call


async def test_an_intact_store_passes_its_check_and_reports_no_damage(store: Store) -> None:
    reports: list[str] = []
    progress: list[tuple[int, int]] = []
    unsubscribe = store.health.listen(lambda error: reports.append(error.what))
    for number in range(3):
        data = b"output %d" % number
        await store.commit(
            Commit(
                "s", [tool_answer_event(number + 1, data)], [make_content(data)], summary=make_summary("s")
            )
        )
        assert await store.get(digest_of(data)) == data
    problems = await store.health.check(lambda done, total: progress.append((done, total)))
    assert problems.is_sound
    assert problems.contents == 3
    assert progress[-1] == (3, 3)
    assert store.health.report is None
    await store.health.acknowledge()
    unsubscribe()
    assert reports == []


SHARED = b"of the shared part"
LATER = b"of the parent, later"
OWN = b"of the branch"


def recorded(seq: int, event: Event) -> RecordedEvent:
    return RecordedEvent(seq, START_MS + seq, event)


async def commit(store: Store, session_id: str, *events: RecordedEvent, data: bytes = b"") -> None:
    """Commit events with a summary and perhaps a content."""
    contents = [make_content(data)] if data else []
    await store.commit(Commit(session_id, events, contents, summary=make_summary(session_id)))


async def branch(store: Store, name: str, parent: str, seq: int) -> None:
    await commit(store, name, recorded(seq + 1, SessionBranched(parent, seq, name)))


async def family(store: Store) -> None:
    """A parent of four events, a branch of its first two with one more, and a branch of that one."""
    await commit(store, "p", user_message_event(1), tool_answer_event(2, SHARED), data=SHARED)
    await commit(store, "p", user_message_event(3), tool_answer_event(4, LATER), data=LATER)
    await branch(store, "b", "p", 2)
    await commit(store, "b", tool_answer_event(4, OWN), data=OWN)
    await branch(store, "c", "b", 4)
    await commit(store, "c", user_message_event(6, "deepest"))


async def kinds(store: Store, session_id: str) -> list[str]:
    """Return the log as words: what each event says."""
    log = await store.events(session_id)
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    return [
        getattr(entry.event, "digest", "")[:4] or getattr(entry.event, "title", "") or "message"
        for entry in log
    ]


async def test_a_branch_has_its_parents_events_and_then_its_own(store: Store) -> None:
    await family(store)
    shared, later, own = (digest_of(data)[:4] for data in (SHARED, LATER, OWN))
    assert await kinds(store, "p") == ["message", shared, "message", later]
    assert await kinds(store, "b") == ["message", shared, "b", own]
    assert await kinds(store, "c") == ["message", shared, "b", own, "c", "message"]
    assert (await store.events("c"))[:2] == (await store.events("p"))[:2]
    assert [digest[:4] for digest in await store.retention.session_digests("c")] == [shared, own]
    assert (await store.entry(digest_of(SHARED))).references == 1  # nothing of the parent is copied


@pytest.mark.parametrize(
    ("parent", "seq"),
    [("p", 5), ("nobody", 1), ("new", 1), ("p", 0)],
    ids=["behind", "unknown", "self", "zero"],
)
async def test_a_branch_of_what_is_not_there_is_refused(store: Store, parent: str, seq: int) -> None:
    await family(store)
    with pytest.raises(ValueError, match=r"begin with|goes on"):
        await branch(store, "new", parent, seq)
    assert await store.events("new") == []
    assert {summary.id for summary in await store.sessions()} == {"p", "b", "c"}


async def test_a_deleted_parent_is_hidden_and_goes_with_its_last_branch(store: Store) -> None:
    await family(store)
    whole = {name: await store.events(name) for name in "bc"}
    await store.retention.trash_session("p")
    assert {summary.id for summary in await store.sessions()} == {"b", "c"}
    assert (await store.retention.empty_trash()).sessions == ("p",)
    assert {name: await store.events(name) for name in "bc"} == whole
    assert (await store.retention.trash()).sessions == ()
    assert (await store.totals()).sessions == 2
    assert len(await store.events("p")) == 2  # up to the point that the branch needs
    assert (await store.entry(digest_of(LATER))).references == 0
    assert (await store.entry(digest_of(SHARED))).references == 1

    await store.retention.trash_session("b")
    await store.retention.empty_trash()
    assert await store.events("c") == whole["c"]
    assert (await store.entry(digest_of(OWN))).references == 1

    await store.retention.trash_session("c")
    assert (await store.retention.empty_trash()).sessions == ("c",)
    assert [await store.events(name) for name in "pbc"] == [[], [], []]
    assert [(await store.entry(digest_of(data))).references for data in (SHARED, LATER, OWN)] == [0, 0, 0]
    assert (await store.totals()).sessions == 0


async def test_a_checkpoint_belongs_to_the_branches_behind_it(store: Store) -> None:
    """A branch from before it has none; one from behind it has it, also when its parent is gone."""
    log = [user_message_event(1), user_message_event(2), checkpoint_event(3, "The tide gauge is broken.")]
    await commit(store, "p", *log)
    await branch(store, "before", "p", 2)
    await branch(store, "behind", "p", 3)
    await commit(store, "behind", checkpoint_event(5, "The tide gauge is mended.", updates=3))

    async def found() -> list[tuple[str, int]]:
        return [(hit.session, hit.seq) for hit in await store.search_handovers("tide gauge")]

    assert await found() == [("behind", 5), ("p", 3)]
    own = {name: Transcript(await store.events(name)).checkpoints for name in ("p", "before", "behind")}
    assert {name: list(checkpoints) for name, checkpoints in own.items()} == {
        "p": [3],
        "before": [],
        "behind": [3, 5],
    }
    await store.retention.trash_session("p")
    assert await found() == [("behind", 5)]
    await store.retention.empty_trash()
    assert list(Transcript(await store.events("behind")).checkpoints) == [3, 5]
    assert await found() == [("behind", 5)]
    await store.retention.trash_session("behind")
    await store.retention.empty_trash()
    assert await found() == []


async def test_a_handover_of_a_deleted_parent_is_found_in_a_branch(store: Store) -> None:
    index = b"of the handover"
    await commit(store, "p", user_message_event(1), handover_event(2, index), data=index)
    await branch(store, "b", "p", 2)
    await branch(store, "c", "b", 3)
    assert [hit.session for hit in await store.search_handovers("ledger")] == ["p"]
    for gone in ("p", "b"):
        await store.retention.trash_session(gone)
        found = [hit.session for hit in await store.search_handovers("ledger")]
        await store.retention.empty_trash()
        again = [hit.session for hit in await store.search_handovers("ledger")]
        assert found == again == (["b"] if gone == "p" else ["c"])


async def test_subagents_of_the_shared_part_stay_for_the_branch(store: Store) -> None:
    await commit(store, "p", user_message_event(1), recorded(2, SubagentStarted("c1", "early", "t")))
    await branch(store, "b", "p", 2)
    await commit(store, "p", recorded(3, SubagentStarted("c2", "late", "t")))
    for name in ("early", "late"):
        summary = SessionSummary(name, name, START_MS, START_MS, parent="p")
        await store.commit(Commit(name, [user_message_event(1)], summary=summary))
    await store.retention.trash_session("p")
    await store.retention.empty_trash()
    assert len(await store.events("early")) == 1
    assert await store.events("late") == []
    await store.retention.trash_session("b")
    await store.retention.empty_trash()
    assert [await store.events(name) for name in ("p", "early")] == [[], []]
    assert (await store.totals()).sessions == 0


async def test_what_such_a_subagent_alone_names_goes_with_the_last_branch(store: Store) -> None:
    """It was never in the trash itself: its outputs were last used before its session went there."""
    await commit(store, "p", user_message_event(1), recorded(2, SubagentStarted("c1", "early", "t")))
    await branch(store, "b", "p", 2)
    summary = SessionSummary("early", "early", START_MS, START_MS, parent="p")
    await store.commit(Commit("early", [tool_answer_event(1, OWN)], [make_content(OWN)], summary=summary))
    await store.retention.trash_session("p")
    await store.retention.delete_permanently((), ["p"])
    await store.retention.trash_session("b")
    deleted = await store.retention.delete_permanently((), ["b"])
    assert (deleted.digests, deleted.staying.entries) == ((digest_of(OWN),), 0)
