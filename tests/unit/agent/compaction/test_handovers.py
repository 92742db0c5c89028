"""Handovers: written while work goes on, waited for where it is full, the beginning of another session."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest

from helix_desktop.agent.compaction.handover_writer import WHOLE_SESSION
from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.agent.session import CompactionProgress, SummaryAwaited
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    InvalidInput,
)
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    HandoverTrigger,
    SummaryProblem,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
)
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, RetryScheduled, TextDelta
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import MANUAL_ONLY, NO_SWEEP, ready_conversation, working
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    SendingModel,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
    tool_result_texts,
)


def texts(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_a_handover_at_85_percent_while_work_goes_on() -> None:
    """The turn goes on with the old window, messages are queued and sent, and the next request is smaller."""
    gate = asyncio.Event()
    model = ScriptedModel(
        working(19, 380), summary_script=lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)]
    )
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.send_first("Build the thing. Never touch main.")
    await rig.wait_until(lambda: model.summary_requests)
    before_record = model.summary_requests[0].messages[1].text.split("The messages to hand over:\n")[0]
    assert "What came after, and stays beside your text:\nlater e3 user: Build the thing." in before_record
    assert re.search(r"\nlater e\d+ assistant: .*\nlater e\d+ tool ", before_record)
    request_index = len(model.requests)
    await conversation.send("By the way, use tabs.")
    await rig.wait_until(lambda: len(model.requests) > request_index)
    assert TITLE not in texts(model.requests[-1])  # still the old window
    assert rig.events(HandoverMade) == []
    work = model.script
    recorded = asyncio.Event()
    model.script = lambda request: [recorded, *work(request)]  # no sweep of a full window overtakes it
    gate.set()
    await rig.wait_until(lambda: rig.events(HandoverMade))
    recorded.set()
    await rig.wait_until_idle()
    (handover, *_) = rig.events(HandoverMade)
    assert (handover.trigger, handover.threshold) == (HandoverTrigger.THRESHOLD, 0.8)
    assert (handover.model, handover.fallback) == ("test/scripted", "")
    assert handover.after < handover.before * 0.9
    after = next(request for request in model.requests if TITLE in texts(request))
    previous = model.requests[model.requests.index(after) - 1]
    assert len(texts(after)) < len(texts(previous))
    assert after.messages[1].text.startswith(TITLE)
    assert "A fact about todo items [e4]" in after.messages[1].text
    assert "Build the thing." in texts(after)
    assert [event.text for event in rig.events(UserSpoke)][1] == "By the way, use tabs."
    assert all(event.how == "done" for event in rig.events(TurnEnded))
    assert rig.updates_of(CompactionProgress)[-1].phase == "idle"


async def test_the_running_request_is_a_source_and_the_mode_stays_known() -> None:
    """It stays in the window; what cited it, or a ban another entry, was unsupported; the mode was lost."""
    summary = f"{SUMMARY}\n## User Preferences\n- Never touch the main branch [e9999]"
    model = ScriptedModel(working(19, 380), summary_script=lambda _: [ModelResponse(summary)])
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.begin()
    await conversation.set_mode("auto")
    await rig.run_and_wait("Build the thing. Never touch the main branch.")
    (handover, *_) = rig.events(HandoverMade)
    assert [bullet.sources for bullet in handover.sections[4].bullets] == [(4,)]
    (ban,) = [each for section in handover.sections for each in section.bullets if "main" in each.text]
    assert ban.sources == (rig.seqs(UserSpoke)[0],)
    assert (handover.kept, handover.mode_note) == (4, ""), "the message with the note stays"
    await rig.run_and_wait("Go on.", "Go on.")
    conversation.handovers.start()
    await rig.wait_until_idle()
    (*_, handover) = rig.events(HandoverMade)
    assert handover.mode_note.startswith("[Mode: auto]")
    message = conversation.window.measure()[0].request.messages[1].text
    assert message.startswith(TITLE)
    assert message.endswith(handover.mode_note)
    assert conversation.session.transcript.announced_mode == "auto"


async def test_a_retry_voids_the_partial_summary() -> None:
    """Only the text after it is read."""
    reply: ScriptedReply = [
        TextDelta("nonsense"),
        RetryScheduled(1, 0.0, "again"),
        TextDelta(SUMMARY),
        ModelResponse(SUMMARY),
    ]
    rig, _ = await begin_with(script=thinking_script(12), summary=lambda _: reply, policy=NO_SWEEP)
    await rig.run_and_wait("Think.")
    assert rig.events(HandoverMade)[0].fallback == ""


async def test_nothing_is_blocked_while_a_summary_is_written() -> None:
    """Sending, queueing, stopping, renaming, pinning, choosing a form, undoing: all at once, all recorded."""
    gate = asyncio.Event()
    rig = await ready_conversation(summary=lambda _: [TextDelta("## Project"), gate, *text_reply(SUMMARY)])
    rig.model.script = replies_in_order(
        tool_call_reply(("say", {"times": 700}), id_prefix="loud"), text_reply("Done.")
    )
    await rig.conversation.run("Say a lot.")
    transcript = rig.conversation.session.transcript
    (large_reply,) = [
        item.seq
        for item in transcript.messages.items
        if isinstance(item.event, ToolAnswered) and item.tokens > 900
    ]
    rig.conversation.handovers.start("the login")
    await rig.wait_until(lambda: rig.model.summary_requests)
    with pytest.raises(CompactionRefused, match="is being compacted"):
        await rig.conversation.handovers.writer.draft()
    await rig.conversation.rename("Another title")
    await rig.conversation.session.record(FormChosen(large_reply, "preview", "large", 1))
    await rig.conversation.window.pin(large_reply)
    (form,) = rig.seqs(FormChosen)
    await rig.conversation.window.undo(form)
    rig.model.script = lambda _: tool_call_reply(("wait", {}), id_prefix=f"s{len(rig.model.requests)}-")
    await rig.conversation.send("Wait.")
    await rig.tools.started.wait()
    await rig.conversation.send("And then this.")
    await rig.conversation.stop()
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.conversation.wait_for_background_work()
    (handover,) = rig.events(HandoverMade)
    assert handover.upto < large_reply
    assert (handover.trigger, handover.focus) == (HandoverTrigger.MANUAL, "the login")
    rig.model.script = lambda _: text_reply("Done.")
    rig.conversation.send_next_queued()
    await rig.wait_until_idle()
    assert [event.text for event in rig.events(UserSpoke)][-2:] == ["Wait.", "And then this."]
    text = texts(rig.conversation.window.measure()[0].request)
    assert text.index(TITLE) < text.index("Say a lot.") < text.index("Wait.") < text.index("And then this.")
    assert (transcript.title, transcript.rewrites.pinned) == ("Another title", frozenset({large_reply}))


async def test_a_handover_at_the_same_cut_is_refused_after_a_draft() -> None:
    """A draft that is accepted first makes the handover in progress stale; that is recorded as refused."""
    gate = asyncio.Event()
    gate.set()
    rig = await ready_conversation(summary=lambda _: [gate, *text_reply(SUMMARY)])
    draft = await rig.conversation.handovers.writer.draft()
    gate.clear()
    rig.conversation.handovers.start()
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 2)
    await rig.conversation.handovers.writer.commit(draft)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1
    assert [event.why for event in rig.events(HandoverFailed)] == ["The history changed in the meantime."]


async def test_a_handover_updates_the_previous_one() -> None:
    """The second request has the first handover's sentences, and a record of only what came after it."""
    rig = await ready_conversation()
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    first = rig.events(HandoverMade)[0]
    rig.model.script = thinking_script(9)
    await rig.say("Think again.", "And now?")
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    text = rig.model.summary_requests[1].messages[1].text
    assert "The former handover, to be updated" in text
    assert "- A fact about todo items [e4]" in text
    record = text.split("The messages to hand over:")[1]
    assert all(int(seq) > first.upto for seq in re.findall(r"^e(\d+) ", record, re.MULTILINE))
    second = rig.events(HandoverMade)[1]
    assert second.former == next(iter(rig.conversation.session.transcript.rewrites.handovers))
    assert "e4" in texts(rig.conversation.window.measure()[0].request)


