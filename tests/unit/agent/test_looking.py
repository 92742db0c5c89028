"""What a crash left is shown and usable at once, and recorded once: with the next act in the session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

import pytest
from msgspec.structs import replace

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded, Session, ShownEventsStored
from helix_desktop.agent.tool_calls.runner import CRASHED
from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.session import ChangesRecorded, SessionPinned, SessionStarted
from helix_desktop.domain.file_history.changes import CallMark, RevertSelection
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import (
    Commit,
    Content,
    Draft,
    EntrySort,
    ListPlace,
    PartialOutput,
    SessionSummary,
    StoreTotals,
)
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.changing_tools import ChangesRig, started
from tests.support.scripted_model import replies_in_order
from tests.unit.agent.test_crash import POLICY, UNREACHED, rich_session

Kind = Literal["answer", "output"]
KINDS: tuple[Kind, ...] = ("answer", "output")
ANSWER = "I found the leak"
OUTPUT = "a quokka stood here\n" * 3
PRINTED = f"{CRASHED}\n{OUTPUT}".encode()
Act = Callable[[OpenWorkspace, Conversation], Awaitable[object]]


async def crashed(kind: Kind) -> tuple[AgentRig, GatedStore]:
    """Return a store as a kill left it: in the middle of an answer, or of a call's output."""
    rig = await rich_session()
    log = rig.conversation.session.log
    end = max(entry.seq for entry in log if isinstance(entry.event, AssistantSpoke))
    answer = log[end - 1].event
    assert isinstance(answer, AssistantSpoke)
    if kind == "answer":
        end = max(entry.seq for entry in log[:end] if isinstance(entry.event, UserSpoke))
    store = GatedStore()
    for digest in {digest for entry in log[:end] for digest in digests_in(entry.event)}:
        await store.commit(Commit("s", contents=[Content(digest, await rig.store.get(digest))]))
    (listed,) = await rig.store.sessions()
    await store.commit(Commit("s", log[:end], summary=replace(listed, id="s", events=end, interrupted=True)))
    if kind == "answer":
        saved = AssistantSpoke(ANSWER, "test/scripted", 4, stop="stopped")
        await store.save_partial_answer("s", RecordedEvent(end, log[end - 1].at + 5_000, saved))
    else:
        await store.save_partial_outputs("s", [PartialOutput(answer.calls[0].id, OUTPUT, 3_000)])
    rig.model.script = replies_in_order()
    return rig, store


async def rows(
    store: GatedStore,
) -> tuple[list[RecordedEvent], list[SessionSummary], Draft, StoreTotals]:
    """Return what is stored of the session, and of all contents."""
    totals = await store.totals()
    return await store.events("s"), await store.sessions(), await store.draft("s"), totals


def shown_texts(session: Session) -> list[str]:
    events = [entry.event for entry in session.shown.events]
    return [event.text for event in events if isinstance(event, AssistantSpoke | ToolAnswered)]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_crash_left_is_shown_as_often_as_somebody_looks(kind: Kind) -> None:
    rig, store = await crashed(kind)
    before = await rows(store)
    logs = []
    for look in range(3):
        workspace = rig.create_workspace(store, POLICY)
        rig.clock.advance_s(3_600)
        session = (await workspace.open_session("s")).session
        workspace.note_seen("s")
        logs.append(list(session.log))
        assert session.log[-1].event == TurnEnded("interrupted", interruption="crash")
        assert shown_texts(session)[0] == (ANSWER if kind == "answer" else PRINTED.decode())
        assert await rows(store) == before
        if look == 1:  # the others end as a kill ends them
            await workspace.close_session("s")
    assert logs[0] == logs[1] == logs[2], "also the dates"
    saved_ms = 5_000 if kind == "answer" else 0
    assert logs[0][-1].at == before[0][-1].at + saved_ms


