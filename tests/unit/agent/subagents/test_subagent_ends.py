"""However a subagent ends, its log is closed, its parent is informed, and nothing keeps running."""

from __future__ import annotations

import asyncio
import gc

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import SubagentProgress
from helix_desktop.agent.subagents import SubagentResult
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.errors import HelixError, ModelRequestRejected, StoreWriteFailed, SubagentFailed
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelRequest, ModelResponse, TurnOutcome
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import SWEEPING, GatedStore
from tests.support.scripted_model import SUMMARY, ScriptedReply, replies_in_order, text_reply, tool_call_reply
from tests.support.subagent_rig import (
    PARENT_PROMPT,
    SubagentRig,
    delegate_script,
    start_subagents,
    waiting_script,
)

WRITES = 6  # of a subagent that makes one call: started, asked, spoke, answered, spoke, ended
REFUSED = ModelRequestRejected(
    verbatim("The server refused the key."),
    verbatim("It is not valid."),
    verbatim("Enter another key."),
    details=verbatim("expired yesterday"),
)


async def start_parent_with_subagents(slow: int) -> SubagentRig:
    """Start a parent with two concurrent subagents that call tools; each write takes a while."""
    steps = [
        tool_call_reply(("say", {"text": "words", "times": 60}), ("fail", {}), text="On.", id_prefix=key)
        for key in "ab"
    ]
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": replies_in_order(*steps),
        "beta": replies_in_order(*steps),
    }
    store = GatedStore()
    rig = SubagentRig(scripts, SWEEPING, store)
    await rig.begin()
    store.yields_per_write = slow
    await rig.conversation.send(PARENT_PROMPT)
    return rig