async def test_what_is_left_to_do_stands_in_a_handover_that_does_not_say_it() -> None:
    """The model's summary knows nothing of the agent's todo list; the next request does."""
    items = [{"content": "Rework the lexer", "status": "in_progress"}, {"content": "Test it"}]
    planned = tool_call_reply(("todo", {"items": items}), id_prefix="p")
    thoughts = [tool_call_reply(("say", {}), text=f"word{n} " * 600, id_prefix=f"t{n}-") for n in range(8)]
    rig = await ready_conversation(replies_in_order(planned, *thoughts, text_reply("Done.")))
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    (handover,) = rig.events(HandoverMade)
    (tasks,) = (kind for kind in handover.coverage if kind.kind == "tasks")
    assert (tasks.named, tasks.total) == (0, 2)
    text = texts(rig.conversation.window.measure()[0].request)
    assert "- Left to do on the todo list: Rework the lexer [e" in text


async def test_what_the_user_left_out_is_not_sent_to_be_summarized() -> None:
    rig, conversation = await begin_with(script=thinking_script(9), policy=MANUAL_ONLY)
    await rig.say("The password is swordfish.", "And now?", "Or is it swordfish-2?")
    for seq in rig.seqs(UserSpoke)[::2]:
        await conversation.window.exclude(seq)
    await conversation.handovers.writer.draft()
    conversation.observations.start()
    await conversation.wait_for_background_work()
    for requests in (rig.model.summary_requests, rig.model.observation_requests):
        assert "And now?" in texts(requests[0])
        assert not any("swordfish" in texts(request) for request in requests)


