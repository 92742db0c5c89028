"""However a subagent ends, its log is closed, its parent is told, and nothing runs on."""

from __future__ import annotations

import asyncio
import gc

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session_updates import SubagentProgress
from helix_desktop.agent.subagents.runner import SubagentResult
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import HelixError, ModelRequestRejected, StoreWriteFailed, SubagentFailed
from helix_desktop.domain.events.session import (
    AssistantSpoke,
    RecordedEvent,
    SessionStarted,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
    digests_in,
)
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelRequest, ModelResponse, TurnOutcome
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import GatedStore
from tests.support.scripted_model import SUMMARY, ScriptedReply, replies_in_order, text_reply, tool_call_reply
from tests.support.subagent_rig import (
    PARENT_PROMPT,
    SubagentRig,
    delegate_script,
    start_subagents,
    waiting_script,
)

SWEEPING = msgspec.structs.replace(PROFILES["plain"], protect_steps=2, least_saving=1)
WRITES = 6  # of a subagent that makes one call: begun, asked, spoken, answered, spoken, ended
REFUSED = ModelRequestRejected("The server refused the key.", "It is not valid.", "Enter another key.")


async def a_family_at_work(slow: int) -> SubagentRig:
    """A parent with two subagents that call tools side by side, begun; each write takes a while."""
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
    family = SubagentRig(scripts, SWEEPING, store)
    await family.begin()
    store.yields_per_write = slow
    await family.conversation.send(PARENT_PROMPT)
    return family


async def passes_until_done(slow: int) -> int:
    """How often the loop goes round until the turn has ended by itself."""
    family = await a_family_at_work(slow)
    passes = 0
    while family.conversation.is_running:
        await asyncio.sleep(0)
        passes += 1
    return passes


@pytest.mark.parametrize("slow", [0, 3])
async def test_stopping_the_parent_stops_them_anywhere(slow: int) -> None:
    """At every turn of the loop: all logs are closed, nothing runs on, and the parent can go on."""
    ends = set()
    for passes in range(0, await passes_until_done(slow) + 2, 1 + slow):
        family = await a_family_at_work(slow)
        for _ in range(passes):
            await asyncio.sleep(0)
        await family.conversation.stop()
        asked = len(family.model.requests)
        await family.assert_consistent()
        for child in await family.subagent_sessions():
            events = [one.event for one in await family.stored_log(child)]
            if any(isinstance(one, UserSpoke) for one in events):
                assert isinstance(events[-1], TurnEnded)
                ends.add(events[-1].how)
            assert await family.workspace.open_session(child) is not None
        assert len(family.model.requests) == asked
        family.scripts.clear()
        assert (await family.conversation.run("Go on.")).how == "done"
        await family.assert_consistent()
    assert ends == {"stopped", "done"}


async def test_closing_interrupts_them_anywhere() -> None:
    """They end as their parent does: nobody stopped them. A room can be closed while they run."""
    ends = set()
    for passes in range(0, await passes_until_done(0) + 2, 2):
        family = await a_family_at_work(0)
        for _ in range(passes):
            await asyncio.sleep(0)
        await family.conversation.close()
        await family.assert_consistent()
        parent = [one.event for one in family.conversation.session.log]
        for child in await family.subagent_sessions():
            last = (await family.stored_log(child))[-1].event
            if isinstance(last, TurnEnded):
                ends.add((last.how, parent[-1] == TurnEnded("interrupted")))
        await family.workspace.close()
    assert ends == {("interrupted", True), ("done", True), ("done", False)}


async def test_cancelling_twice_cuts_no_ending_off() -> None:
    """Whoever asked may be in a hurry: the log is closed all the same, a moment later."""
    for passes in range(6):
        family = SubagentRig({"alpha": waiting_script("alpha")})
        await family.begin()
        family.store.yields_per_write = 3
        scope = TaskScope()
        asked = scope.start(family.conversation.subagents.run("alpha"), "asked")
        await family.tools.started.wait()
        asked.cancel()
        for _ in range(1 + passes):
            await asyncio.sleep(0)
        asked.cancel()
        await scope.close()
        await the_one_that(family, "stopped")
        await family.workspace.close()
        assert family.tools.cancelled_calls == ["alpha-0"]


