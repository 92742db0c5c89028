"""The app is killed, or the disk is full: nothing acknowledged is lost, nothing is half applied."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import (
    INTERRUPTED,
    CallOutput,
    ErrorRaised,
    EventRecorded,
    ResponseDelta,
    did_not_run,
)
from helix_desktop.agent.tool_calls import runner
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.agent.tool_calls.runner import CRASHED
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.cost import Spending
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import ForeignRecords, SessionImported
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import SweepMade, Undone
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    ToolCall,
)
from helix_desktop.domain.store import Commit, Content, Draft, ListPlace, PartialOutput
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    SendingModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

POLICY = msgspec.structs.replace(PROFILES["plain"], protect_steps=2)
UNREACHED = 10**9
NO_DRAFT = Draft()


async def rich_session() -> AgentRig:
    """Run concurrent calls, a question, sweeps, an undone handover, a stop, and a queued message."""
    arguments = {"text": "words " * 10, "times": 30}
    steps = [
        tool_call_reply(("say", arguments), ("ask", {}), text="thinking " * 450, id_prefix=f"k{n}")
        for n in range(9)
    ]
    rig, conversation = await begin_with(
        *steps,
        text_reply("Done."),
        text_reply("Yes."),
        tool_call_reply(("wait", {}), ("say", {})),
        policy=POLICY,
        approver=FixedApprover("once"),
    )
    await rig.say("Work.", "And now?")
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    await conversation.window.undo(max(conversation.session.transcript.rewrites.handovers))
    await conversation.send("Wait.")
    await rig.tools.started.wait()
    await conversation.send("Later.")
    await conversation.stop()
    await rig.assert_consistent()
    for kind in (SweepMade, HandoverMade, Undone):
        assert rig.events(kind)
    return rig


async def store_cut_at(rig: AgentRig, length: int) -> GatedStore:
    """Return a store with the session's first events only, as if the app had been killed then."""
    log = rig.conversation.session.log[:length]
    store = GatedStore()
    for digest in {digest for recorded in log for digest in digests_in(recorded.event)}:
        await store.commit(Commit("s", contents=[Content(digest, await rig.store.get(digest))]))
    await store.commit(Commit("s", log))
    return store


async def test_a_session_interrupted_anywhere_opens_and_continues() -> None:
    """After every single event: repaired, marked as interrupted, and the next request is valid."""
    rig = await rich_session()
    log = rig.conversation.session.log
    for length in range(1, len(log) + 1):
        store = await store_cut_at(rig, length)
        rig.model.script = replies_in_order()
        workspace = rig.create_workspace(store, POLICY)
        conversation = await workspace.open_session("s")
        assert await workspace.open_session("s") is conversation
        assert conversation.session.log[:length] == log[:length]
        assert await store.events("s") == log[:length], "to look at it stores nothing"
        added = [recorded.event for recorded in conversation.session.log[length:]]
        if _in_a_turn(log[:length]):
            assert added[-1] == TurnEnded("interrupted", interruption="crash")
            assert all(isinstance(event, ToolAnswered) and event.text == INTERRUPTED for event in added[:-1])
        else:
            assert added == []
        await _check_continues(rig, workspace)


async def test_a_call_that_waited_for_approval_in_a_crash_is_said_not_to_have_run() -> None:
    rig = AgentRig(ScriptedModel(replies_in_order()))
    calls = tuple(ToolCall(f"c{n}", name, "{}") for n, name in enumerate(("run_command", "fetch_url")))
    events: tuple[Event, ...] = (
        UserSpoke("Go.", 2),
        AssistantSpoke("", "m", 2, calls),
        ApprovalGiven("c0", "run_command", "make", "once"),
    )
    store = GatedStore()
    await store.commit(Commit("s", [RecordedEvent(n, 1_000, event) for n, event in enumerate(events, 1)]))
    workspace = rig.create_workspace(store, POLICY)
    log = (await workspace.open_session("s")).session.log
    texts = [recorded.event.text for recorded in log if isinstance(recorded.event, ToolAnswered)]
    assert texts == [INTERRUPTED, "This call did not run: the app stopped while it waited for approval."]
    assert [did_not_run(text) for text in texts] == [False, True]
    await workspace.close()


async def store_after_crash(rig: AgentRig) -> GatedStore:
    """Return a copy of the store as a crash would leave it now: the log, and what was saved unrecorded."""
    session_id = rig.conversation.session.id
    store = GatedStore()
    await store.commit(Commit(session_id, await rig.store.events(session_id)))
    unrecorded = await rig.store.draft(session_id)
    await store.save_draft(session_id, unrecorded.text)
    await store.save_partial_answer(session_id, unrecorded.partial_answer)
    await store.save_partial_outputs(session_id, unrecorded.partial_outputs)
    return store