# Outputs stay in the window, so that it is the handover that must make space.


async def test_a_due_handover_is_canceled_once_other_rewrites_made_the_room() -> None:
    """Else it would go on far below its threshold, and summarize what can stay; it is no failure."""
    rig, gate = await rig_with_due_handover(SUMMARY)
    gauge = rig.conversation.window.measure()[1]
    assert gauge.used >= gauge.handover_threshold
    await cache_outputs(rig, gauge.handover_threshold - compaction_due.least_gain(NO_SWEEP, gauge))
    await rig.wait_until(lambda: not rig.conversation.handovers.is_running)
    gate.set()
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == rig.events(HandoverFailed) == []
    (discarded,) = rig.events(HandoverDiscarded)
    assert (discarded.spent > 0, discarded.estimated) == (True, True), "although no word of it had come"
    assert rig.conversation.session.transcript.handover_failures == 0


async def test_a_summary_that_is_canceled_while_it_waits_to_be_stored_is_paid_for() -> None:
    rig, gate = await rig_with_due_handover(SUMMARY)
    rig.store.gated_event_types = (SweepMade,)
    log = rig.conversation.session.log
    outputs = tuple(recorded.seq for recorded in log if isinstance(recorded.event, ToolAnswered))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.conversation.session.record(SweepMade(outputs, 5_000, SweepReason.MANUAL)))
        await rig.store.gate_reached.wait()
        gate.set()
        await rig.wait_until(lambda: "write" in [each.phase for each in rig.updates_of(CompactionProgress)])
        rig.store.gate.set()
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == rig.events(HandoverFailed) == []
    (discarded,) = rig.events(HandoverDiscarded)
    assert discarded.spent > 0


async def test_a_due_handover_is_canceled_where_the_policy_is_turned_off() -> None:
    rig, gate = await rig_with_due_handover(SUMMARY)
    rig.workspace.policy = PROFILES["off"]
    await rig.wait_until(lambda: not rig.conversation.handovers.is_running)
    gate.set()
    await rig.wait_until_idle()
    assert rig.events(HandoverMade) == []