async def thinking(summary: asyncio.Event) -> SubagentRig:
    """A parent whose subagent fills its window: at its end a handover waits for the event."""
    asked = asyncio.Event()

    def summarise(_: ModelRequest) -> ScriptedReply:
        asked.set()
        return [summary, *text_reply(SUMMARY)]

    steps = [tool_call_reply(("say", {}), text="thinking " * 770, id_prefix=f"k{step}") for step in range(9)]
    family = SubagentRig(
        {"alpha": replies_in_order(*steps, [asked, *text_reply("All thought.")])}, PROFILES["plain"]
    )
    family.model.summary_script = summarise
    await family.begin()
    return family


async def test_what_runs_beside_its_turn_ends_with_it() -> None:
    """A handover that nobody needs any more is not waited for."""
    family = await thinking(asyncio.Event())
    result = await family.conversation.subagents.run("alpha")
    assert result.text == "All thought."
    assert len(family.model.summary_requests) == 1
    assert not [one for one in await family.stored_log(result.session) if isinstance(one.event, HandoverMade)]


async def test_what_the_person_looks_at_goes_on() -> None:
    """Opened in time, it is a session as any: the handover beside it is finished."""
    summary = asyncio.Event()
    family = await thinking(summary)
    scope = TaskScope()
    asked = scope.start(family.conversation.subagents.run("alpha"), "asked")
    await family.wait_until(lambda: family.model.requests)
    opened = await family.workspace.open_session((await family.subagent_sessions())[0])
    assert (await asked).ended == "done"
    summary.set()
    await opened.wait_for_background_work()
    assert [one for one in opened.session.log if isinstance(one.event, HandoverMade)]
    await scope.close()


async def test_it_can_be_opened_at_its_very_end() -> None:
    """Let go of or not yet: what is opened is whole, and stops when the person wants it."""
    for passes in range(6):
        summary = asyncio.Event()
        family = await thinking(summary)
        scope = TaskScope()
        asked = scope.start(family.conversation.subagents.run("alpha"), "asked")
        child = await the_one_that(family, "done")
        for _ in range(passes):
            await asyncio.sleep(0)
        opened = await family.workspace.open_session(child)
        assert (await asked).ended == "done"
        summary.set()
        await opened.wait_for_background_work()
        family.model.script = replies_in_order(tool_call_reply(("wait", {}), id_prefix="w-"))
        await opened.send("Wait.")
        await family.tools.started.wait()
        await opened.stop()
        ends = [one.event for one in opened.session.log if isinstance(one.event, TurnEnded)]
        await opened.wait_for_background_work()  # a handover beside it may be recorded later
        assert ends[-1] == TurnEnded("stopped")
        await family.assert_consistent()
        await family.workspace.close()
        await scope.close()


async def test_the_room_keeps_none_that_has_ended() -> None:
    """However many there were, only what the person has opened stays in memory."""
    family = SubagentRig({"looked at": waiting_script("alpha")})
    await family.begin()
    scope = TaskScope()
    asked = scope.start(family.conversation.subagents.run("looked at"), "asked")
    await family.tools.started.wait()
    opened = await family.workspace.open_session((await family.subagent_sessions())[0])
    family.tools.gate.set()
    await asked
    for number in range(10):
        await family.conversation.subagents.run(f"task {number}")
    gc.collect()
    alive = [one for one in gc.get_objects() if isinstance(one, Conversation)]
    ours = [one for one in alive if one.session.transcript.parent == family.conversation.session.id]
    assert ours == [opened]
    assert family.workspace.conversations == (family.conversation, opened)
    await scope.close()