@pytest.mark.parametrize("slow", [0, 3])
async def test_stopping_the_parent_stops_its_subagents_at_any_moment(slow: int) -> None:
    """At every turn of the loop: all logs are closed, nothing keeps running, and the parent can go on."""
    ends = set()
    for passes in range(0, await (await start_parent_with_subagents(slow)).passes_until_idle() + 2, 1 + slow):
        rig = await start_parent_with_subagents(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.stop()
        request_count = len(rig.model.requests)
        await rig.assert_consistent()
        for child in await rig.subagent_sessions():
            events = [recorded.event for recorded in await rig.stored_log(child)]
            if any(isinstance(event, UserSpoke) for event in events):
                assert isinstance(events[-1], TurnEnded)
                ends.add(events[-1].how)
            assert await rig.workspace.open_session(child) is not None
        assert len(rig.model.requests) == request_count
        rig.scripts.clear()
        assert (await rig.conversation.run("Go on.")).how == "done"
        await rig.assert_consistent()
    assert ends == {"stopped", "done"}


async def test_closing_interrupts_subagents_at_any_moment() -> None:
    """They end as their parent does, interrupted. A workspace can be closed while they run."""
    ends, texts = set(), set()
    for passes in range(0, await (await start_parent_with_subagents(0)).passes_until_idle() + 2, 2):
        rig = await start_parent_with_subagents(0)
        for _ in range(passes):
            await asyncio.sleep(0)
        await rig.conversation.close()
        await rig.assert_consistent()
        parent = [recorded.event for recorded in rig.conversation.session.log]
        for event in parent:
            if isinstance(event, ToolAnswered) and event.outcome == "interrupted" and event.subagent:
                texts.add(event.text.partition(".")[0])
        for child in await rig.subagent_sessions():
            last = (await rig.stored_log(child))[-1].event
            if isinstance(last, TurnEnded):
                ends.add((last.how, parent[-1] == TurnEnded("interrupted", cause="closed")))
        await rig.workspace.close()
    assert ends == {("interrupted", True), ("done", True), ("done", False)}
    assert "The app stopped before the subagent ended" in texts, texts


async def test_canceling_twice_does_not_skip_the_end() -> None:
    """However impatient the caller: the log is closed all the same, a moment later."""
    for passes in range(6):
        rig = SubagentRig({"alpha": waiting_script("alpha")})
        await rig.begin()
        rig.store.yields_per_write = 3
        scope = TaskScope()
        run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
        await rig.tools.started.wait()
        run.cancel()
        for _ in range(1 + passes):
            await asyncio.sleep(0)
        run.cancel()
        await scope.close()
        await wait_for_subagent(rig, "stopped")
        await rig.workspace.close()
        assert rig.tools.canceled_calls == ["alpha-0"]


async def start_handover_at_end(summary: asyncio.Event) -> SubagentRig:
    requested = asyncio.Event()

    def summarize(_: ModelRequest) -> ScriptedReply:
        requested.set()
        return [summary, *text_reply(SUMMARY)]

    steps = [tool_call_reply(("say", {}), text="thinking " * 770, id_prefix=f"k{step}") for step in range(9)]
    rig = SubagentRig(
        {"alpha": replies_in_order(*steps, [requested, *text_reply("All thought.")])}, PROFILES["plain"]
    )
    rig.model.summary_script = summarize
    await rig.begin()
    return rig


async def test_background_work_of_a_turn_ends_with_it() -> None:
    """A handover that nobody needs any more is not waited for."""
    rig = await start_handover_at_end(asyncio.Event())
    result = await rig.conversation.subagents.run("alpha")
    assert result.text == "All thought."
    assert len(rig.model.summary_requests) == 1
    assert not [
        recorded
        for recorded in await rig.stored_log(result.session_id)
        if isinstance(recorded.event, HandoverMade)
    ]


async def test_an_opened_subagent_goes_on() -> None:
    """Opened in time, it is an ordinary session: its background handover is finished."""
    summary = asyncio.Event()
    rig = await start_handover_at_end(summary)
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
    await rig.wait_until(lambda: rig.model.requests)
    opened = await rig.workspace.open_session((await rig.subagent_sessions())[0])
    assert (await run).ended == "done"
    summary.set()
    await opened.wait_for_background_work()
    assert [recorded for recorded in opened.session.log if isinstance(recorded.event, HandoverMade)]
    await scope.close()


async def test_a_subagent_can_be_opened_at_its_very_end() -> None:
    """Released or not yet: the opened session is complete, and stops when the user wants it."""
    for passes in range(6):
        summary = asyncio.Event()
        rig = await start_handover_at_end(summary)
        scope = TaskScope()
        run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
        child = await wait_for_subagent(rig, "done")
        for _ in range(passes):
            await asyncio.sleep(0)
        opened = await rig.workspace.open_session(child)
        assert (await run).ended == "done"
        summary.set()
        await opened.wait_for_background_work()
        rig.model.script = replies_in_order(tool_call_reply(("wait", {}), id_prefix="w-"))
        await opened.send("Wait.")
        await rig.tools.started.wait()
        await opened.stop()
        ends = [recorded.event for recorded in opened.session.log if isinstance(recorded.event, TurnEnded)]
        await opened.wait_for_background_work()  # a background handover may be recorded later
        assert ends[-1] == TurnEnded("stopped")
        await rig.assert_consistent()
        await rig.workspace.close()
        await scope.close()


async def test_the_workspace_keeps_no_ended_subagent() -> None:
    """However many there were, only what the user has opened stays in memory."""
    rig = SubagentRig({"looked at": waiting_script("alpha")})
    await rig.begin()
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("looked at"), "asked")
    await rig.tools.started.wait()
    opened = await rig.workspace.open_session((await rig.subagent_sessions())[0])
    rig.tools.gate.set()
    await run
    for number in range(10):
        await rig.conversation.subagents.run(f"task {number}")
    gc.collect()
    conversations = [value for value in gc.get_objects() if isinstance(value, Conversation)]
    children = [
        conversation
        for conversation in conversations
        if conversation.session.transcript.parent == rig.conversation.session.id
    ]
    assert children == [opened]
    assert rig.workspace.conversations == (rig.conversation, opened)
    await scope.close()