async def test_a_due_handover_goes_on_a_little_below_its_threshold() -> None:
    """Else it would be paid for again as soon as the next output came."""
    rig, gate = await rig_with_due_handover(SUMMARY)
    await cache_outputs(rig, rig.conversation.window.measure()[1].handover_threshold - 1)
    assert rig.conversation.handovers.is_running
    gate.set()
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1


async def test_a_summary_that_says_too_little_is_a_failure_even_if_no_longer_needed() -> None:
    """Otherwise a model that cannot write one would be paid each time that one is due."""
    rig, gate = await rig_with_due_handover("\n".join(f"## {title}\n- Done. [e3]" for title in TITLES))
    await cache_outputs(rig, rig.conversation.window.measure()[1].handover_threshold - 1)
    gate.set()
    await rig.wait_until_idle()
    assert [failed.problem for failed in rig.events(HandoverFailed)] == [SummaryProblem.UNSPECIFIC]
    assert rig.events(HandoverMade) == rig.events(HandoverDiscarded) == []


async def rig_with_due_handover(summary: str) -> tuple[AgentRig, asyncio.Event]:
    """Return a conversation whose turn has ended while a due handover is written; the event ends it."""
    gate = asyncio.Event()
    model = SendingModel(working(19, 380), summary_script=lambda _: [gate, *text_reply(summary)])
    rig = AgentRig(model, NO_SWEEP)
    conversation = await rig.send_first("Build the thing.")
    await rig.wait_until(lambda: model.summary_requests)
    await rig.wait_until(lambda: not conversation.is_running)
    return rig, gate


async def cache_outputs(rig: AgentRig, most_tokens: float) -> None:
    """Take outputs out of the window until it uses at most these tokens."""
    for recorded in list(rig.conversation.session.log):
        if rig.conversation.window.measure()[1].used <= most_tokens:
            return
        if isinstance(recorded.event, ToolAnswered):
            await rig.conversation.window.cache_now(recorded.seq)


async def test_an_insufficient_summary_is_recorded_and_retried_later() -> None:
    """It is not placed; tries wait as after failures; the last before the breaker needs no model."""
    short_summary = "\n".join(f"## {title}\n- Done. [e3]" for title in TITLES)
    rig, _ = await begin_with(
        script=thinking_script(12), summary=lambda _: text_reply(short_summary), policy=NO_SWEEP
    )
    await rig.run_and_wait("Think.")
    (failed,) = rig.events(HandoverFailed)
    assert (failed.problem, failed.refused) == (SummaryProblem.UNSPECIFIC, short_summary)
    assert failed.spent > 0
    rig.clock.advance_s(119)
    await rig.run_and_wait("Yes.")
    assert len(rig.model.summary_requests) == 3, "it was asked again, saying why"
    for _ in range(2):
        rig.clock.advance_s(240)
        await rig.run_and_wait("Yes.")
    assert len(rig.events(HandoverFailed)) == 2
    assert len(rig.model.summary_requests) == 9
    (handover,) = rig.events(HandoverMade)
    assert (handover.model, handover.refused) == (NO_MODEL, short_summary)
    assert "wasn't used" in handover.fallback


async def test_refusals_back_off_and_open_the_breaker_which_a_manual_handover_closes() -> None:
    """A summary longer than what it replaces is refused; tries wait 120, then 240 s; then none is made."""
    long = SUMMARY + "\n- word" * 9_000
    rig, conversation = await begin_with(
        script=thinking_script(12), summary=lambda _: text_reply(long), policy=NO_SWEEP
    )
    await rig.run_and_wait("Think.")
    for wait, failures in ((119, 1), (1, 2), (239, 2), (1, 3), (10_000, 3)):
        rig.clock.advance_s(wait)
        await rig.run_and_wait("Yes.")
        assert len(rig.events(HandoverFailed)) == failures
    assert compaction_due.is_breaker_open(conversation.session.transcript)
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    conversation.handovers.start()
    await conversation.wait_for_background_work()
    assert [event.trigger for event in rig.events(HandoverMade)] == [HandoverTrigger.MANUAL]
    assert not compaction_due.is_breaker_open(conversation.session.transcript)
    rig.clock.advance_s(60)
    rig.model.script = thinking_script(9)
    await rig.run_and_wait("Think again.")
    assert [event.trigger for event in rig.events(HandoverMade)] == [
        HandoverTrigger.MANUAL,
        HandoverTrigger.THRESHOLD,
    ]


