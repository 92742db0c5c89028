"""What goes wrong while the forms of large outputs are chosen: nothing is lost, and the turn goes on."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session_updates import ErrorRaised, IntakeProgress
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.events.session import AssistantSpoke, OutputHeld, ToolAnswered, TurnEnded
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse
from helix_desktop.domain.store.entries import Content
from tests.support.intake_rig import POLICY, IntakeRig, large, let_pass, never, passes, three
from tests.support.scripted_model import Play, said


async def test_a_question_that_is_never_answered_ends_at_the_deadline() -> None:
    """Previews then, and the turn goes on."""
    rig = three("")
    rig.model.question = lambda _: never()
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.when(lambda: rig.model.questions)
    let_pass(POLICY.intake_deadline_s + 1)
    await rig.idle()
    assert [one.how for one in rig.events(TurnEnded)] == ["done"]
    assert rig.forms == [("preview", "timeout")] * 3
    assert "in time" in rig.answered[0].intake_note
    assert rig.answered[0].intake_tokens > 0
    await rig.sound()


async def test_an_extract_that_is_late_leaves_the_others_alone() -> None:
    """What was written by the deadline is kept; the late one is a preview."""
    rig = three("1: compact: hang\n2: compact: names\n3: full")
    rig.extracts(lambda request: never() if "hang" in request.messages[1].text else said("names"))
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.when(lambda: len(rig.fast.extracts) == 2 and rig.fast.closed == 1)
    await passes(20)  # what the other one wrote is counted
    let_pass(POLICY.intake_deadline_s + 1)
    await rig.idle()
    assert rig.forms == [("preview", "timeout"), ("compact", "agent"), ("full", "agent")]
    assert rig.answered[0].asked == "hang"
    await rig.sound()


async def test_one_deadline_covers_question_and_extracts() -> None:
    """What the question took is no longer there for the extracts."""
    rig = three("", msgspec.structs.replace(POLICY, intake_deadline_s=100))
    chosen = asyncio.Event()
    rig.model.question = lambda _: [chosen, *said("1: compact: a\n2: full\n3: preview")]
    rig.extracts(lambda _: never())
    talk = await rig.begin()
    await talk.send("Go.")
    await rig.when(lambda: rig.model.questions)
    let_pass(60)
    await passes(20)
    chosen.set()
    await rig.when(lambda: rig.fast.extracts)
    assert not rig.events(ToolAnswered)[1:]
    let_pass(60)
    await rig.idle()
    assert rig.forms == [("preview", "timeout"), ("full", "agent"), ("preview", "agent")]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (said("I keep all of it, thank you."), "named no form"),
        ([ModelRequestRejected("The key was refused.")], "key was refused"),
        ([ModelResponse("", stop="calls")], "answered nothing"),
        ([], "answered nothing"),
        ([ZeroDivisionError("division by zero")], "division by zero"),
    ],
)
async def test_whatever_goes_wrong_with_the_question_gives_previews(question: Play, why: str) -> None:
    """An answer that says nothing, a refusal, a mistake: the turn goes on, and the event says why."""
    rig = three("")
    rig.model.question = lambda _: question
    talk = await rig.begin()
    assert (await talk.run("Go.")).how == "done"
    assert rig.forms == [("preview", "rule")] * 3
    assert why in rig.answered[0].intake_note
    await rig.sound()


@pytest.mark.parametrize(
    ("extract", "why"),
    [
        ([ModelRequestRejected("The key was refused.")], "key was refused"),
        (said("words and words " * 200), "must have fewer than 400"),
        ([ZeroDivisionError("division by zero")], "division by zero"),
        ([], "answered nothing"),
    ],
)
async def test_whatever_goes_wrong_with_an_extract_gives_a_preview(extract: Play, why: str) -> None:
    """A refusal, an extract that is no shorter, a mistake, silence."""
    rig = three("1: compact: names\n2: preview\n3: full")
    rig.fast.extract = rig.model.extract = lambda _: extract
    talk = await rig.begin()
    assert (await talk.run("Go.")).how == "done"
    assert rig.forms == [("preview", "rule"), ("preview", "agent"), ("full", "agent")]
    assert why in rig.answered[0].intake_note
    assert rig.answered[0].asked == "names"
    await rig.sound()


async def test_without_room_for_the_question_none_is_asked() -> None:
    """The request with previews may just fit; then previews it is."""
    rig = IntakeRig(info=ModelInfo("test", "main", window=700, reserve=500))
    rig.gives("big", large("big"))
    rig.calls("big")
    talk = await rig.begin()
    await talk.run("Go.")
    assert rig.model.questions == []
    assert rig.forms == [("preview", "rule")]
    assert "no room" in rig.answered[0].intake_note


async def stopped_valid(rig: IntakeRig) -> None:
    """Every call has one answer, the turn one end, and what ran can be read back."""
    calls = [call.id for spoken in rig.events(AssistantSpoke) for call in spoken.calls]
    assert sorted(calls) == sorted(one.call_id for one in rig.events(ToolAnswered))
    assert len(rig.events(TurnEnded)) == 1
    await rig.recallable()
    await rig.sound()


@pytest.mark.parametrize("during", ["question", "extract", "other call"])
async def test_a_stop_keeps_what_ran_as_previews(during: str) -> None:
    """During the question, an extract or another call of the batch: nothing that ran is lost."""
    rig = three("1: full\n2: compact: names\n3: full")
    if during == "question":
        rig.model.question = lambda _: never()
    rig.extracts(lambda _: never())
    if during == "other call":
        rig.calls("one", "two", "say", "three", "wait")
    talk = await rig.begin()
    await talk.send("Go.")
    if during == "other call":
        await rig.when(lambda: len(rig.events(OutputHeld)) == 3 and rig.events(ToolAnswered))
    else:
        asked = rig.model.questions if during == "question" else rig.fast.extracts
        await rig.when(lambda: asked)
    await talk.stop()
    assert rig.forms[:3] == [("preview", "rule")] * 3
    assert rig.told(IntakeProgress)[-1:] in ([], [IntakeProgress("idle")])
    await stopped_valid(rig)
    rig.calls()
    assert (await talk.run("Go on.")).how == "done"
    await rig.sound()


async def test_a_stop_at_any_moment_loses_nothing() -> None:
    """At every turn of the loop: each call one answer, the bytes of each output that is named."""
    passes = 0
    while True:
        rig = three("1: full\n2: compact: names\n3: preview")
        rig.store.slow = 1
        talk = await rig.begin()
        await talk.send("Go.")
        for _ in range(passes):
            await asyncio.sleep(0)
        ran_out = not talk.is_running
        await talk.stop()
        await stopped_valid(rig)
        if ran_out:
            return
        passes += 1


@pytest.mark.expect_errors("task record .* failed")
async def test_a_disk_that_fills_meanwhile_loses_nothing_that_was_stored() -> None:
    """The choice cannot be recorded: the turn fails with the reason, and later the previews stand there."""
    rig = three("1: full\n2: full\n3: preview")
    talk = await rig.begin()

    def question(_: ModelRequest) -> Play:
        rig.store.full_from = 0
        return said("1: full\n2: full\n3: preview")

    rig.model.question = question
    await talk.run("Go.")
    assert any("disk is full" in one.what for one in rig.told(ErrorRaised))
    assert [one.name for one in rig.events(ToolAnswered)] == ["say"]
    rig.store.full_from = 10**9
    rig.calls()
    assert (await talk.run("Go on.")).how == "done"
    assert rig.forms == [("preview", "rule")] * 3
    await rig.recallable()
    await rig.sound()


async def test_a_crash_between_storing_and_choosing_loses_nothing() -> None:
    """After every event: what had come is answered at the next start, and can be recalled."""
    rig = three("1: full\n2: compact: names\n3: preview")
    talk = await rig.begin()
    await talk.run("Go.")
    log, store = list(talk.session.log), rig.store
    held_at = [one.seq for one in log if isinstance(one.event, OutputHeld)]
    for length in range(held_at[0], len(log)):
        again = IntakeRig()
        again.outputs.outputs = rig.outputs.outputs
        for result in rig.outputs.outputs.values():
            await again.store.commit("s", contents=[await stored(rig, digest_of(result.content))])
        await again.store.commit("s", contents=[await stored(rig, digest_of(b"ok c2"))])
        await again.store.commit("s", log[:length])
        opened = await again.open(again.store)
        for seq in held_at:
            if seq <= length:
                held = log[seq - 1].event
                assert isinstance(held, OutputHeld)
                (answer,) = [one for one in again.answered if one.call_id == held.answer.call_id]
                assert answer.outcome == "ran"
                assert answer.form in ("full", "compact", "preview")
        await again.recallable()
        assert (await opened.run("Go on.")).how == "done"
        await again.sound()
    assert await store.events("s") == log


async def stored(rig: IntakeRig, digest: str) -> Content:
    """A content of the rig's store."""
    return Content(digest, await rig.store.get(digest))
