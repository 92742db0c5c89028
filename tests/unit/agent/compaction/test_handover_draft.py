"""Manual handovers: drafted first, reviewed and edited, then accepted or dropped."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from helix_desktop.agent.compaction.handover_writer import HandoverDraft, HandoverScope
from helix_desktop.agent.session import CompactionProgress
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.handover import TITLE, UNSUPPORTED
from helix_desktop.context.summaries.handover_revision import editable_sections, from_fields, to_fields
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.cost import tokens_by_purpose
from helix_desktop.domain.errors import CompactionRefused, InvalidInput
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.events.summary import Bullet, HandoverFailed, HandoverMade
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import MANUAL_ONLY, ready_conversation, working
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    text_reply,
    thinking_script,
)


async def test_a_draft_records_nothing() -> None:
    """It has the handover's content, and is streamed like one; the log and the window stay unchanged."""
    rig = await ready_conversation()
    log = list(rig.conversation.session.log)
    before = rig.conversation.window.measure()[0].request
    draft = await rig.conversation.handovers.writer.draft("the login")
    assert rig.conversation.session.log == log
    assert rig.conversation.window.measure()[0].request == before
    assert draft.text == SUMMARY.replace("\n## ", "\n\n## ") + "\n"
    assert (draft.event.model, draft.event.fallback) == ("test/scripted", "")
    assert draft.event.after < draft.event.before * 0.9
    assert [section.title for section in draft.event.sections] == [*TITLES]
    assert "the login" in rig.model.summary_requests[0].messages[1].text
    updates = rig.updates_of(CompactionProgress)
    assert SUMMARY in [update.text for update in updates]
    assert [update.phase for update in updates][-1] == "idle"


async def test_a_draft_that_is_left_stays_until_what_it_covers_changes() -> None:
    """Not when something comes behind it; an exclusion inside it drops it, and its undo brings it back."""
    rig = await ready_conversation()
    handovers = rig.conversation.handovers
    window = rig.conversation.window
    draft = await handovers.writer.draft("the login")
    await handovers.save_draft(draft, "as I changed it", 0, is_whole=False)
    left = handovers.restore_draft(0, is_whole_possible=False)
    assert left is not None
    assert left.text == "as I changed it"
    await rig.conversation.run("And now?")
    assert handovers.restore_draft(0, is_whole_possible=False) == left, "what came since is not covered"
    assert handovers.restore_draft(7, is_whole_possible=False) is None, "another handover is written again"
    entry = next(item for item in window.items() if 2 < item.seq <= draft.range.upto and item.can_exclude)
    await window.exclude(entry.seq)
    assert handovers.restore_draft(0, is_whole_possible=False) is None
    await window.undo(rig.conversation.session.transcript.last_seq)
    assert handovers.restore_draft(0, is_whole_possible=False) == left
    edit = ChangesRecorded("c1", "d" * 64, "tool", call_id="t0-0", paths=("a.py",))
    revert = ChangesRecorded("c2", "d" * 64, "revert", paths=edit.paths, reverts=("c1",))
    await rig.conversation.session.record(edit)
    assert handovers.restore_draft(0, is_whole_possible=False) == left
    await rig.conversation.session.record(revert)
    assert handovers.restore_draft(0, is_whole_possible=False) is None, "it calls that completed work"
    await handovers.save_draft(draft, "again", 0, is_whole=False)
    assert handovers.restore_draft(0, is_whole_possible=False) is not None
    await handovers.writer.commit(await handovers.writer.draft())
    assert handovers.restore_draft(0, is_whole_possible=False) is None, "its messages are compacted"