# No fold either, and no handover before the context is full: only a summary can make room.
WORDS_ONLY = msgspec.structs.replace(MANUAL_ONLY, fold_after_steps=0)


async def full_rig(summary: Script | None = None) -> AgentRig:
    """Return a conversation whose next turn fills the context with the agent's words."""
    rig, _ = await begin_with(script=thinking_script(16), summary=summary, policy=WORDS_ONLY)
    return rig


async def waiting_rig() -> tuple[AgentRig, asyncio.Task[object], asyncio.Event]:
    """Return one whose turn waits for a summary, that turn, and the event that lets the model end it."""
    gate = asyncio.Event()
    rig = await full_rig(lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)])
    turn: asyncio.Task[object] = asyncio.create_task(rig.conversation.run("Think."))  # noqa: TID251 - it is awaited
    await rig.wait_for_updates(SummaryAwaited)
    assert rig.conversation.summary_wait.is_active
    await pass_loops()  # the limit of the wait runs too
    return rig, turn, gate


async def pass_loops() -> None:
    """Let everything happen that can happen now."""
    for _ in range(50):
        await asyncio.sleep(0)


def waits(rig: AgentRig) -> list[bool]:
    return [update.is_active for update in rig.updates_of(SummaryAwaited)]


async def test_the_next_step_waits_for_the_summary_and_says_so() -> None:
    """No request is sent meanwhile; then it goes on with what the model wrote."""
    rig, turn, gate = await waiting_rig()
    sent = len(rig.model.requests)
    await pass_loops()
    assert len(rig.model.requests) == sent
    gate.set()
    await turn
    assert waits(rig)[:2] == [True, False]
    assert not rig.conversation.summary_wait.is_active
    handovers = rig.events(HandoverMade)
    assert handovers
    assert {(made.model, made.trigger, made.fallback) for made in handovers} == {
        ("test/scripted", HandoverTrigger.OVERFLOW, "")
    }
    assert {made.how for made in rig.events(FoldMade)} == set()


@pytest.mark.parametrize("is_chosen", [True, False], ids=["the user goes on", "after five minutes"])
async def test_a_wait_ends_without_a_model(is_chosen: bool) -> None:
    """By the user's choice or after five minutes; the summary says why."""
    rig, turn, _ = await waiting_rig()
    if is_chosen:
        rig.conversation.summary_wait.continue_without_model()
    else:
        rig.clock.advance_s(299)
        await pass_loops()
        assert rig.conversation.summary_wait.is_active
        rig.clock.advance_s(1)
    await rig.wait_for_updates(SummaryAwaited, 2)
    await rig.wait_until(lambda: rig.events(HandoverMade))
    (made,) = rig.events(HandoverMade)
    assert (made.model, made.trigger) == (NO_MODEL, HandoverTrigger.OVERFLOW)
    reason = "You continued without a model." if is_chosen else "The model took more than 5 minutes."
    assert made.fallback == reason
    await rig.conversation.stop()
    await asyncio.wait([turn])


async def test_stop_ends_the_turn_while_it_waits() -> None:
    """The summary goes on being written, for the next turn."""
    rig, turn, gate = await waiting_rig()
    await rig.conversation.stop()
    await asyncio.wait([turn])
    assert not rig.conversation.summary_wait.is_active
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.wait_until_idle()
    assert [made.model for made in rig.events(HandoverMade)] == ["test/scripted"]


