"""Failures while the forms of large outputs are chosen: nothing is lost, and the turn goes on."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
import pytest

from helix_desktop.agent.output_forms import CHOICE_TOO_LATE, EXTRACT_TOO_LATE, extract_note
from helix_desktop.agent.session import ErrorRaised, IntakeProgress
from helix_desktop.domain.cost import Spending, spending_of
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.events.conversation import AssistantSpoke, OutputHeld, ToolAnswered, TurnEnded
from helix_desktop.domain.events.summary import HandoverDiscarded
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.translatable_text import verbatim
from tests.support.intake_rig import (
    POLICY,
    IntakeRig,
    advance_loop_clock,
    large_output,
    never_answer,
    run_loop_iterations,
    three_large_outputs,
)
from tests.support.scripted_model import ScriptedReply, text_reply, tool_result_texts


async def test_an_unanswered_question_ends_at_the_deadline() -> None:
    """The outputs become previews, and the turn goes on. What was sent has its price, as an estimate."""
    rig = three_large_outputs("")
    rig.model.info = msgspec.structs.replace(rig.model.info, price_in=2.0)
    rig.model.question_script = lambda _: never_answer()
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(lambda: rig.model.question_requests)
    advance_loop_clock(POLICY.intake_deadline_s + 1)
    await rig.wait_until_idle()
    assert [event.how for event in rig.events(TurnEnded)] == ["done"]
    assert rig.forms == [("preview", "timeout")] * 3
    assert rig.tool_answers[0].intake_note == (
        "test/main didn't choose within 10 s. test/main isn't asked again until Helix restarts, "
        "or you choose Try again in Settings → Model roles."
    )
    question, *others = (spending_of(answer) for answer in rig.tool_answers)
    assert question.estimated
    assert question.cost == pytest.approx(question.tokens * 2 / 1_000_000) != 0
    assert set(others) == {Spending()}
    seen_by_model = tool_result_texts(rig.model.requests[1])
    note = f"[{CHOICE_TOO_LATE}]"
    assert [text.endswith(note) for text in seen_by_model] == [True, True, False, True]
    await rig.assert_consistent()


@pytest.mark.parametrize(("choice_s", "slow"), [(1, "test/fast"), (7, "test/main")])
async def test_the_model_that_took_most_of_the_time_is_remembered(choice_s: int, slow: str) -> None:
    """The other one does its work in the next batch: it extracts, or it chooses."""
    rig = three_large_outputs("")
    may_choose = asyncio.Event()
    rig.model.question_script = lambda _: [may_choose, *text_reply("1: compact: a\n2: preview\n3: preview")]
    rig.script_extracts(lambda _: never_answer())
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(lambda: rig.model.question_requests)
    rig.clock.now += choice_s * 1_000
    may_choose.set()
    await rig.wait_until(lambda: rig.fast_model.extract_requests)
    advance_loop_clock(POLICY.intake_deadline_s)
    await rig.wait_until_idle()
    assert rig.forms[0] == ("preview", "timeout")
    assert f"{slow} isn't asked again" in rig.tool_answers[0].intake_note

    for each in (rig.model, rig.fast_model):
        each.question_script = lambda _: text_reply("1: compact: a\n2: preview\n3: preview")
        each.extract_script = lambda _: text_reply("rows")
    rig.script_calls("one", "two", "three")
    assert (await conversation.run("Again.")).how == "done"
    newest = [answer for answer in rig.events(ToolAnswered) if answer.name == "one"][-1]
    other = "test/main" if slow == "test/fast" else "test/fast"
    assert (newest.form, newest.intake_model) == ("compact", other)
    assert len(rig.model.question_requests) == (2 if other == "test/main" else 1)
    assert (newest.intake_note == "") == (other == "test/fast")
    await rig.assert_consistent()


async def test_a_late_extract_does_not_affect_the_others() -> None:
    """Extracts written by the deadline are kept; the late one is a preview."""
    rig = three_large_outputs("1: compact: hang\n2: compact: names\n3: full")
    rig.script_extracts(
        lambda request: never_answer() if "hang" in request.messages[1].text else text_reply("names")
    )
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(
        lambda: len(rig.fast_model.extract_requests) == 2 and rig.fast_model.closed_streams == 1
    )
    await run_loop_iterations(20)  # the other one's tokens are counted
    advance_loop_clock(POLICY.intake_deadline_s + 1)
    await rig.wait_until_idle()
    assert rig.forms == [("preview", "timeout"), ("compact", "agent"), ("full", "agent")]
    assert rig.tool_answers[0].asked == "hang"
    assert rig.tool_answers[0].text.endswith(f"[{extract_note('hang', EXTRACT_TOO_LATE)}]")
    assert "extract of this output (hang); it was not ready" in rig.tool_answers[0].text
    await rig.assert_consistent()


async def test_one_deadline_covers_question_and_extracts() -> None:
    """The question's time is no longer available to the extracts."""
    rig = three_large_outputs("", msgspec.structs.replace(POLICY, intake_deadline_s=100))
    question_asked = asyncio.Event()
    rig.model.question_script = lambda _: [question_asked, *text_reply("1: compact: a\n2: full\n3: preview")]
    rig.script_extracts(lambda _: never_answer())
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(lambda: rig.model.question_requests)
    advance_loop_clock(60)
    await run_loop_iterations(20)
    question_asked.set()
    await rig.wait_until(lambda: rig.fast_model.extract_requests)
    assert not rig.events(ToolAnswered)[1:]
    advance_loop_clock(60)
    await rig.wait_until_idle()
    assert rig.forms == [("preview", "timeout"), ("full", "agent"), ("preview", "agent")]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (text_reply("I keep all of it, thank you."), "didn't say how to keep it"),
        ([ModelRequestRejected(verbatim("The key was refused."))], "key was refused"),
        ([ModelResponse("", stop="calls")], "Empty response"),
        ([], "Empty response"),
        ([ZeroDivisionError("division by zero")], "division by zero"),
    ],
)
async def test_any_failure_of_the_question_gives_previews(question: ScriptedReply, reason: str) -> None:
    """An unparsable answer, a refusal, a mistake: the turn goes on, and the event has the reason."""
    rig = three_large_outputs("")
    rig.model.question_script = lambda _: question
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    assert rig.forms == [("preview", "rule")] * 3
    assert reason in rig.tool_answers[0].intake_note
    await rig.assert_consistent()