async def test_after_a_restart_the_draft_that_was_saved_last_is_there() -> None:
    """A newer one that is not saved yet takes nothing from it; one that was only written is there, too."""
    rig = await ready_conversation()
    handovers = rig.conversation.handovers
    session_id = rig.conversation.session.id
    await handovers.save_draft(await handovers.writer.draft(), "as I changed it", 0, is_whole=False)
    saved = handovers.restore_draft(0, is_whole_possible=False)
    assert saved is not None
    newer = await handovers.writer.draft("the tests")
    assert handovers.restore_draft(0, is_whole_possible=False) == saved
    for text in (saved.text, "newer"):
        workspace = rig.create_workspace(rig.store, MANUAL_ONLY)
        again = (await workspace.open_session(session_id)).handovers
        restored = again.restore_draft(0, is_whole_possible=False)
        assert restored is not None
        assert restored.text == text
        await handovers.save_draft(newer, "newer", 0, is_whole=False)
        await workspace.close_session(session_id)


async def test_a_written_draft_and_its_cost_outlive_a_kill_and_are_counted_once() -> None:
    rig = await ready_conversation()
    session = rig.conversation.session
    before = session.transcript.spending.tokens
    written = await rig.conversation.handovers.write_draft("the login")
    workspace = rig.create_workspace(rig.store, MANUAL_ONLY)  # as after a kill: nothing was closed
    again = await workspace.open_session(session.id)
    assert again.session.transcript.spending.tokens == before + written.event.spent > before
    purposes = tokens_by_purpose(recorded.event for recorded in again.session.log)
    assert purposes["summaries"] == written.event.spent
    restored = again.handovers.restore_draft(0, is_whole_possible=False)
    assert restored is not None
    assert restored.text == written.text
    await again.handovers.writer.commit(restored.draft)
    (made,) = [recorded.event for recorded in again.session.log if isinstance(recorded.event, HandoverMade)]
    assert made.spent == written.event.spent, "the timeline says what it took"
    assert again.session.transcript.spending.tokens == before + made.spent


async def test_a_draft_accepted_as_it_is() -> None:
    """The recorded handover is the shown one, with its figures; it can be undone like any other.

    An edit may not make the window larger.
    """
    rig = await ready_conversation()
    before = rig.conversation.window.measure()[0].request
    draft = await rig.conversation.handovers.writer.draft("the login")
    with pytest.raises(CompactionRefused, match="larger"):
        await rig.conversation.handovers.writer.commit(draft, draft.text + "- much\n" * 9_000)
    assert rig.events(HandoverFailed) == []
    await rig.conversation.handovers.writer.commit(draft, draft.text)
    (handover,) = rig.events(HandoverMade)
    assert (handover.trigger, handover.focus, handover.edited) == (HandoverTrigger.MANUAL, "the login", False)
    assert handover.sections == draft.event.sections
    assert (handover.before, handover.after) == (draft.event.before, draft.event.after)
    assert rig.conversation.window.measure()[1].used == draft.event.after
    assert (await rig.store.get(handover.index)).startswith(b"Index of cached outputs")
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    await rig.conversation.window.undo(seq)
    assert rig.conversation.window.measure()[0].request == before


async def test_the_user_s_own_text() -> None:
    """Every line counts, sources stay, unknown ones are dropped, and the user's text is unmarked."""
    rig = await ready_conversation(
        summary=lambda _: text_reply(SUMMARY.replace("fact about todo items [e4]", "wish [e99999]"))
    )
    draft = await rig.conversation.handovers.writer.draft()
    assert f"- A wish {UNSUPPORTED}" in draft.text
    text = draft.text.replace(f"- A wish {UNSUPPORTED}", "Ship it on\n  Friday.\n- Call Ann [e4, e77777]")
    await rig.conversation.handovers.writer.commit(draft, text)
    (handover,) = rig.events(HandoverMade)
    assert handover.edited
    todo = next(section for section in handover.sections if section.title == "TODO Items")
    assert todo.bullets == (Bullet("Ship it on Friday."), Bullet("Call Ann", (4,)))
    message = rig.conversation.window.measure()[0].request.messages[1].text
    assert message.startswith(TITLE)
    assert "- Ship it on Friday.\n- Call Ann [e4]" in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Headings are missing: Project Background"),
        (SUMMARY.replace("## TODO Items", "## Plans"), "Line 9: 'Plans' isn't one of the headings."),
        (
            SUMMARY.replace("## TODO Items", "## Current Issues"),
            "the heading Current Issues appears twice.",
        ),
        ("Well.\n" + SUMMARY, "Line 1 is before the first heading."),
        ("\n".join(f"## {title}\n- None" for title in TITLES), "It is empty."),
    ],
)
async def test_an_unparsable_text_is_refused(text: str, reason: str) -> None:
    """The refusal names the line; nothing is recorded, and the draft can still be accepted."""
    rig = await ready_conversation()
    draft = await rig.conversation.handovers.writer.draft()
    with pytest.raises(InvalidInput) as refused:
        await rig.conversation.handovers.writer.commit(draft, text)
    assert reason in refused.value.why
    assert refused.value.fix
    assert rig.events(HandoverMade) == []
    await rig.conversation.handovers.writer.commit(draft)