async def half_answered(store: GatedStore | None = None) -> tuple[AgentRig, asyncio.Event]:
    """Return a conversation that began an answer a second ago, and the event that ends it."""
    more = asyncio.Event()
    end = asyncio.Event()
    answer: ScriptedReply = [
        TextDelta("I found "),
        more,
        TextDelta("the leak"),
        end,
        ModelResponse("I found the leak."),
    ]
    rig, conversation = await begin_with(answer, text_reply("Done."), policy=POLICY, store=store)
    await conversation.send("Look.")
    await rig.wait_for_updates(ResponseDelta)
    assert await rig.store.draft(conversation.session.id) == Draft()
    rig.clock.advance_s(1)
    more.set()
    return rig, end


async def test_a_crash_leaves_what_stood_on_screen_of_an_answer_a_second_before() -> None:
    rig, end = await half_answered()
    session_id = rig.conversation.session.id
    await rig.store.save_draft(session_id, "typed meanwhile")
    await rig.wait_for_updates(ResponseDelta, 2)
    crashed = await store_after_crash(rig)
    end.set()
    await rig.wait_until_idle()
    assert [answer.text for answer in rig.events(AssistantSpoke)] == ["I found the leak."]
    assert await rig.store.draft(session_id) == Draft("typed meanwhile")

    workspace = rig.create_workspace(crashed, POLICY)
    log = (await workspace.open_session(session_id)).session.log
    answer, ended = (recorded.event for recorded in log[-2:])
    assert isinstance(answer, AssistantSpoke)
    assert (answer.text, answer.stop, answer.tokens) == ("I found the leak", "stopped", 4)
    assert ended == TurnEnded("interrupted", interruption="crash")
    assert (await crashed.draft(session_id)).partial_answer is not None
    await _check_continues(rig, workspace, Draft("typed meanwhile"))


async def test_a_very_long_answer_is_saved_more_seldom() -> None:
    """Each save writes all of it: once a second, the end of an endless answer would only be written."""
    second = asyncio.Event()
    third = asyncio.Event()
    end = asyncio.Event()
    long = "word " * 250_000
    answer: ScriptedReply = [
        TextDelta(long),
        second,
        TextDelta("on "),
        third,
        TextDelta("and on"),
        end,
        ModelResponse(f"{long}on and on"),
    ]
    rig, conversation = await begin_with(answer, text_reply("Done."), policy=POLICY, store=GatedStore())
    session_id = conversation.session.id
    await conversation.send("Look.")
    await rig.wait_for_updates(ResponseDelta)
    rig.clock.advance_s(1)
    second.set()
    await rig.wait_for_updates(ResponseDelta, 2)
    assert (await rig.store.draft(session_id)).partial_answer is None

    rig.clock.advance_s(2)
    third.set()
    await rig.wait_for_updates(ResponseDelta, 3)
    saved = (await rig.store.draft(session_id)).partial_answer
    assert saved is not None
    assert isinstance(saved.event, AssistantSpoke)
    assert saved.event.text == f"{long}on and on"
    end.set()
    await rig.wait_until_idle()


async def test_a_request_that_was_stopped_or_killed_is_counted_once() -> None:
    started = asyncio.Event()
    never = asyncio.Event()

    def silent(_: ModelRequest) -> ScriptedReply:
        started.set()
        return [never]

    rig = AgentRig(SendingModel(silent), POLICY)
    session_id = (await rig.begin()).session.id
    await rig.conversation.send("Look.")
    await started.wait()
    crashed = await store_after_crash(rig)
    await rig.conversation.stop()
    (stopped,) = rig.events(TurnEnded)
    spent = stopped.spent
    assert spent > 0
    assert rig.conversation.session.transcript.spending == Spending(spent, estimated=True, unpriced=spent)
    assert await rig.store.draft(session_id) == Draft()

    opened = await rig.create_workspace(crashed, POLICY).open_session(session_id)
    killed = opened.session.log[-1].event
    assert killed == TurnEnded("interrupted", interruption="crash", spent=spent, unpriced=spent)
    reopened = await rig.create_workspace(crashed, POLICY).open_session(session_id)
    assert reopened.session.transcript.spending == Spending(spent, estimated=True, unpriced=spent)