async def test_a_subagent_without_a_call_ends_with_its_parent_too() -> None:
    """Stopping the parent, which runs no turn, ends it; the caller gets its text so far."""
    rig = SubagentRig(
        {"alpha": replies_in_order(tool_call_reply(("wait", {}), text="I begin.", id_prefix="k-"))}
    )
    await rig.begin()
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
    await rig.tools.started.wait()
    await rig.conversation.stop()
    result = await run
    assert (result.text, result.ended, result.steps) == ("I begin.", "stopped", 1)
    assert (await rig.stored_log(result.session_id))[-1].event == TurnEnded("stopped")
    await rig.assert_consistent()
    await scope.close()


async def test_a_subagent_stopped_before_it_started_does_not_start() -> None:
    """Its session exists, its task was never sent."""
    rig = SubagentRig({})
    await rig.begin()
    rig.store.gated_event_types = (SessionStarted,)
    scope = TaskScope()
    run = scope.start(rig.conversation.subagents.run("alpha"), "asked")
    await rig.store.gate_reached.wait()
    await rig.conversation.stop()
    rig.store.gate.set()
    result = await run
    assert (result.text, result.ended, result.steps) == ("", "stopped", 0)
    assert [type(recorded.event) for recorded in await rig.stored_log(result.session_id)] == [SessionStarted]
    assert rig.progress_of(result.session_id)[-1].phase == "stopped"
    assert rig.model.requests == []
    await scope.close()


@pytest.mark.parametrize("by_its_call", [False, True])
async def test_the_user_can_stop_a_single_subagent(by_its_call: bool) -> None:
    """The parent is informed, gets the text so far, and goes on; so does the other subagent."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    rig = SubagentRig(scripts)
    await start_subagents(rig, 2)
    alpha, beta = await rig.subagent_sessions()
    if by_its_call:
        assert rig.conversation.running_calls.stop("c0")
    else:
        await (await rig.workspace.open_session(alpha)).stop()
    await rig.wait_until(lambda: rig.progress_of(alpha)[-1].phase == "stopped")
    rig.tools.gate.set()
    await rig.wait_until_idle()
    stopped, done = sorted(rig.events(ToolAnswered), key=lambda event: str(event.call_id))
    assert (stopped.ok, stopped.subagent, done.ok, done.subagent) == (False, alpha, True, beta)
    assert stopped.delegated is not None
    assert (stopped.delegated.how, stopped.delegated.steps, stopped.delegated.tokens > 0) == (
        "stopped",
        1,
        True,
    )
    assert by_its_call or stopped.text.startswith("The subagent was stopped before it was done.")
    assert rig.events(TurnEnded) == [TurnEnded("done")]


async def test_a_failure_is_reported_to_the_parent_with_the_link() -> None:
    """What, why, in the server's words too, what to do, and where the log is; all others go on."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": lambda _: [REFUSED],
        "beta": replies_in_order(text_reply("Found.")),
    }
    rig = SubagentRig(scripts)
    await rig.begin()
    assert (await rig.conversation.run(PARENT_PROMPT)).how == "done"
    alpha, _ = await rig.subagent_sessions()
    failed, succeeded = sorted(rig.events(ToolAnswered), key=lambda event: str(event.call_id))
    assert (failed.ok, failed.subagent) == (False, alpha)
    assert failed.delegated is not None
    assert (failed.delegated.how, failed.delegated.steps) == ("failed", 0)
    parts = (
        "could not do its task",
        "refused the key",
        "It is not valid.",
        "expired yesterday",
        "another key.",
    )
    for part in (*parts, alpha):
        assert part in failed.text
    assert succeeded.text.startswith("Found.")
    assert rig.progress_of(alpha)[-1].phase == "failed"
    with pytest.raises(SubagentFailed) as raised:
        await rig.conversation.subagents.run("alpha")
    assert (await rig.stored_log(raised.value.session_id))[-1].event == TurnEnded(
        "failed",
        REFUSED.what,
        REFUSED.why,
        REFUSED.fix,
        remedies=REFUSED.remedies,
        details="expired yesterday",
    )