async def test_the_range_can_be_chosen() -> None:
    """The proposed one comes first, then the furthest; a draft up to one of them covers it and no more."""
    rig = await ready_conversation()
    ranges = await rig.conversation.handovers.writer.ranges()
    ends = [cut.upto for cut in ranges]
    assert ends[1:] == sorted(ends[1:], reverse=True)
    assert ends[0] < max(ends), "the newest turn is left out unless the user chooses otherwise"
    near = await rig.conversation.handovers.writer.draft(upto=ranges[4].upto)
    assert near.range == ranges[4]
    await rig.conversation.handovers.writer.commit(near)
    assert rig.events(HandoverMade)[0].upto == ranges[4].upto
    with pytest.raises(CompactionRefused, match=r"up to this message \(e3\)"):
        await rig.conversation.handovers.writer.draft(upto=3)


async def test_a_draft_is_stale_when_its_history_changed() -> None:
    """Another handover or an undo makes it stale; added messages do not."""
    rig = await ready_conversation()
    stale = await rig.conversation.handovers.writer.draft()
    draft = await rig.conversation.handovers.writer.draft()
    await rig.conversation.run("And on?")
    await rig.conversation.rename("Another title")
    await rig.conversation.handovers.writer.commit(draft)
    with pytest.raises(CompactionRefused, match="changed in the meantime"):
        await rig.conversation.handovers.writer.commit(stale)
    (seq,) = rig.conversation.session.transcript.rewrites.handovers
    rig.model.script = thinking_script(9)
    await rig.say("Think again.", "And now?")
    second = await rig.conversation.handovers.writer.draft()
    await rig.conversation.window.undo(seq)
    with pytest.raises(CompactionRefused, match="changed in the meantime"):
        await rig.conversation.handovers.writer.commit(second)
    assert len(rig.events(HandoverMade)) == 1
    assert rig.events(HandoverFailed) == []


async def test_a_draft_can_be_canceled() -> None:
    """Nothing is recorded, the call is closed, and another can be started."""
    gate = asyncio.Event()
    rig = await ready_conversation(summary=lambda _: [gate, *text_reply(SUMMARY)])
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.conversation.handovers.writer.draft())
        await rig.wait_until(lambda: rig.model.summary_requests)
        with pytest.raises(CompactionRefused, match="Already running"):
            await rig.conversation.handovers.writer.draft()
        task.cancel()
    closed = rig.model.closed_streams
    gate.set()
    assert isinstance(await rig.conversation.handovers.writer.draft(), HandoverDraft)
    assert rig.model.closed_streams == closed + 1
    assert rig.events(HandoverMade) == []


async def test_nothing_to_draft() -> None:
    """Reported at once; the model gets no request."""
    rig, conversation = await begin_with(script=thinking_script(2), policy=MANUAL_ONLY)
    assert await conversation.handovers.writer.ranges() == []
    with pytest.raises(CompactionRefused, match="Nothing to compact yet"):
        await conversation.handovers.writer.draft()
    assert rig.model.summary_requests == []


