"""Handovers in three phases beside a conversation that goes on."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest

from helix_desktop.agent.session_updates import CompactionProgress
from helix_desktop.agent.window.summarizer import NO_MODEL
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries.handover import TITLE, UNSUPPORTED
from helix_desktop.domain.errors import CompactionRefused, ContextWindowExceeded, ModelUnreachable
from helix_desktop.domain.events.rewrite import FormChosen, SweepMade
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, SummaryProblem, SweepReason
from helix_desktop.domain.events.session import ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import SECTIONS, HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelRequest, ModelResponse, RetryScheduled, TextDelta
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    replies_in_order,
    text_reply,
    thinking_script,
    tool_call_reply,
)

# Outputs stay in the window, so that it is the handover that must make room.
NO_SWEEP = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    preview_above=0.8,
    observe_at=0.0,
)
BY_HAND = msgspec.structs.replace(NO_SWEEP, handover_least_messages=10_000)


def working(steps: int, words: int = 400) -> Script:
    """A model that makes so many calls of `words` words each in a turn, then says `Done.`"""
    made = 0

    def play(request: ModelRequest) -> ScriptedReply:
        nonlocal made
        newest = max(n for n, message in enumerate(request.messages) if message.role == "user")
        if newest == len(request.messages) - 1:
            made = 0
        if made == steps:
            return text_reply("Done.")
        made += 1
        return tool_call_reply(
            ("say", {"text": "words", "times": words // 2}), id_prefix=f"s{len(request.messages)}-{made}-"
        )

    return play


def texts(request: ModelRequest) -> str:
    """All that a request says."""
    return "\n".join(message.text for message in request.messages)


async def test_a_handover_at_85_percent_while_work_goes_on() -> None:
    """The turn goes on with the old window, messages wait and are sent, and the next request is smaller."""
    gate = asyncio.Event()
    model = ScriptedModel(
        working(19, 380), summary_script=lambda _: [TextDelta(SUMMARY), gate, ModelResponse(SUMMARY)]
    )
    rig = AgentRig(model, NO_SWEEP)
    talk = await rig.begin()
    await talk.send("Build the thing. Never touch main.")
    await rig.wait_until(lambda: model.summary_requests)
    asked_at = len(model.requests)
    await talk.send("By the way, use tabs.")
    await rig.wait_until(lambda: len(model.requests) > asked_at)
    assert TITLE not in texts(model.requests[-1])  # still the old window
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.wait_until_idle()
    (made, *_) = rig.events(HandoverMade)
    assert (made.trigger, made.threshold) == (HandoverTrigger.THRESHOLD, NO_SWEEP.handover_at)
    assert (made.model, made.fallback) == ("test/scripted", "")
    assert made.after < made.before * 0.9
    after = next(request for request in model.requests if TITLE in texts(request))
    former = model.requests[model.requests.index(after) - 1]
    assert len(texts(after)) < len(texts(former))
    assert after.messages[1].text.startswith(TITLE)
    assert "A fact about todo items [e4]" in after.messages[1].text
    assert "Build the thing." in texts(after)
    assert [one.text for one in rig.events(UserSpoke)][1] == "By the way, use tabs."
    assert all(one.how == "done" for one in rig.events(TurnEnded))
    assert rig.updates_of(CompactionProgress)[-1].phase == "idle"
    await rig.assert_consistent()


async def test_two_handovers_back_can_be_recalled() -> None:
    """The index of the second names that of the first, and that names the outputs it covered."""
    rig = AgentRig(ScriptedModel(working(40, 380)), NO_SWEEP)
    talk = await rig.begin()
    rig.clock.advance_s(10**6)
    rig.workspace.listen(lambda *_: rig.clock.advance_s(20))
    assert (await talk.run("Work.")).how == "done"
    await rig.wait_until_idle()
    made = rig.events(HandoverMade)
    assert len(made) >= 2
    newest = (await rig.store.get(made[-1].index)).decode()
    assert made[-2].index in newest
    oldest = (await rig.store.get(made[0].index)).decode()
    first_output = next(digest for digest in oldest.split() if len(digest) == 64)
    assert (await rig.store.get(first_output)).startswith(b"words")
    await rig.assert_consistent()


@pytest.mark.parametrize(
    "play",
    [
        [ModelUnreachable("The server does not answer.")],
        [TextDelta("## Project"), ContextWindowExceeded("Too long.")],
        text_reply("I would rather not."),
        text_reply("## Project Background\n- only this"),
        [ModelResponse("")],
    ],
)
async def test_without_a_usable_summary_the_ledger_stands_in(play: ScriptedReply) -> None:
    """A model that fails or writes nonsense costs nothing but its summary; the card says so."""
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: play), NO_SWEEP)
    talk = await rig.begin()
    assert (await talk.run("Think.")).how == "done"
    await rig.wait_until_idle()
    (made,) = rig.events(HandoverMade)
    assert made.model == NO_MODEL
    assert made.fallback
    assert len(made.sections) == 6
    await rig.assert_consistent()


async def test_a_retry_voids_the_summary_so_far() -> None:
    """Only what came after it is read."""
    play: ScriptedReply = [
        TextDelta("nonsense"),
        RetryScheduled(1, 0.0, "again"),
        TextDelta(SUMMARY),
        ModelResponse(SUMMARY),
    ]
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: play), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    await rig.wait_until_idle()
    assert rig.events(HandoverMade)[0].fallback == ""


async def ready(script: Script | None = None, summary: Script | None = None) -> AgentRig:
    """A conversation of two turns, the first of which can be handed over by hand."""
    rig = AgentRig(ScriptedModel(script or thinking_script(9), summary_script=summary), BY_HAND)
    talk = await rig.begin()
    await talk.run("Think.")
    await talk.run("And now?")
    return rig


async def test_by_hand_with_focus() -> None:
    """The person begins one, and says what matters; redo and undo give the windows of then."""
    rig = await ready()
    before, _ = rig.conversation.measure()
    rig.conversation.compact("the login")
    await rig.conversation.wait_for_background_work()
    (made,) = rig.events(HandoverMade)
    assert (made.trigger, made.focus) == (HandoverTrigger.MANUAL, "the login")
    assert "the login" in rig.model.summary_requests[0].messages[1].text
    after, _ = rig.conversation.measure()
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.undo(seq)
    await rig.conversation.undo(seq)
    assert rig.conversation.measure()[0].request == before.request
    await rig.conversation.redo(seq)
    await rig.conversation.redo(seq)
    assert rig.conversation.measure()[0].request == after.request
    await rig.assert_consistent()


async def test_by_hand_there_may_be_nothing_to_do() -> None:
    """Said at once, not recorded: it must not count as a failure of the program's own handovers."""
    rig = AgentRig(ScriptedModel(thinking_script(2)), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    for _ in range(4):
        with pytest.raises(CompactionRefused, match="Nothing to compact yet"):
            talk.compact()
    await talk.run("And now?")
    with pytest.raises(CompactionRefused, match="less than 10 %"):
        talk.compact()
    assert rig.events(HandoverFailed) == []


async def test_history_changed_meanwhile() -> None:
    """When the handover that it was to update is undone first, it is dropped, and that is recorded."""
    gate = asyncio.Event()
    gate.set()
    rig = await ready(summary=lambda _: [gate, *text_reply(SUMMARY)])
    rig.conversation.compact()
    await rig.conversation.wait_for_background_work()
    rig.model.script = thinking_script(9)
    await rig.conversation.run("Think again.")
    await rig.conversation.run("And now?")
    gate.clear()
    rig.conversation.compact()
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 2)
    (first,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.undo(first)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert [one.why for one in rig.events(HandoverFailed)] == ["The history was changed meanwhile."]
    assert len(rig.events(HandoverMade)) == 1
    await rig.assert_consistent()


async def test_what_is_recorded_meanwhile_does_no_harm() -> None:
    """What leaves the covered messages alone does not stop a handover."""
    gate = asyncio.Event()
    rig = await ready(summary=lambda _: [gate, *text_reply(SUMMARY)])
    rig.conversation.compact()
    await rig.wait_until(lambda: rig.model.summary_requests)
    await rig.conversation.rename("Another title")
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1


async def test_refusals_back_off_and_open_the_breaker() -> None:
    """A summary longer than what it replaces is refused; tries wait 120, then 240 s; then none is made."""
    long = SUMMARY + "\n- word" * 9_000
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(long)), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverFailed)) == 1
    for wait, failures in ((119, 1), (1, 2), (239, 2), (1, 3), (10_000, 3)):
        rig.clock.advance_s(wait)
        await talk.run("Yes.")
        await rig.wait_until_idle()
        assert len(rig.events(HandoverFailed)) == failures
    assert rig.events(HandoverMade) == []
    await rig.assert_consistent()