async def test_an_output_that_is_only_shown_is_read_listed_and_found_until_it_is_stored() -> None:
    rig, store = await crashed("output")
    digest = digest_of(PRINTED)
    count = len((await store.page()).entries)
    workspace = rig.create_workspace(store, POLICY)
    conversation = await workspace.open_session("s")

    async def check() -> None:
        assert await store.get(digest) == PRINTED
        assert (await store.entry(digest)).session == "s"
        assert await workspace.contents.resolve(digest[:12]) == digest
        (hit,) = (await store.search("quokka")).hits
        assert hit.entry.digest == digest
        columns: tuple[SortColumn, ...] = ("created", "size", "tool", "digest")
        for column in columns:
            for descending in (False, True):
                sort = EntrySort(column, descending)
                whole = [entry.digest for entry in (await store.page(order=sort)).entries]
                paged = []
                cursor = ""
                while True:
                    page = await store.page(cursor, limit=3, order=sort)
                    paged += [entry.digest for entry in page.entries]
                    cursor = page.cursor
                    if not cursor:
                        break
                assert paged == whole
                assert (await store.digests(sort)).hex() == "".join(whole)
                assert (len(whole), whole.count(digest)) == (count + 1, 1)

    await check()
    await workspace.close_session("s")
    assert await store.find(digest[:12]) == []
    conversation = await workspace.open_session("s")
    await check()
    await conversation.rename("Mended")
    await check()
    await workspace.close_session("s")
    await check()


async def _compact(_: OpenWorkspace, conversation: Conversation) -> None:
    conversation.handovers.start()
    await conversation.wait_for_background_work()


async def _redo(_: OpenWorkspace, conversation: Conversation) -> None:
    await conversation.window.redo(max(conversation.session.transcript.rewrites.handovers))


async def _retry(_: OpenWorkspace, conversation: Conversation) -> None:
    ended = asyncio.Event()
    conversation.session.on(TurnEnded, lambda _: ended.set())
    await conversation.retry()
    await ended.wait()


async def _rewind(workspace: OpenWorkspace, conversation: Conversation) -> None:
    log = conversation.session.log
    message = max(entry.seq for entry in log if isinstance(entry.event, UserSpoke))
    await workspace.branches.open_for_rewind("s", message)