async def test_an_edited_draft_is_checked_again() -> None:
    """What the user wrote into it is not added below it any more."""
    policy = msgspec.structs.replace(MANUAL_ONLY, user_text_tokens=0)  # else the message itself stands there
    rig, conversation = await begin_with(script=thinking_script(9), policy=policy)
    await rig.say("Think of issue #4711.", "And now?")
    draft = await conversation.handovers.writer.draft()
    (numbers,) = draft.event.coverage
    assert (numbers.kind, numbers.named, numbers.total) == ("numbers", 0, 1)
    assert numbers.missing == (Bullet("Think of issue #4711.", (3,)),)
    await conversation.handovers.writer.commit(draft, f"{draft.text}- The issue is #4711 [e3]\n")
    (handover,) = rig.events(HandoverMade)
    assert [(kind.named, kind.missing) for kind in handover.coverage] == [(1, ())]
    assert "Leave Out" not in conversation.window.measure()[0].request.messages[1].text


async def test_a_sentence_put_back_into_the_active_handover() -> None:
    """The handover with it takes the former one's place in the window; an undo brings that one back."""
    rig = await ready_conversation(
        summary=lambda _: text_reply(SUMMARY.replace("fact about todo items [e4]", "wish [e99999]"))
    )
    handovers = rig.conversation.handovers
    window = rig.conversation.window
    await handovers.writer.commit(await handovers.writer.draft())
    ((seq, former),) = rig.conversation.session.transcript.rewrites.handovers.items()
    before = window.measure()[0].request
    spent = former.spent
    draft = await handovers.revisions.draft(seq)
    fields = to_fields(editable_sections(draft.handover))
    assert fields["TODO Items"] == "- A wish (no source)"
    fields["TODO Items"] += "\n- Call Ann [e4, e99999]"
    sections = from_fields(fields, draft.valid_seqs)
    await handovers.revisions.record(draft, sections)
    active = rig.conversation.session.transcript.window.handover
    assert active is not None
    assert (active[1].revises, active[1].edited, active[1].spent) == (seq, True, 0)
    text = window.measure()[0].request.messages[1].text
    assert f"- A wish {UNSUPPORTED}\n- Call Ann [e4]" in text
    assert active[1].after == window.measure()[1].used
    assert spent > 0
    with pytest.raises(CompactionRefused, match="wasn't changed"):
        await handovers.revisions.record(draft, sections)
    await window.undo(active[0])
    assert window.measure()[0].request == before


async def test_a_sentence_keeps_the_request_that_it_cites_when_others_are_edited() -> None:
    """Also one that is not covered, as the newest: a writer may cite it, too."""
    rig = await ready_conversation()
    conversation = rig.conversation
    draft = await conversation.handovers.writer.draft()
    request = conversation.session.transcript.messages.user_items[-1].seq
    assert request > draft.event.upto
    await conversation.handovers.writer.commit(draft, f"{draft.text}- The user wants to go on [e{request}]\n")
    ((seq, handover),) = conversation.session.transcript.rewrites.handovers.items()
    sections = editable_sections(handover)
    assert any(bullet.sources == (request,) for section in sections for bullet in section.bullets)
    revision = await conversation.handovers.revisions.draft(seq)
    assert from_fields(to_fields(sections), revision.valid_seqs) == sections