async def test_one_that_no_call_asked_for_ends_with_its_parent_too() -> None:
    """Stopping the parent, which runs no turn, ends it; whoever asked gets what it had said."""
    family = SubagentRig(
        {"alpha": replies_in_order(tool_call_reply(("wait", {}), text="I begin.", id_prefix="k-"))}
    )
    await family.begin()
    scope = TaskScope()
    asked = scope.start(family.conversation.subagents.run("alpha"), "asked")
    await family.tools.started.wait()
    await family.conversation.stop()
    result = await asked
    assert (result.text, result.ended, result.steps) == ("I begin.", "stopped", 1)
    assert (await family.stored_log(result.session))[-1].event == TurnEnded("stopped")
    await family.assert_consistent()
    await scope.close()


async def test_one_that_is_stopped_before_it_began_does_not_begin() -> None:
    """Its session is there, its task was never sent."""
    family = SubagentRig({})
    await family.begin()
    family.store.gated_event_types = (SessionStarted,)
    scope = TaskScope()
    asked = scope.start(family.conversation.subagents.run("alpha"), "asked")
    await family.store.gate_reached.wait()
    await family.conversation.stop()
    family.store.gate.set()
    result = await asked
    assert (result.text, result.ended, result.steps) == ("", "stopped", 0)
    assert [type(one.event) for one in await family.stored_log(result.session)] == [SessionStarted]
    assert family.progress_of(result.session)[-1].phase == "stopped"
    assert family.model.requests == []
    await scope.close()


async def test_the_person_can_stop_one_alone() -> None:
    """The parent is told, gets what was said so far, and goes on; so does the other one."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": waiting_script("alpha"),
        "beta": waiting_script("beta"),
    }
    family = SubagentRig(scripts)
    await start_subagents(family, 2)
    alpha, beta = await family.subagent_sessions()
    await (await family.workspace.open_session(alpha)).stop()
    assert family.progress_of(alpha)[-1].phase == "stopped"
    family.tools.gate.set()
    await family.wait_until_idle()
    stopped, done = sorted(family.events(ToolAnswered), key=lambda one: str(one.call_id))
    assert (stopped.ok, stopped.subagent, done.ok, done.subagent) == (False, alpha, True, beta)
    assert stopped.text.startswith("The subagent was stopped before it was done.")
    assert family.events(TurnEnded) == [TurnEnded("done")]
    await family.assert_consistent()


async def test_a_failure_is_told_to_the_parent_with_the_link() -> None:
    """What, why, what to do, and where the log is; the parent's turn goes on, and so does the other one."""
    scripts = {
        PARENT_PROMPT: delegate_script("alpha", "beta"),
        "alpha": lambda _: [REFUSED],
        "beta": replies_in_order(text_reply("Found.")),
    }
    family = SubagentRig(scripts)
    await family.begin()
    assert (await family.conversation.run(PARENT_PROMPT)).how == "done"
    alpha, _ = await family.subagent_sessions()
    failed, found = sorted(family.events(ToolAnswered), key=lambda one: str(one.call_id))
    assert (failed.ok, failed.subagent) == (False, alpha)
    for part in ("could not do its task", "refused the key", "It is not valid.", "another key.", alpha):
        assert part in failed.text
    assert found.text.startswith("Found.")
    assert family.progress_of(alpha)[-1].phase == "failed"
    with pytest.raises(SubagentFailed) as raised:
        await family.conversation.subagents.run("alpha")
    assert (await family.stored_log(raised.value.session))[-1].event == TurnEnded(
        "failed", REFUSED.what, REFUSED.why, REFUSED.fix, remedies=REFUSED.remedies
    )
    await family.assert_consistent()