async def test_an_attempt_that_broke_off_is_counted_once_although_a_kill_follows() -> None:
    reply: ScriptedReply = [TextDelta("Half"), RetryScheduled(2, 0.0, verbatim("cut")), asyncio.Event()]
    rig = AgentRig(SendingModel(lambda _: reply), POLICY)
    session = (await rig.begin()).session
    await rig.conversation.send("Look.")
    await rig.wait_until(lambda: rig.events(HandoverDiscarded))
    (lost,) = rig.events(HandoverDiscarded)
    assert lost.spent > 0
    counted = Spending(lost.spent, estimated=True, unpriced=lost.spent)
    opened = await rig.create_workspace(await store_after_crash(rig), POLICY).open_session(session.id)
    assert opened.session.transcript.spending == counted
    await rig.conversation.stop()
    assert session.transcript.spending == counted


class WatchedStore(GatedStore):
    def __init__(self) -> None:
        super().__init__()
        self.has_outputs = asyncio.Event()

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        await super().save_partial_outputs(session_id, outputs)
        self.has_outputs.set()


async def test_a_crash_leaves_what_a_running_call_had_printed_and_how_long_it_had_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "_SAVE_EVERY_S", 0)
    store = WatchedStore()
    script = replies_in_order(tool_call_reply(("wait", {})), text_reply("Done."))
    rig = AgentRig(ScriptedModel(script), POLICY, store=store)
    session_id = (await rig.begin()).session.id
    rig.conversation.session.on(CallOutput, lambda _: rig.clock.advance_s(7))
    await rig.conversation.send("Look.")
    await store.has_outputs.wait()
    crashed = await store_after_crash(rig)
    rig.clock.advance_s(120)
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert await store.draft(session_id) == Draft()

    workspace = rig.create_workspace(crashed, POLICY)
    log = (await workspace.open_session(session_id)).session.log
    answer, ended = (recorded.event for recorded in log[-2:])
    assert isinstance(answer, ToolAnswered)
    assert (answer.call_id, answer.ok, answer.outcome) == ("c0", False, "interrupted")
    assert answer.text == f"{CRASHED}\nwaiting for the gate"
    assert answer.duration_ms == 14_000, "of two outputs, when they were saved"
    assert await crashed.get(answer.digest) == answer.text.encode()
    assert ended == TurnEnded("interrupted", interruption="crash")
    assert (await crashed.draft(session_id)).partial_outputs != ()
    await _check_continues(rig, workspace)