@pytest.mark.parametrize(
    ("extract", "reason"),
    [
        ([ModelRequestRejected(verbatim("The key was refused."))], "key was refused"),
        (text_reply("words and words " * 200), "must have fewer than 400"),
        ([ZeroDivisionError("division by zero")], "division by zero"),
        ([], "Empty response"),
    ],
)
async def test_any_failure_of_an_extract_gives_a_preview(extract: ScriptedReply, reason: str) -> None:
    """A refusal, an extract that is no shorter, a mistake, silence."""
    rig = three_large_outputs("1: compact: names\n2: preview\n3: full")
    rig.fast_model.extract_script = rig.model.extract_script = lambda _: extract
    conversation = await rig.begin()
    assert (await conversation.run("Go.")).how == "done"
    assert rig.forms == [("preview", "rule"), ("preview", "agent"), ("full", "agent")]
    assert reason in rig.tool_answers[0].intake_note
    assert rig.tool_answers[0].asked == "names"
    await rig.assert_consistent()


async def test_without_space_for_the_question_none_is_asked() -> None:
    """The request with previews may just fit; then they stay previews."""
    rig = IntakeRig(info=ModelInfo("test", "main", window=700, reserve=500))
    rig.set_output("big", large_output("big"))
    rig.script_calls("big")
    conversation = await rig.begin()
    await conversation.run("Go.")
    assert rig.model.question_requests == []
    assert rig.forms == [("preview", "rule")]
    assert "no room" in rig.tool_answers[0].intake_note


async def check_valid_stop(rig: IntakeRig) -> None:
    """Each call has one answer, the turn one end, and what ran can be read back."""
    calls = [call.id for answer in rig.events(AssistantSpoke) for call in answer.calls]
    assert sorted(calls) == sorted(event.call_id for event in rig.events(ToolAnswered))
    assert len(rig.events(TurnEnded)) == 1
    await rig.assert_recallable()
    await rig.assert_consistent()


@pytest.mark.parametrize("during", ["question", "extract", "other call"])
async def test_a_stop_keeps_finished_outputs_as_previews(during: str) -> None:
    """During the question, an extract or another call of the batch: no finished output is lost."""
    rig = three_large_outputs("1: full\n2: compact: names\n3: full")
    if during == "question":
        rig.model.question_script = lambda _: never_answer()
    rig.script_extracts(lambda _: never_answer())
    if during == "other call":
        rig.script_calls("one", "two", "say", "three", "wait")
    conversation = await rig.begin()
    await conversation.send("Go.")
    if during == "other call":
        await rig.wait_until(lambda: len(rig.events(OutputHeld)) == 3 and rig.events(ToolAnswered))
    else:
        requests = rig.model.question_requests if during == "question" else rig.fast_model.extract_requests
        await rig.wait_until(lambda: requests)
    await conversation.stop()
    assert len(rig.events(HandoverDiscarded)) == (during != "other call")  # what was sent is paid for
    assert rig.forms[:3] == [("preview", "rule")] * 3
    assert rig.updates_of(IntakeProgress)[-1:] in ([], [IntakeProgress("idle")])
    await check_valid_stop(rig)
    rig.script_calls()
    assert (await conversation.run("Go on.")).how == "done"
    await rig.assert_consistent()