@pytest.mark.expect_errors("task record .* failed")
@pytest.mark.parametrize("refused", range(1, WRITES + 2))
async def test_a_full_disk_fails_it_and_nothing_hangs(refused: int) -> None:
    """Whichever of its writes fails first: the caller is told, and with room again everything goes on."""
    family = SubagentRig({"alpha": replies_in_order(tool_call_reply(("say", {}), text="On.", id_prefix="k"))})
    talk = await family.begin()
    family.store.first_failing_write = family.store.write_count + refused
    outcome = await outcome_of(family)
    if refused > WRITES:
        assert isinstance(outcome, SubagentResult)
    else:
        assert isinstance(outcome, StoreWriteFailed if refused == 1 else SubagentFailed)
        assert "disk is full" in str(outcome)
    family.store.first_failing_write = 10**9
    family.scripts.clear()
    for child in await family.subagent_sessions():
        again = await family.create_workspace(family.store, SWEEPING).open_session(child)
        assert (await again.run("Go on.")).how == "done"
    assert (await talk.run("Go on.")).how == "done"
    await family.assert_consistent()


@pytest.mark.expect_errors("task turn .* failed")
async def test_a_mistake_of_ours_fails_it_and_nothing_hangs() -> None:
    """Also an error that nobody foresaw ends the subagent's turn, and is told."""

    def broken(_: object) -> list[ModelResponse]:
        raise ZeroDivisionError("division by zero")

    family = SubagentRig({"alpha": broken})
    await family.begin()
    with pytest.raises(SubagentFailed, match="Something went wrong"):
        await family.conversation.subagents.run("alpha")
    await family.assert_consistent()


async def test_one_that_a_crash_cut_off_is_mended_when_opened() -> None:
    """After every event of its log, as any session; it stays its parent's, and out of the list."""
    family = SubagentRig(
        {
            PARENT_PROMPT: delegate_script("alpha"),
            "alpha": replies_in_order(tool_call_reply(("say", {}), ("fail", {}), id_prefix="k")),
        }
    )
    await family.begin()
    await family.conversation.run(PARENT_PROMPT)
    (child,) = await family.subagent_sessions()
    log = await family.stored_log(child)
    (listed,) = await family.workspace.sessions(family.conversation.session.id)
    for length in range(1, len(log) + 1):
        store = GatedStore()
        await store.commit(Commit(child, contents=await contents_of(family, log)))
        await store.commit(Commit(child, log[:length], summary=listed))
        room = family.create_workspace(store, SWEEPING)
        assert await room.sessions() == []
        assert [one.id for one in await room.sessions(family.conversation.session.id)] == [child]
        talk = await room.open_session(child)
        assert talk.session.log[:length] == log[:length]
        assert not talk.session.transcript.open_calls
        assert not talk.session.transcript.turn_open
        cut = isinstance(log[length - 1].event, UserSpoke | AssistantSpoke | ToolAnswered)
        assert (talk.session.log[-1].event == TurnEnded("interrupted")) == cut
        assert (await talk.run("Go on.")).how == "done"
        (after,) = await store.sessions()
        assert after.parent == family.conversation.session.id
        await room.close()


async def the_one_that(family: SubagentRig, ended: TurnOutcome) -> str:
    """The session of the subagent that has ended so, as soon as its parent tells it."""
    found: list[str] = []

    def told() -> bool:
        found[:] = [one.session_id for one in family.updates_of(SubagentProgress) if one.phase == ended]
        return bool(found)

    await family.wait_until(told)
    return found[0]


async def outcome_of(family: SubagentRig) -> SubagentResult | HelixError:
    """What comes of a subagent, or why nothing does."""
    try:
        return await family.conversation.subagents.run("alpha")
    except HelixError as error:
        return error


async def contents_of(family: SubagentRig, log: list[RecordedEvent]) -> list[Content]:
    """What events of a log refer to, as contents."""
    digests = {digest for one in log for digest in digests_in(one.event)}
    return [Content(digest, await family.store.get(digest)) for digest in digests]