async def test_a_handover_is_written_again() -> None:
    """From its messages, not from itself; the new one takes its place, also where it covers less."""
    rig = await ready_conversation(summary=lambda _: text_reply(SUMMARY))
    handovers = rig.conversation.handovers
    window = rig.conversation.window
    await handovers.writer.commit(await handovers.writer.draft())
    session = rig.conversation.session
    ((first, former),) = session.transcript.rewrites.handovers.items()
    before = window.measure()[0].request
    same, *others = await handovers.writer.ranges(scope=HandoverScope(first))
    assert (same.upto, same.kept_seq) == (former.upto, former.kept)
    draft = await handovers.writer.draft("the tests", scope=HandoverScope(first))
    request_text = rig.model.summary_requests[-1].messages[1].text
    assert "the tests" in request_text
    assert "fact about todo items" not in request_text
    await handovers.writer.commit(draft)
    ((second, again),) = session.transcript.rewrites.active_handovers.items()
    assert (again.replaces, again.former, again.upto) == ((first,), 0, former.upto)
    shorter = min(others, key=lambda cut: cut.upto)
    assert shorter.upto < former.upto
    await handovers.writer.commit(
        await handovers.writer.draft(upto=shorter.upto, scope=HandoverScope(second))
    )
    active = session.transcript.window.handover
    assert active is not None
    assert (active[1].replaces, active[1].upto) == ((second, first), shorter.upto)
    with pytest.raises(CompactionRefused, match="wasn't changed"):
        await handovers.writer.draft(scope=HandoverScope(first))
    for seq in (active[0], second):
        await window.undo(seq)
    assert window.measure()[0].request == before
    await window.redo(active[0])
    assert session.transcript.window.handover == active


async def test_the_user_may_compact_a_single_long_turn() -> None:
    """Its message stays, and the newest steps; the policy needs none of it, not even to be on."""
    rig = AgentRig(ScriptedModel(working(12, 400)), PROFILES["off"])
    await (await rig.begin()).run("Build the thing.")
    first, *_ = await rig.conversation.handovers.writer.ranges()
    assert first.kept_seq == rig.conversation.session.transcript.messages.user_items[0].seq
    draft = await rig.conversation.handovers.writer.draft()
    await rig.conversation.handovers.writer.commit(draft)
    (handover,) = rig.events(HandoverMade)
    assert handover.after < handover.before * 0.5
    messages = rig.conversation.window.measure()[0].request.messages
    assert "Build the thing." in [message.text for message in messages]
    rig.model.script = thinking_script(0)
    await rig.conversation.run("Go on.")


async def test_the_user_may_compact_what_frees_nothing() -> None:
    """The draft has the true figures, and can be taken all the same; a paid one is never lost to a rule."""
    rig = AgentRig(ScriptedModel(working(2, 5)), MANUAL_ONLY)
    await (await rig.begin()).run("Look.")
    handovers = rig.conversation.handovers
    assert handovers.writer.frees_little()
    draft = await handovers.writer.draft()
    assert draft.event.after > draft.event.before
    await handovers.writer.commit(draft)
    assert rig.conversation.window.measure()[1].used == draft.event.after


async def test_the_parts_of_a_draft_add_up_to_what_the_context_counts_for_it() -> None:
    """What the dialog says of a draft, the panel says of the handover."""
    _, conversation = await begin_with(script=thinking_script(9), policy=MANUAL_ONLY)
    for text in ("Think of docs/plan.md.", "And now? " * 20, "And now?"):
        await conversation.run(text)
    draft = await conversation.handovers.writer.draft()
    parts = await conversation.handovers.writer.parts_as_sent(draft)
    await conversation.handovers.writer.commit(draft)
    (item,) = (item for item in conversation.window.items() if item.state == "summarized")
    assert sum(part.tokens for part in parts) == item.tokens
    assert {"note", "sections", "user"} < {part.part.kind for part in parts}


async def test_a_draft_says_what_is_cached_along_with_it() -> None:
    """Its figures count that, too: the handover alone does not free so much."""
    swept_along = msgspec.structs.replace(
        MANUAL_ONLY, protect_steps=1, protect_tokens=0, sweep="fixed", sweep_fixed=10**6,
        previous_turn_share=0.10,
    )  # fmt: skip
    rig, conversation = await begin_with(script=working(6), policy=swept_along)
    await conversation.run("Build the thing.")
    ranges = await conversation.handovers.writer.ranges()
    draft = await conversation.handovers.writer.draft(upto=ranges[-1].upto)
    await conversation.handovers.writer.commit(draft)
    (sweep,) = rig.events(SweepMade)
    assert draft.sweep_savings == sweep.saved > 0
    assert (await (await ready_conversation()).conversation.handovers.writer.draft()).sweep_savings == 0