@pytest.mark.expect_errors("task record .* failed")
@pytest.mark.parametrize("refused", range(1, WRITES + 2))
async def test_a_full_disk_fails_a_subagent_and_nothing_hangs(refused: int) -> None:
    """Whichever write fails first: the caller gets the error, and with free space everything goes on."""
    rig = SubagentRig({"alpha": replies_in_order(tool_call_reply(("say", {}), text="On.", id_prefix="k"))})
    conversation = await rig.begin()
    rig.store.first_failing_write = rig.store.write_count + refused
    outcome = await outcome_of(rig)
    if refused > WRITES:
        assert isinstance(outcome, SubagentResult)
    else:
        assert isinstance(outcome, StoreWriteFailed if refused == 1 else SubagentFailed)
        assert "disk is full" in str(outcome)
    rig.store.first_failing_write = 10**9
    rig.scripts.clear()
    for child in await rig.subagent_sessions():
        again = await rig.create_workspace(rig.store, SWEEPING).open_session(child)
        assert (await again.run("Go on.")).how == "done"
    assert (await conversation.run("Go on.")).how == "done"


@pytest.mark.expect_errors("task turn .* failed")
async def test_an_internal_error_fails_a_subagent_and_nothing_hangs() -> None:
    """An unexpected error also ends the subagent's turn, and is reported."""

    def broken(_: object) -> list[ModelResponse]:
        raise ZeroDivisionError("division by zero")

    rig = SubagentRig({"alpha": broken})
    await rig.begin()
    with pytest.raises(SubagentFailed, match="Something went wrong"):
        await rig.conversation.subagents.run("alpha")


async def test_a_subagent_interrupted_by_a_crash_is_repaired_when_opened() -> None:
    """After every event of its log, as any session; it stays its parent's, and unlisted."""
    rig = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(tool_call_reply(("say", {}), ("fail", {}), id_prefix="k")),
        }
    )
    await rig.run_first(PARENT_PROMPT)
    (child,) = await rig.subagent_sessions()
    log = await rig.stored_log(child)
    (summary,) = await rig.workspace.sessions(rig.conversation.session.id)
    for length in range(1, len(log) + 1):
        store = GatedStore()
        await store.commit(Commit(child, contents=await contents_of(rig, log)))
        await store.commit(Commit(child, log[:length], summary=summary))
        workspace = rig.create_workspace(store, SWEEPING)
        assert await workspace.sessions() == []
        assert [session.id for session in await workspace.sessions(rig.conversation.session.id)] == [child]
        conversation = await workspace.open_session(child)
        assert conversation.session.log[:length] == log[:length]
        assert not conversation.session.transcript.open_calls
        assert not conversation.session.transcript.turn_open
        cut = isinstance(log[length - 1].event, UserSpoke | AssistantSpoke | ToolAnswered)
        assert (conversation.session.log[-1].event == TurnEnded("interrupted", interruption="crash")) == cut
        assert (await conversation.run("Go on.")).how == "done"
        (after,) = await store.sessions()
        assert after.parent == rig.conversation.session.id
        await workspace.close()


async def wait_for_subagent(rig: SubagentRig, ended: TurnOutcome) -> str:
    """Return the session of the subagent with that outcome, as soon as its parent reports it."""
    sessions: list[str] = []

    def is_reported() -> bool:
        sessions[:] = [
            update.session_id for update in rig.updates_of(SubagentProgress) if update.phase == ended
        ]
        return bool(sessions)

    await rig.wait_until(is_reported)
    return sessions[0]


async def outcome_of(rig: SubagentRig) -> SubagentResult | HelixError:
    try:
        return await rig.conversation.subagents.run("alpha")
    except HelixError as error:
        return error


async def contents_of(rig: SubagentRig, log: list[RecordedEvent]) -> list[Content]:
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    return [Content(digest, await rig.store.get(digest)) for digest in digests]
