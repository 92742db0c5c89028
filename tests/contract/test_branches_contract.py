"""Branches that every store must share, in examples and in any order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionBranched
from helix_desktop.domain.store import Commit, SessionSummary
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

SHARED, LATER, OWN = b"of the shared part", b"of the parent, later", b"of the branch"


@pytest.fixture(params=["leveldb", "memory", "socket"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_kind(request.param, tmp_path / "store", TickingClock()) as store:
        yield store
        if request.param != "socket":  # its check is the owner's
            assert (await store.health.check()).problems == ()


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