async def test_only_what_is_needed_leaves_oldest_first() -> None:
    """At 95 % one output at a time, instead of all but the newest; nothing waits for a summary."""
    rig, _ = await begin_with(
        *(tool_call_reply(("say", {"times": 300}), id_prefix=f"s{n}-") for n in range(14)),
        policy=msgspec.structs.replace(WORDS_ONLY, intake_above=0),
    )
    assert (await rig.conversation.run("Work.")).how == "done"
    sweeps = rig.events(SweepMade)
    assert len(sweeps) > 1
    assert all(len(sweep.swept) == 1 for sweep in sweeps)
    swept = [seq for sweep in sweeps for seq in sweep.swept]
    assert swept == sorted(swept)
    assert rig.model.summary_requests == rig.events(HandoverFailed) == []
    last = tool_result_texts(rig.model.requests[-1])
    assert [("[CACHED]" in text) for text in last] == sorted(
        ["[CACHED]" in text for text in last], reverse=True
    )


async def test_a_reported_window_that_is_smaller_than_believed_gets_a_summary_by_the_model() -> None:
    """Far below the threshold of the window that was configured: the words leave by a summary, not a cut."""
    info = ModelInfo("test", "scripted", window=40_000, reserve=400)
    refused = ContextWindowExceeded(verbatim("Too long."), window_size=8_000)
    long_answers = [text_reply(f"answer {n} " + "because it is so " * 250) for n in range(10)]
    model = ScriptedModel(replies_in_order(*long_answers, [refused], text_reply("It fits.")), info)
    rig = AgentRig(model, msgspec.structs.replace(WORDS_ONLY, observe_place_at=0.0))
    await rig.begin()
    for number in range(11):
        assert (await rig.conversation.run(f"Question {number}?")).how == "done"
    (made,) = rig.events(HandoverMade)
    assert (made.model, made.trigger, made.fallback) == ("test/scripted", HandoverTrigger.OVERFLOW, "")
    assert rig.events(FoldMade) == []
    assert waits(rig) == [True, False]


def reading_script(request: ModelRequest) -> ScriptedReply:
    if request.messages[-1].role == "user":
        return tool_call_reply(
            ("say", {"text": "the port is 8080", "target": "a.toml"}), id_prefix=f"c{len(request.messages)}-"
        )
    return text_reply("The port is 8080.\n[as a.toml says]")


async def worked_session() -> AgentRig:
    """Return a session in which something was asked, read and answered."""
    rig, conversation = await begin_with(script=reading_script, policy=MANUAL_ONLY)
    await conversation.rename("Ports")
    await conversation.run("Never touch b.toml. Which port is it?")
    return rig


def handover_text(request: ModelRequest) -> str:
    first = next(message for message in request.messages if message.role == "user")
    assert first.text.startswith(TITLE)
    return first.text


async def test_a_session_begins_with_the_handover_of_another_one() -> None:
    """The words that matter are there verbatim, everything else is one recall away, and nothing is asked."""
    rig = await worked_session()
    old = rig.conversation
    call_count = len(rig.model.requests)
    new = await rig.workspace.continue_session(old.session.id)
    assert len(rig.model.requests) == call_count
    assert new.session.transcript.title == "Ports (2)"
    await new.run("And now?")
    text = handover_text(rig.model.requests[-1])
    assert 'the earlier session "Ports"' in text
    assert "user: Never touch b.toml. Which port is it?" in text
    assert "agent: The port is 8080.\n[as a.toml says]" in text
    assert "a.toml" in text
    assert "[e" not in text  # numbers of events would be of this session
    origin = new.session.transcript.origin
    assert origin is not None
    (answer,) = [
        item.event for item in old.session.transcript.messages.items if hasattr(item.event, "digest")
    ]
    assert answer.digest.encode() in await rig.store.get(origin.index)
    rig._conversation = new
    await rig.assert_consistent()
    assert (await rig.workspace.continue_session(old.session.id)).session.transcript.title == "Ports (3)"
    summaries = {summary.id: summary for summary in await rig.workspace.sessions()}
    assert summaries[new.session.id].origin == old.session.id