@pytest.mark.expect_errors("task record .* failed")
async def test_an_output_that_cannot_be_recorded_is_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it by the app that had it, and after a kill as far as it was saved."""
    monkeypatch.setattr(runner, "_SAVE_EVERY_S", 0)
    store = WatchedStore()
    rig, conversation = await begin_with(tool_call_reply(("wait", {})), policy=POLICY, store=store)
    await conversation.send("Look.")
    await store.has_outputs.wait()
    store.first_failing_write = 0
    rig.tools.gate.set()
    await rig.wait_until_idle()
    store.first_failing_write = UNREACHED
    killed = rig.create_workspace(await store_after_crash(rig), POLICY)
    log = (await killed.open_session(conversation.session.id)).session.log
    assert [it.event.text for it in log if isinstance(it.event, ToolAnswered)] == [
        f"{CRASHED}\nwaiting for the gate"
    ]
    await killed.close()
    assert (await conversation.run("Go on.")).how == "done"
    assert [answer.text for answer in rig.events(ToolAnswered)] == ["ok c0"]
    assert await store.draft(conversation.session.id) == Draft()


class LateStore(GatedStore):
    """A store that saves what came of an answer, and does not say so."""

    def __init__(self) -> None:
        super().__init__()
        self.has_saved = asyncio.Event()

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        await super().save_partial_answer(session_id, answer)
        if answer is not None:
            self.has_saved.set()
            await asyncio.Event().wait()


async def test_a_stop_while_an_answer_is_saved_leaves_nothing_of_it_but_its_record() -> None:
    store = LateStore()
    rig, _ = await half_answered(store)
    await store.has_saved.wait()
    await rig.conversation.stop()
    assert [answer.text for answer in rig.events(AssistantSpoke)] == ["I found the leak"]
    assert await store.draft(rig.conversation.session.id) == Draft()


@pytest.mark.expect_errors("task record .* failed")
async def test_an_answer_that_cannot_be_recorded_is_recorded_later_as_far_as_it_was_saved() -> None:
    rig, end = await half_answered()
    await rig.wait_for_updates(ResponseDelta, 2)
    rig.store.first_failing_write = 0
    end.set()
    await rig.wait_until_idle()
    assert rig.events(AssistantSpoke) == []
    rig.store.first_failing_write = UNREACHED
    assert (await rig.conversation.run("Go on.")).how == "done"
    assert [answer.text for answer in rig.events(AssistantSpoke)] == ["I found the leak", "Done."]
    assert rig.events(TurnEnded) == [TurnEnded("interrupted", interruption="unsaved"), TurnEnded("done")]
    assert await rig.store.draft(rig.conversation.session.id) == Draft()


async def test_what_was_saved_of_an_answer_that_is_recorded_is_not_recorded_again() -> None:
    """The app may be killed between the record of an answer and the end of what was saved of it."""
    rig = await rich_session()
    log = rig.conversation.session.log
    last = next(recorded for recorded in reversed(log) if isinstance(recorded.event, AssistantSpoke))
    store = await store_cut_at(rig, last.seq)
    await store.save_partial_answer("s", RecordedEvent(last.seq - 1, 0, AssistantSpoke("Half", "m", 0)))
    workspace = rig.create_workspace(store, POLICY)
    texts = [
        recorded.event.text
        for recorded in (await workspace.open_session("s")).session.log[last.seq :]
        if isinstance(recorded.event, AssistantSpoke)
    ]
    assert texts == []
    await _check_continues(rig, workspace)


async def test_what_a_version_before_saved_of_an_answer_costs_its_request_too() -> None:
    info = ModelInfo("test", "priced", 8_000, 400, price_in=2.0, price_out=10.0)
    rig = AgentRig(ScriptedModel(lambda _: text_reply("Done."), info), POLICY)
    session_id = (await rig.begin()).session.id
    saved = AssistantSpoke("", info.label, 0, estimate=1_000, stop="stopped")
    message = RecordedEvent(1, 0, UserSpoke("Look.", 1))
    store = GatedStore()
    log = [*await rig.store.events(session_id)]
    await store.commit(Commit(session_id, [*log, msgspec.structs.replace(message, seq=log[-1].seq + 1)]))
    await store.save_partial_answer(session_id, RecordedEvent(log[-1].seq + 1, 0, saved))
    again = await rig.create_workspace(store, POLICY).open_session(session_id)
    assert again.budget.spent.cost == pytest.approx(0.002)


async def test_the_list_keeps_its_figures_after_a_crash() -> None:
    """Marking a turn as interrupted must keep model and usage in the session's summary."""
    rig = await rich_session()
    (before,) = await rig.store.sessions()
    length = max(
        recorded.seq
        for recorded in rig.conversation.session.log
        if isinstance(recorded.event, AssistantSpoke)
    )
    store = await store_cut_at(rig, length)
    await store.commit(Commit("s", summary=msgspec.structs.replace(before, id="s")))
    conversation = await rig.create_workspace(store, POLICY).open_session("s")
    await conversation.set_place(ListPlace(pinned=True))
    (after,) = await store.sessions()
    assert (after.used, after.window, after.model) == (
        conversation.window.measure()[1].used,
        before.window,
        before.model,
    )
    assert before.used > 0
    assert before.model


async def test_a_turn_that_another_agent_left_open_is_no_crash_of_ours() -> None:
    rig = AgentRig(ScriptedModel(replies_in_order()), POLICY)
    events: tuple[Event, ...] = (
        SessionStarted("One"),
        SessionImported("pi", "p-1"),
        UserSpoke("Look.", 2),
        ForeignRecords(records=2),
    )
    await rig.store.commit(Commit("s", [RecordedEvent(n, n, event) for n, event in enumerate(events, 1)]))
    conversation = await rig.create_workspace(rig.store, POLICY).open_session("s")
    assert conversation.session.log[-1].event == TurnEnded("interrupted")


async def test_an_interrupted_turn_is_marked_until_it_is_seen_or_continued() -> None:
    rig = AgentRig(ScriptedModel(lambda _: [TextDelta("Look"), asyncio.Event()]), POLICY)
    session_id = (await rig.begin()).session.id
    await rig.conversation.send("Look.")
    await rig.wait_for_updates(ResponseDelta)
    (running,) = await rig.store.sessions()
    assert running.interrupted, "as a kill would leave it"
    assert not rig.workspace.is_interrupted(running), "it runs here"
    reopened = rig.create_workspace(rig.store, POLICY)
    assert reopened.is_interrupted(running)
    await rig.conversation.close()  # as a quit
    (summary,) = await rig.store.sessions()
    assert summary.interrupted
    conversation = await reopened.open_session(session_id)
    await conversation.rename("Another title")  # is no look at it
    assert reopened.is_interrupted(summary)
    reopened.note_seen(session_id)
    (seen,) = await rig.store.sessions()
    assert (seen.interrupted, reopened.is_interrupted(seen)) == (True, False), "nothing is stored"
    await reopened.close_session(session_id)
    assert not reopened.is_interrupted(seen)
    again = await reopened.open_session(session_id)
    await again.rename("A third title")
    assert not (await rig.store.sessions())[0].interrupted, "it stays seen"
    later = rig.create_workspace(rig.store, POLICY)
    later.publish_external_change(session_id)
    assert not later.is_interrupted(running), "it runs in another process"


