"""Handovers by hand: written first, looked at and edited, then taken or dropped."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.session_updates import CompactionProgress
from helix_desktop.agent.window.handover_draft import HandoverDraft
from helix_desktop.agent.window.summarizer import NO_MODEL
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover import TITLE, UNSUPPORTED
from helix_desktop.domain.errors import CompactionRefused, InvalidInput, ModelUnreachable
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import TurnEnded
from helix_desktop.domain.events.summary import SECTIONS, Bullet, HandoverFailed, HandoverMade
from helix_desktop.domain.messages import ModelRequest
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import (
    SUMMARY,
    Script,
    ScriptedModel,
    ScriptedReply,
    text_reply,
    thinking_script,
    tool_call_reply,
)

BY_HAND = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=1_000,
    protect_tokens=10**6,
    preview_above=0.8,
    handover_least_messages=10_000,
    observe_at=0.0,
)


async def ready(summary: Script | None = None) -> AgentRig:
    """A conversation of two turns, the first of which can be handed over."""
    rig = AgentRig(ScriptedModel(thinking_script(9), summary_script=summary), BY_HAND)
    talk = await rig.begin()
    await talk.run("Think.")
    await talk.run("And now?")
    return rig


async def test_a_draft_records_nothing() -> None:
    """It holds what a handover would be, and is streamed like one; the log and the window stay."""
    rig = await ready()
    log, before = list(rig.conversation.session.log), rig.conversation.measure()[0].request
    draft = await rig.conversation.draft_handover("the login")
    assert rig.conversation.session.log == log
    assert rig.conversation.measure()[0].request == before
    assert draft.text == SUMMARY.replace("\n## ", "\n\n## ") + "\n"
    assert (draft.model, draft.fallback) == ("test/scripted", "")
    assert draft.after < draft.before * 0.9
    assert [section.title for section in draft.sections] == [*SECTIONS]
    assert "the login" in rig.model.summary_requests[0].messages[1].text
    told = rig.updates_of(CompactionProgress)
    assert SUMMARY in [one.text for one in told]
    assert [one.phase for one in told][-1] == "idle"
    await rig.assert_consistent()


async def test_a_draft_taken_as_it_is() -> None:
    """What was shown is what is recorded, its figures too; it can be undone like any other."""
    rig = await ready()
    before = rig.conversation.measure()[0].request
    draft = await rig.conversation.draft_handover("the login")
    await rig.conversation.commit_handover(draft)
    (made,) = rig.events(HandoverMade)
    assert (made.trigger, made.focus, made.edited) == (HandoverTrigger.MANUAL, "the login", False)
    assert made.sections == draft.sections
    assert (made.before, made.after) == (draft.before, draft.after)
    assert rig.conversation.measure()[1].used == draft.after
    assert (await rig.store.get(made.index)).startswith(b"Index of cached outputs")
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.undo(seq)
    assert rig.conversation.measure()[0].request == before
    await rig.assert_consistent()


async def test_a_draft_taken_unchanged_is_not_edited() -> None:
    """Its own text, handed back, is no edit."""
    rig = await ready()
    draft = await rig.conversation.draft_handover()
    await rig.conversation.commit_handover(draft, draft.text)
    assert rig.events(HandoverMade)[0].edited is False


async def test_the_persons_own_text() -> None:
    """Every line counts, sources stay, what is not known is dropped, and the person's words go unmarked."""
    rig = await ready(lambda _: text_reply(SUMMARY.replace("fact about todo items [e4]", "wish [e99999]")))
    draft = await rig.conversation.draft_handover()
    assert f"- A wish {UNSUPPORTED}" in draft.text
    text = draft.text.replace(f"- A wish {UNSUPPORTED}", "Ship it on\n  Friday.\n- Call Ann [e4, e77777]")
    await rig.conversation.commit_handover(draft, text)
    (made,) = rig.events(HandoverMade)
    assert made.edited
    todo = next(one for one in made.sections if one.title == "TODO Items")
    assert todo.bullets == (Bullet("Ship it on Friday."), Bullet("Call Ann", (4,)))
    shown = rig.conversation.measure()[0].request.messages[1].text
    assert shown.startswith(TITLE)
    assert "- Ship it on Friday.\n- Call Ann [e4]" in shown
    await rig.assert_consistent()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Headings are missing: Project Background"),
        (SUMMARY.replace("## TODO Items", "## Plans"), "Line 9: 'Plans' is none of the six headings."),
        (SUMMARY.replace("## TODO Items", "## Current Issues"), "Line 9: Current Issues stands there twice."),
        ("Well.\n" + SUMMARY, "Line 1 stands before the first heading."),
        ("\n".join(f"## {title}\n- None" for title in SECTIONS), "It says nothing."),
    ],
)
async def test_a_text_that_cannot_be_read(text: str, why: str) -> None:
    """The refusal names the line; nothing is recorded, and the draft can be taken still."""
    rig = await ready()
    draft = await rig.conversation.draft_handover()
    with pytest.raises(InvalidInput) as refused:
        await rig.conversation.commit_handover(draft, text)
    assert why in refused.value.why
    assert refused.value.fix
    assert rig.events(HandoverMade) == []
    await rig.conversation.commit_handover(draft)
    await rig.assert_consistent()


async def test_a_longer_text_is_refused() -> None:
    """An edit may not make the window larger."""
    rig = await ready()
    draft = await rig.conversation.draft_handover()
    with pytest.raises(CompactionRefused, match="free only"):
        await rig.conversation.commit_handover(draft, draft.text + "- much\n" * 9_000)
    assert rig.events(HandoverFailed) == []