async def test_the_new_window_needs_its_own_log_only() -> None:
    """The other session can be undone, or deleted; the same log gives the same bytes."""
    rig = await worked_session()
    new = await rig.workspace.continue_session(rig.conversation.session.id)
    await new.run("And now?")
    before = new.window.measure()[0].request
    await delete_session(rig.workspace, rig.conversation.session.id)
    _, frame, _ = rig.workspace.models.shared()
    reread = Transcript(await rig.store.events(new.session.id))
    assert project(reread, new.window.policy, frame).request == before
    await new.window.undo(2)
    assert TITLE not in new.window.measure()[0].request.messages[1].text
    await new.window.redo(2)
    assert new.window.measure()[0].request == before


async def test_a_later_handover_keeps_what_the_session_began_with() -> None:
    """Its index leads to the first one, and the words of the other session stay as long as they fit."""
    think = thinking_script(9)
    rig, conversation = await begin_with(
        script=lambda request: text_reply("Blue.") if "sea" in request.messages[-1].text else think(request),
        policy=MANUAL_ONLY,
    )
    await conversation.run("Think of the sea.")
    new = await rig.workspace.continue_session(conversation.session.id)
    await new.run("Think.")
    await new.run("And now?")
    await new.handovers.writer.commit(await new.handovers.writer.draft())
    current = new.session.transcript.window.handover
    origin = new.session.transcript.origin
    assert current is not None
    assert origin is not None
    assert current[1].former == 2
    assert origin.index.encode() in await rig.store.get(current[1].index)
    text = handover_text(new.window.measure()[0].request)
    assert "user: Think of the sea." in text
    third = await rig.workspace.continue_session(new.session.id, current[0])
    assert "user: Think of the sea." in handover_text(third.window.measure()[0].request)
    started, first = (recorded.event for recorded in third.session.log)
    assert isinstance(started, SessionStarted)
    assert isinstance(first, HandoverMade)
    assert (started.title, first.index, first.origin_seq) == (
        "Think of the sea. (3)",
        current[1].index,
        current[0],
    )


async def test_a_model_can_write_the_handover_for_a_new_session() -> None:
    """Also where compacting frees nothing; nothing is recorded here, the new session counts the cost."""
    script = ScriptedModel(reading_script, summary_script=lambda _: text_reply(SUMMARY))
    rig = AgentRig(script, MANUAL_ONLY)
    conversation = await rig.run_first("Never touch b.toml. Which port is it?")
    before = list(conversation.session.log)
    assert conversation.handovers.writer.frees_little()
    draft = await conversation.handovers.writer.draft("ports", scope=WHOLE_SESSION)
    edited = await conversation.handovers.writer.apply_edits(
        draft, draft.text.replace("A fact about", "My word on")
    )
    assert conversation.session.log == before
    new = await rig.workspace.continue_session(conversation.session.id, handover=edited)
    text = handover_text(new.window.measure()[0].request)
    assert "My word on current issues" in text
    assert "user: Never touch b.toml. Which port is it?" in text
    origin = new.session.transcript.origin
    assert origin is not None
    assert (origin.model, origin.focus, origin.edited) == ("test/scripted", "ports", True)
    assert new.session.transcript.spending.tokens == draft.event.spent > 0


async def test_there_must_be_a_handover() -> None:
    """An event that is none, and a session without messages, are refused with what to do."""
    rig = await worked_session()
    with pytest.raises(InvalidInput, match="e3 isn't a handover summary"):
        await rig.workspace.continue_session(rig.conversation.session.id, 3)
    empty = await rig.workspace.create_session()
    with pytest.raises(InvalidInput, match="no messages"):
        await rig.workspace.continue_session(empty.session.id)
    with pytest.raises(CompactionRefused, match="no messages"):
        await empty.handovers.writer.draft(scope=WHOLE_SESSION)
    assert len(await rig.workspace.sessions()) == 2