def _in_a_turn(log: list[RecordedEvent]) -> bool:
    bounds = [recorded.event for recorded in log if isinstance(recorded.event, UserSpoke | TurnEnded)]
    return bool(bounds) and isinstance(bounds[-1], UserSpoke)


async def _check_continues(rig: AgentRig, workspace: OpenWorkspace, draft: Draft = NO_DRAFT) -> None:
    (conversation,) = workspace.conversations
    ended = await conversation.run("Go on.")
    assert ended.how == "done"
    assert lint(rig.model.requests[-1].messages) == []
    assert not conversation.session.transcript.turn_open
    await conversation.session.drain()
    store = workspace.store
    session = conversation.session
    assert await store.events(session.id) == session.log
    assert await store.draft(session.id) == draft
    for digest in {digest for recorded in session.log for digest in digests_in(recorded.event)}:
        assert digest_of(await store.get(digest)) == digest
    await workspace.close()


async def run_turn_on_full_disk(refused: int) -> tuple[AgentRig, int]:
    """Run a turn whose write number `refused` and all later ones fail; return the rig and the writes."""
    script = replies_in_order(
        tool_call_reply(("say", {"text": "words", "times": 300}), ("ask", {}), text="I look."),
        tool_call_reply(("say", {"text": "more", "times": 300}), ("fail", {}), id_prefix="d"),
        tool_call_reply(("say", {}), id_prefix="e"),
        tool_call_reply(("say", {}), id_prefix="f"),
    )
    rig, conversation = await begin_with(script=script, policy=POLICY, approver=FixedApprover("once"))
    first = rig.store.write_count
    rig.store.first_failing_write = first + refused
    await conversation.send("Go.")
    await rig.wait_until_idle()
    return rig, rig.store.write_count - first


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_is_reported_and_nothing_is_half_applied() -> None:
    """Whichever write fails first: the user gets the error, state equals log, and later work goes on."""
    _, writes = await run_turn_on_full_disk(UNREACHED)
    assert writes > 8
    for refused in range(1, writes + 1):
        rig, _ = await run_turn_on_full_disk(refused)
        session = rig.conversation.session
        assert await rig.store.events(session.id) == session.log
        assert any(
            isinstance(update, ErrorRaised) and "disk is full" in update.what for update in rig.updates
        )
        assert [update.recorded for update in rig.updates_of(EventRecorded)] == session.log
        rig.store.first_failing_write = UNREACHED
        rig.model.script = replies_in_order()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()
        (summary,) = await rig.store.sessions()
        state = Transcript(session.log)
        assert (summary.events, summary.messages) == (state.last_seq, state.messages.counts().messages)
        assert (summary.spent, summary.used) == (
            state.spending.tokens,
            rig.conversation.window.measure()[1].used,
        )
        calls = [call.id for answer in rig.events(AssistantSpoke) for call in answer.calls]
        assert sorted(calls) == sorted(event.call_id for event in rig.events(ToolAnswered))


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_during_a_handover() -> None:
    """The handover is reported as failed; the window stays unchanged."""
    steps = [tool_call_reply(("say", {}), text="thinking " * 400, id_prefix=f"k{n}") for n in range(9)]
    rig, conversation = await begin_with(*steps, policy=POLICY)
    await rig.say("Work.", "And now?")
    await conversation.checkpoints.wait()
    before, _ = conversation.window.measure()
    rig.store.first_failing_write = 0
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    assert [update.what for update in rig.updates_of(ErrorRaised)] == ["The disk is full."]
    assert conversation.window.measure()[0] == before
    rig.store.first_failing_write = UNREACHED
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1


@pytest.mark.expect_errors("task record .* failed")
async def test_a_message_that_could_not_be_queued_is_refused_to_its_sender() -> None:
    """While a turn runs on a full disk, sending raises: the text can stay in the composer."""
    rig, conversation = await begin_with(tool_call_reply(("wait", {})))
    await conversation.send("Go.")
    await rig.tools.started.wait()
    rig.store.first_failing_write = 0
    with pytest.raises(Exception, match="disk is full"):
        await conversation.send("Later.")
    rig.store.first_failing_write = UNREACHED
    rig.tools.gate.set()
    await rig.wait_until_idle()