async def test_the_range_can_be_chosen() -> None:
    """Ranges come furthest first; a draft up to one of them covers it and no more."""
    rig = await ready()
    ranges = rig.conversation.handover_cuts()
    assert [one.upto for one in ranges] == sorted((one.upto for one in ranges), reverse=True)
    assert len(ranges) >= 3
    near = await rig.conversation.draft_handover(upto=ranges[2].upto)
    assert near.cut == ranges[2]
    await rig.conversation.commit_handover(near)
    assert rig.events(HandoverMade)[0].upto == ranges[2].upto
    with pytest.raises(CompactionRefused, match="up to e3"):
        await rig.conversation.draft_handover(upto=3)
    await rig.assert_consistent()


async def test_history_changed_after_the_draft() -> None:
    """Another handover, or an undo, and the draft is stale; what was merely added does no harm."""
    rig = await ready()
    stale = await rig.conversation.draft_handover()
    draft = await rig.conversation.draft_handover()
    await rig.conversation.run("And on?")
    await rig.conversation.rename("Another title")
    await rig.conversation.commit_handover(draft)
    with pytest.raises(CompactionRefused, match="changed meanwhile"):
        await rig.conversation.commit_handover(stale)
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    rig.model.script = thinking_script(9)
    await rig.conversation.run("Think again.")
    await rig.conversation.run("And now?")
    second = await rig.conversation.draft_handover()
    await rig.conversation.undo(seq)
    with pytest.raises(CompactionRefused, match="changed meanwhile"):
        await rig.conversation.commit_handover(second)
    assert len(rig.events(HandoverMade)) == 1
    assert rig.events(HandoverFailed) == []
    await rig.assert_consistent()


async def test_a_draft_can_be_cancelled() -> None:
    """Nothing is recorded, the call is closed, and another can be begun."""
    gate = asyncio.Event()
    rig = await ready(lambda _: [gate, *text_reply(SUMMARY)])
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.conversation.draft_handover())
        await rig.wait_until(lambda: rig.model.summary_requests)
        with pytest.raises(CompactionRefused, match="Already running"):
            await rig.conversation.draft_handover()
        task.cancel()
    closed = rig.model.closed_streams
    gate.set()
    assert isinstance(await rig.conversation.draft_handover(), HandoverDraft)
    assert rig.model.closed_streams == closed + 1
    assert rig.events(HandoverMade) == []
    await rig.assert_consistent()


async def test_one_at_a_time() -> None:
    """While one is written by the program no draft can be begun."""
    gate = asyncio.Event()
    rig = await ready(lambda _: [gate, *text_reply(SUMMARY)])
    rig.conversation.compact()
    await rig.wait_until(lambda: rig.model.summary_requests)
    with pytest.raises(CompactionRefused, match="handover is being written"):
        await rig.conversation.draft_handover()
    gate.set()
    await rig.conversation.wait_for_background_work()
    assert len(rig.events(HandoverMade)) == 1


async def test_work_goes_on_while_a_draft_is_written() -> None:
    """Messages are sent and answered; the draft still fits, and what came since stays behind it."""
    gate = asyncio.Event()
    rig = await ready(lambda _: [gate, *text_reply(SUMMARY)])
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.conversation.draft_handover())
        await rig.wait_until(lambda: rig.model.summary_requests)
        assert (await rig.conversation.run("Meanwhile?")).how == "done"
        gate.set()
    await rig.conversation.commit_handover(task.result())
    shown = [message.text for message in rig.conversation.measure()[0].request.messages]
    assert shown[1].startswith(TITLE)
    assert shown[-2:] == ["Meanwhile?", "Done."]
    await rig.assert_consistent()


async def test_no_room_beats_a_draft() -> None:
    """A request that does not fit is made to fit; the draft under way is stale then."""
    gate = asyncio.Event()

    def script(request: ModelRequest) -> ScriptedReply:
        return plays.pop(0) if plays else text_reply("Done.")

    rig = await ready(lambda _: [gate, *text_reply(SUMMARY)])
    plays = [tool_call_reply(("say", {}), text="word " * 900, id_prefix=f"n{n}-") for n in range(6)]
    rig.model.script = script

    async def go_on() -> TurnEnded:
        await rig.wait_until(lambda: rig.model.summary_requests)
        ended = await rig.conversation.run("Think more.")
        gate.set()
        return ended

    draft, ended = await asyncio.gather(rig.conversation.draft_handover(), go_on(), return_exceptions=True)
    assert isinstance(draft, CompactionRefused)
    assert "changed meanwhile" in draft.why
    assert ended == TurnEnded("done")
    assert {one.trigger for one in rig.events(HandoverMade)} == {HandoverTrigger.OVERFLOW}
    await rig.assert_consistent()


async def test_a_draft_without_a_model() -> None:
    """Ledger and extracts, and it says why."""
    rig = await ready(lambda _: [ModelUnreachable("The server does not answer.")])
    draft = await rig.conversation.draft_handover()
    assert draft.model == NO_MODEL
    assert "The server does not answer." in draft.fallback


async def test_nothing_to_draft() -> None:
    """Said at once; the model is not asked."""
    rig = AgentRig(ScriptedModel(thinking_script(2)), BY_HAND)
    talk = await rig.begin()
    assert talk.handover_cuts() == []
    with pytest.raises(CompactionRefused, match="Nothing to compact yet"):
        await talk.draft_handover()
    assert rig.model.summary_requests == []