async def test_a_summary_that_says_too_little_is_kept_and_tried_again_later() -> None:
    """It is not put in place; tries wait as after failures; the last before the breaker needs no model."""
    thin = "\n".join(f"## {title}\n- Done. [e3]" for title in SECTIONS)
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(thin)), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    await rig.wait_until_idle()
    (failed,) = rig.events(HandoverFailed)
    assert (failed.problem, failed.refused) == (SummaryProblem.SHORT, thin)
    assert failed.spent > 0
    rig.clock.advance_s(119)
    await talk.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.model.summary_requests) == 1
    for _ in range(2):
        rig.clock.advance_s(240)
        await talk.run("Yes.")
        await rig.wait_until_idle()
    assert len(rig.events(HandoverFailed)) == 2
    (made,) = rig.events(HandoverMade)
    assert (made.model, made.refused) == (NO_MODEL, thin)
    assert "was not used" in made.fallback
    await rig.assert_consistent()


async def test_a_handover_by_hand_closes_the_breaker() -> None:
    """After three failures the program leaves it to the person; theirs held, it takes over again."""
    long = SUMMARY + "\n- word" * 9_000
    rig = AgentRig(ScriptedModel(thinking_script(12), summary_script=lambda _: text_reply(long)), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    for _ in range(3):
        await rig.wait_until_idle()
        rig.clock.advance_s(240)
        await talk.run("Yes.")
    await rig.wait_until_idle()
    assert planner.is_breaker_open(talk.session.transcript)
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    talk.compact()
    await talk.wait_for_background_work()
    assert [one.trigger for one in rig.events(HandoverMade)] == [HandoverTrigger.MANUAL]
    assert not planner.is_breaker_open(talk.session.transcript)
    rig.clock.advance_s(60)
    rig.model.script = thinking_script(9)
    await talk.run("Think again.")
    await rig.wait_until_idle()
    assert [one.trigger for one in rig.events(HandoverMade)] == [
        HandoverTrigger.MANUAL,
        HandoverTrigger.THRESHOLD,
    ]
    await rig.assert_consistent()


async def test_nothing_is_blocked_while_a_summary_is_written() -> None:
    """Sending, queueing, stopping, renaming, pinning, choosing a form, undoing: all at once, all recorded."""
    gate = asyncio.Event()
    rig = await ready(summary=lambda _: [TextDelta("## Project"), gate, *text_reply(SUMMARY)])
    rig.model.script = replies_in_order(
        tool_call_reply(("say", {"times": 700}), id_prefix="loud"), text_reply("Done.")
    )
    await rig.conversation.run("Say a lot.")
    transcript = rig.conversation.session.transcript
    (loud,) = [
        one.seq for one in transcript.items if isinstance(one.event, ToolAnswered) and one.tokens > 900
    ]
    rig.conversation.compact()
    await rig.wait_until(lambda: rig.model.summary_requests)
    await rig.conversation.rename("Another title")
    await rig.conversation.choose_form(loud, "preview")
    await rig.conversation.pin(loud)
    (form,) = [one.seq for one in rig.conversation.session.log if isinstance(one.event, FormChosen)]
    await rig.conversation.undo(form)
    rig.model.script = lambda _: tool_call_reply(("wait", {}), id_prefix=f"s{len(rig.model.requests)}-")
    await rig.conversation.send("Wait.")
    await rig.tools.started.wait()
    await rig.conversation.send("And then this.")
    await rig.conversation.stop()
    assert rig.events(HandoverMade) == []
    gate.set()
    await rig.conversation.wait_for_background_work()
    (made,) = rig.events(HandoverMade)
    assert made.upto < loud
    rig.model.script = lambda _: text_reply("Done.")
    rig.conversation.send_next_queued()
    await rig.wait_until_idle()
    assert [one.text for one in rig.events(UserSpoke)][-2:] == ["Wait.", "And then this."]
    shown = texts(rig.conversation.measure()[0].request)
    assert (
        shown.index(TITLE) < shown.index("Say a lot.") < shown.index("Wait.") < shown.index("And then this.")
    )
    assert (transcript.title, transcript.rewrites.pinned) == ("Another title", frozenset({loud}))
    await rig.assert_consistent()


async def test_the_same_cut_while_the_window_changes() -> None:
    """A draft that is taken first makes the handover under way stale; that is recorded as refused."""
    gate = asyncio.Event()
    gate.set()
    rig = await ready(summary=lambda _: [gate, *text_reply(SUMMARY)])
    draft = await rig.conversation.draft_handover()
    gate.clear()
    rig.conversation.compact()
    await rig.wait_until(lambda: len(rig.model.summary_requests) == 2)
    await rig.conversation.commit_handover(draft)
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1
    assert [one.why for one in rig.events(HandoverFailed)] == ["The history was changed meanwhile."]
    await rig.assert_consistent()


async def test_a_handover_updates_the_former_one() -> None:
    """The second request holds the first handover's sentences, and only what came after it as a record."""
    rig = await ready()
    rig.conversation.compact()
    await rig.conversation.wait_for_background_work()
    first = rig.events(HandoverMade)[0]
    rig.model.script = thinking_script(9)
    await rig.conversation.run("Think again.")
    await rig.conversation.run("And now?")
    rig.conversation.compact()
    await rig.conversation.wait_for_background_work()
    asked = rig.model.summary_requests[1].messages[1].text
    assert "The former handover, to be updated" in asked
    assert "- A fact about todo items [e4]" in asked
    record = asked.split("The messages to hand over:")[1]
    assert all(int(seq) > first.upto for seq in re.findall(r"^e(\d+) ", record, re.MULTILINE))
    second = rig.events(HandoverMade)[1]
    assert second.former == next(iter(rig.conversation.session.transcript.rewrites.handovers))
    assert "e4" in texts(rig.conversation.measure()[0].request)
    await rig.assert_consistent()


async def test_unsupported_sentences_are_marked() -> None:
    """What names no message of the covered part is marked in the window."""
    rig = await ready(summary=lambda _: text_reply(SUMMARY.replace("todo items [e4]", "todo items [e99999]")))
    rig.conversation.compact()
    await rig.conversation.wait_for_background_work()
    shown = texts(rig.conversation.measure()[0].request)
    assert f"- A fact about todo items {UNSUPPORTED}" in shown
    assert shown.count(UNSUPPORTED) == 1


async def test_the_cooldown_holds() -> None:
    """After a handover that held, the next needs its minute."""
    rig = AgentRig(ScriptedModel(thinking_script(12)), NO_SWEEP)
    talk = await rig.begin()
    await talk.run("Think.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    (seq,) = talk.session.transcript.rewrites.handovers
    await talk.undo(seq)
    rig.clock.advance_s(59)
    await talk.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 1
    rig.clock.advance_s(1)
    await talk.run("Yes.")
    await rig.wait_until_idle()
    assert len(rig.events(HandoverMade)) == 2


async def test_what_does_not_fit_is_swept() -> None:
    """Before anything is summarised, old outputs become markers."""
    rig = AgentRig(ScriptedModel(working(6, 1_800)), BY_HAND)
    talk = await rig.begin()
    assert (await talk.run("Work.")).how == "done"
    assert [one.reason for one in rig.events(SweepMade)][:1] == [SweepReason.OVERFLOW]
    assert rig.events(HandoverMade) == []
    await rig.assert_consistent()


async def test_what_cannot_be_swept_is_handed_over() -> None:
    """Without asking the model, so that the turn can go on at once."""
    rig = AgentRig(ScriptedModel(thinking_script(18)), BY_HAND)
    talk = await rig.begin()
    assert (await talk.run("Think.")).how == "done"
    made = rig.events(HandoverMade)
    assert made
    assert {(one.trigger, one.model) for one in made} == {(HandoverTrigger.OVERFLOW, NO_MODEL)}
    assert rig.model.summary_requests == []
    await rig.assert_consistent()


async def test_what_does_not_fit_at_all_is_refused() -> None:
    """The largest part is named, and the conversation is not broken."""
    rig = AgentRig(ScriptedModel(working(0)), NO_SWEEP)
    talk = await rig.begin()
    ended = await talk.run("The whole book: " + "word " * 9_000)
    assert ended.how == "failed"
    assert ended.what == "The next request does not fit."
    assert "The largest part is The whole book:" in ended.why
    assert rig.model.requests == []
    await rig.assert_consistent()


async def test_off_is_off() -> None:
    """No rewrite of any kind, not even to make room: a clear error that says how to turn it on."""
    rig = AgentRig(ScriptedModel(thinking_script(20)), PROFILES["off"])
    talk = await rig.begin()
    ended = await talk.run("Think.")
    assert ended.how == "failed"
    assert "off" in ended.fix
    assert not rig.events(SweepMade)
    assert not rig.events(HandoverMade)
    assert len(texts(rig.model.requests[-1])) > 30_000
    await rig.assert_consistent()


async def test_one_at_a_time() -> None:
    """A second start while one is under way does nothing."""
    gate = asyncio.Event()
    rig = await ready(summary=lambda _: [gate, *text_reply(SUMMARY)])
    rig.conversation.compact()
    await rig.wait_until(lambda: rig.model.summary_requests)
    rig.conversation.compact()
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.model.summary_requests) == 1
    assert len(rig.events(HandoverMade)) == 1


async def test_a_stop_leaves_the_handover_alone() -> None:
    """The turn ends; the summary under way is still written."""
    gate = asyncio.Event()
    rig = AgentRig(
        ScriptedModel(thinking_script(30, 550), summary_script=lambda _: [gate, *text_reply(SUMMARY)]),
        NO_SWEEP,
    )
    talk = await rig.begin()
    await talk.send("Think.")
    await rig.wait_until(lambda: rig.model.summary_requests)
    await talk.stop()
    assert rig.events(TurnEnded) == [TurnEnded("stopped")]
    gate.set()
    await talk.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1
    await rig.assert_consistent()
