"""A summary that was made without a model is written again by one, once it answers."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.handover import TITLE
from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    FailedPreparation,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
)
from helix_desktop.domain.messages import ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.compaction_rig import NO_SWEEP, next_request_text
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedReply,
    replies_in_order,
    text_reply,
    thinking_script,
)

FACT = "A fact about technical details"


def unreachable(_: ModelRequest) -> ScriptedReply:
    return [ModelUnreachable(verbatim("The server is away."))]


def written(_: ModelRequest) -> ScriptedReply:
    return text_reply(SUMMARY)


async def rig_without_a_writer(policy: ContextPolicy = NO_SWEEP) -> AgentRig:
    """Return a conversation whose summary was made without a model; its calls are answered as before."""
    rig, _ = await begin_with(script=thinking_script(12), summary=unreachable, policy=policy)
    await rig.run_and_wait("Think.")
    (handover,) = rig.events(HandoverMade)
    assert handover.model == NO_MODEL
    assert "The server is away." in handover.fallback
    rig.model.summary_requests.clear()
    rig.model.script = replies_in_order()
    return rig


def failures(rig: AgentRig) -> list[FailedPreparation]:
    failed = [event.failed for event in rig.events(HandoverDiscarded)]
    return [each for each in failed if each is not None and each.replaces]


async def test_it_is_written_again_after_the_next_turn_and_undo_goes_back_step_by_step() -> None:
    """The user sees it as any handover that was written again; the model's is not tried a second time."""
    rig = await rig_without_a_writer()
    rig.model.summary_script = written
    await rig.run_and_wait("Go on.")
    first, second = rig.events(HandoverMade)
    first_seq, second_seq = rig.seqs(HandoverMade)
    assert (second.replaces, second.upto, second.kept) == ((first_seq,), first.upto, first.kept)
    assert second.model == "test/scripted"
    assert FACT in next_request_text(rig)
    assert (first.fallback != "", second.fallback) == (True, "")

    await rig.conversation.window.undo(second_seq)
    assert FACT not in next_request_text(rig)
    assert TITLE in next_request_text(rig)
    rig.clock.advance_s(600)
    await rig.run_and_wait("And on.")
    assert len(rig.model.summary_requests) == 1, "the user undid it: it stays so"

    await rig.conversation.window.undo(first_seq)
    assert TITLE not in next_request_text(rig)
    await rig.conversation.window.redo(first_seq)
    await rig.conversation.window.redo(second_seq)
    assert FACT in next_request_text(rig)
    await rig.assert_consistent()


async def test_it_is_tried_three_times_by_whatever_process() -> None:
    """Each failure is recorded with what it took; none keeps the next due handover from being written."""
    rig = await rig_without_a_writer()
    rig.model.summary_script = lambda _: text_reply("I would rather not.")
    await rig.run_and_wait("Go on.")
    assert len(failures(rig)) == 1
    await rig.run_and_wait("Go on.")
    assert len(failures(rig)) == 1, "little came since all of it was read"
    workspace = rig.create_workspace(rig.store, NO_SWEEP)
    rig.switch_to(await workspace.open_session(rig.conversation.session.id))
    for _ in range(4):
        rig.model.script = thinking_script(1)
        await rig.run_and_wait("Think a little.")
    tried = failures(rig)
    assert len(tried) == 3
    assert len(rig.model.summary_requests) == 9, "each writing has three requests"
    assert {each.refused for each in tried} == {"I would rather not."}
    assert all(each.upto and each.read for each in tried)
    assert rig.events(HandoverFailed) == []
    assert rig.conversation.session.transcript.handover_failures == 0
    assert len(rig.events(HandoverMade)) == 1
    await workspace.close()


async def test_it_is_not_tried_after_a_turn_without_an_answer() -> None:
    rig = await rig_without_a_writer()
    rig.model.script = unreachable
    rig.model.summary_script = written
    await rig.run_and_wait("Go on.")
    assert rig.model.summary_requests == []
    rig.model.script = replies_in_order()
    await rig.run_and_wait("Go on.")
    assert len(rig.events(HandoverMade)) == 2


@pytest.mark.parametrize("change", [{"prepare_early": False}, {"budget_tokens": 1}])
async def test_what_the_policy_forbids_is_not_written(change: dict[str, object]) -> None:
    rig = await rig_without_a_writer()
    rig.model.summary_script = written
    policy = msgspec.structs.replace(NO_SWEEP, **change)
    workspace = rig.create_workspace(rig.store, policy)
    rig.switch_to(await workspace.open_session(rig.conversation.session.id))
    await rig.run_and_wait("Go on.")
    assert rig.model.summary_requests == []
    await workspace.close()


async def test_the_user_s_own_text_stays() -> None:
    rig = await rig_without_a_writer()
    rig.model.summary_script = written
    (seq,) = rig.seqs(HandoverMade)
    revisions = rig.conversation.handovers.revisions
    draft = await revisions.draft(seq)
    await revisions.record(draft, draft.handover.sections)
    await rig.run_and_wait("Go on.")
    assert rig.model.summary_requests == []