class BreaksWhenCanceled(asyncio.Event):
    """An answer that never comes, and whose connection breaks on cancellation."""

    async def wait(self) -> Literal[True]:
        """Wait until canceled."""
        try:
            return await super().wait()
        except asyncio.CancelledError:
            raise ModelRequestRejected(verbatim("The connection broke.")) from None


async def test_a_stop_applies_when_the_model_fails_at_that_moment() -> None:
    """The failure hides the cancellation: unchecked, the agent would go on working after Stop."""
    rig = three_large_outputs("1: full\n2: full\n3: full")
    rig.model.question_script = lambda _: [BreaksWhenCanceled()]
    conversation = await rig.begin()
    await conversation.send("Go.")
    await rig.wait_until(lambda: rig.model.question_requests)
    requests = len(rig.model.requests)
    await conversation.stop()
    assert len(rig.model.requests) == requests
    await check_valid_stop(rig)


async def test_a_stop_at_any_moment_loses_nothing() -> None:
    """At every turn of the loop: one answer per call, and the bytes of each referenced output."""
    passes = 0
    while True:
        rig = three_large_outputs("1: full\n2: compact: names\n3: preview")
        rig.store.yields_per_write = 1
        conversation = await rig.begin()
        await conversation.send("Go.")
        for _ in range(passes):
            await asyncio.sleep(0)
        ran_out = not conversation.is_running
        await conversation.stop()
        await check_valid_stop(rig)
        if ran_out:
            return
        passes += 1


@pytest.mark.expect_errors("task record .* failed")
async def test_a_disk_that_fills_up_loses_no_stored_output() -> None:
    """The choice cannot be recorded: the turn fails with the reason, and later the previews are there."""
    rig = three_large_outputs("1: full\n2: full\n3: preview")
    conversation = await rig.begin()

    def question(_: ModelRequest) -> ScriptedReply:
        rig.store.first_failing_write = 0
        return text_reply("1: full\n2: full\n3: preview")

    rig.model.question_script = question
    await conversation.run("Go.")
    assert any("disk is full" in update.what for update in rig.updates_of(ErrorRaised))
    assert [event.name for event in rig.events(ToolAnswered)] == ["say"]
    rig.store.first_failing_write = 10**9
    rig.script_calls()
    assert (await conversation.run("Go on.")).how == "done"
    assert rig.forms == [("preview", "rule")] * 3
    await rig.assert_recallable()
    await rig.assert_consistent()


async def test_a_crash_between_storing_and_choosing_loses_nothing() -> None:
    """After every event: stored outputs are answered at the next start, and can be recalled."""
    rig = three_large_outputs("1: full\n2: compact: names\n3: preview")
    conversation = await rig.begin()
    await conversation.run("Go.")
    log, store = list(conversation.session.log), rig.store
    held_seqs = [recorded.seq for recorded in log if isinstance(recorded.event, OutputHeld)]
    for length in range(held_seqs[0], len(log)):
        again = IntakeRig()
        again.output_tools.results = rig.output_tools.results
        for result in rig.output_tools.results.values():
            await again.store.commit(Commit("s", contents=[await stored(rig, digest_of(result.content))]))
        await again.store.commit(Commit("s", contents=[await stored(rig, digest_of(b"ok c2"))]))
        await again.store.commit(Commit("s", log[:length]))
        opened = await again.open(again.store)
        for seq in held_seqs:
            if seq <= length:
                output = log[seq - 1].event
                assert isinstance(output, OutputHeld)
                (answer,) = [
                    answer for answer in again.tool_answers if answer.call_id == output.answer.call_id
                ]
                assert answer.outcome == "ran"
                assert answer.form in ("full", "compact", "preview")
        await again.assert_recallable()
        assert (await opened.run("Go on.")).how == "done"
        await again.assert_consistent()
    assert await store.events("s") == log


async def stored(rig: IntakeRig, digest: str) -> Content:
    """Return a content of the rig's store."""
    return Content(digest, await rig.store.get(digest))