ACTS: dict[str, Act] = {
    "send": lambda _, conversation: conversation.run("Go on."),
    "retry": _retry,
    "compact": _compact,
    "redo": _redo,
    "pin": lambda _, conversation: conversation.set_place(ListPlace(pinned=True)),
    "archive": lambda workspace, _: workspace.move_in_list("s", archived=True),
    "rename": lambda workspace, _: workspace.rename("s", "Another title"),
    "hold": lambda _, conversation: conversation.hold(on=True),
    "mode": lambda _, conversation: conversation.set_mode("plan"),
    "branch": lambda workspace, _: workspace.branches.open("s"),
    "rewind": _rewind,
    "new session": lambda workspace, _: workspace.continue_session("s"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ACTS)
async def test_each_act_records_what_a_crash_left_once(kind: Kind, name: str) -> None:
    rig, store = await crashed(kind)
    killed = await store.events("s")
    await rig.create_workspace(store, POLICY).open_session("s")  # a second kill, before any act
    workspace = rig.create_workspace(store, POLICY)
    conversation = await workspace.open_session("s")
    session = conversation.session
    shown = list(session.shown.events)
    updates: list[object] = []
    session.on(EventRecorded | ShownEventsStored, updates.append)

    await ACTS[name](workspace, conversation)
    await conversation.wait_for_background_work()
    await session.drain()
    stored = await store.events("s")
    assert stored == session.log
    assert stored[: len(killed) + len(shown)] == [*killed, *shown]
    assert updates[0] == ShownEventsStored(tuple(shown))
    assert len([one for one in updates if isinstance(one, ShownEventsStored)]) == 1
    assert await store.draft("s") == Draft()
    (listed,) = [summary for summary in await store.sessions() if summary.id == "s"]
    assert listed.events == len(stored)
    for digest in {digest for entry in stored for digest in digests_in(entry.event)}:
        assert digest_of(await store.get(digest)) == digest
    await workspace.close()

    assert [entry.event for entry in stored].count(shown[-1].event) == 1


async def test_what_is_found_while_a_branch_is_made_is_recorded_behind_it() -> None:
    rig, store = await crashed("output")
    workspace = rig.create_workspace(store, POLICY)
    conversation = await workspace.open_session("s")
    session = conversation.session
    store.gated_event_types = (ToolAnswered,)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(workspace.branches.open("s"))
        await store.gate_reached.wait()
        pinned = SessionPinned(pinned=True)
        tasks.create_task(session.show_or_record(lambda: [pinned], lambda: asyncio.sleep(0)))
        await asyncio.sleep(0)  # it waits for the commit now
        store.gate.set()
    await session.drain()
    assert session.log[-1].event == pinned
    assert await store.events("s") == session.log


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_keeps_what_is_shown() -> None:
    rig, store = await crashed("output")
    workspace = rig.create_workspace(store, POLICY)
    conversation = await workspace.open_session("s")
    before = await rows(store)
    log = list(conversation.session.log)
    store.first_failing_write = 0
    with pytest.raises(StoreWriteFailed):
        await conversation.rename("Another title")
    assert conversation.session.log == log
    assert await rows(store) == before
    store.first_failing_write = UNREACHED
    await conversation.rename("Another title")
    assert await store.events("s") == conversation.session.log
    assert conversation.session.log[: len(log)] == log


async def cut_edit() -> tuple[ChangesRig, GatedStore, str]:
    """Return a store that a kill left while an edit was answered, the capture of the edit, and its rig."""
    rig = await started()
    call = ToolCall("c0", "edit", "{}")
    log: list[Event] = [
        SessionStarted("Edit"),
        UserSpoke("Edit a.txt.", 3),
        AssistantSpoke("", "test/scripted", 2, (call,)),
    ]
    store = GatedStore()
    await store.commit(Commit("s", [RecordedEvent(n, 1_000, event) for n, event in enumerate(log, 1)]))
    await rig.history.begin_call(CallMark("s", call.id, "a.txt", ("a.txt",)))
    rig.files.write("a.txt", b"changed\n")
    captured = await rig.history.end_call("s", call.id)
    assert captured is not None
    return rig, store, captured.capture.id


def _has(session: Session, capture: str) -> bool:
    return capture in session.transcript.captures


@pytest.mark.parametrize("act", ["revert", "rename", "send"])
async def test_captured_changes_are_shown_and_reverted_before_anything_is_recorded(act: str) -> None:
    rig, store, capture = await cut_edit()
    session_id = "s"
    killed = await store.events(session_id)
    await rig.create_workspace(store, POLICY).open_session(session_id)  # a second kill, before the act
    workspace = rig.create_workspace(store, POLICY)
    conversation = await workspace.open_session(session_id)
    for _ in range(2):
        await rig.wait_until(partial(_has, conversation.session, capture))
        changes = await workspace.changes.of_session(session_id)
        assert [row.capture_id for row in changes.captures] == [capture]
        assert await store.events(session_id) == killed
        assert rig.history.unrecorded_ids == (capture,), "its place keeps it"

    if act == "revert":
        plan = await workspace.changes.plan(session_id, RevertSelection((capture,), scope="step"))
        assert await workspace.changes.revert(session_id, plan, {}) is not None
        assert rig.files.read("a.txt") == b"one\ntwo\n"
    elif act == "rename":
        await conversation.rename("Another title")
    else:
        rig.model.script = replies_in_order()
        await conversation.run("Go on.")
    stored = await store.events(session_id)
    assert stored == conversation.session.log
    recorded = [entry.event.capture for entry in stored if isinstance(entry.event, ChangesRecorded)]
    assert recorded.count(capture) == 1
    assert rig.history.unrecorded_ids == ()
