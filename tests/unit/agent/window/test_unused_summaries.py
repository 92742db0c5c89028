"""Canceled summaries: nothing changes, and what their calls spent counts, even after a full disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from helix_desktop.agent.session import CompactionProgress, ErrorRaised, ObservationProgress
from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade, ObservationsMade
from helix_desktop.domain.messages import ModelRequest, TextDelta
from helix_desktop.system.task_scope import TaskScope
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import MANUAL_ONLY
from tests.support.scripted_model import ScriptedModel, ScriptedReply, thinking_script

Progress = type[CompactionProgress] | type[ObservationProgress]


def unfinished(_: ModelRequest) -> ScriptedReply:
    """Return the start of a summary that never ends."""
    return [TextDelta("## Project Background\n- The"), asyncio.Event()]


async def rig_after_two_turns() -> AgentRig:
    """Return a conversation that can be summarized, by a model that does not get done."""
    rig = AgentRig(ScriptedModel(thinking_script(9), None, unfinished, unfinished), MANUAL_ONLY)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await conversation.run("And now?")
    return rig


async def writing(progress: Progress) -> tuple[AgentRig, int]:
    """Return a conversation whose summary is being written in the background, and what it spent before."""
    rig = await rig_after_two_turns()
    spent = rig.conversation.budget.spent.tokens
    if progress is CompactionProgress:
        rig.conversation.handovers.start()
    else:
        rig.conversation.observations.start()
    await until_written(rig, progress)
    return rig, spent


async def until_written(rig: AgentRig, progress: Progress) -> None:
    """Wait for the first words of the summary."""
    await rig.wait_until(lambda: any("- The" in update.text for update in rig.updates_of(progress)))


CANCEL: dict[Progress, Callable[[AgentRig], None]] = {
    CompactionProgress: lambda rig: rig.conversation.handovers.cancel(),
    ObservationProgress: lambda rig: rig.conversation.observations.cancel(),
}


@pytest.mark.parametrize("progress", CANCEL)
async def test_canceled_in_the_background_it_counts_in_usage_and_budget(progress: Progress) -> None:
    rig, spent = await writing(progress)
    CANCEL[progress](rig)
    await rig.conversation.wait_for_background_work()
    (discarded,) = rig.events(HandoverDiscarded)
    assert discarded.estimated
    assert discarded.spent == rig.conversation.budget.spent.tokens - spent > 0
    assert rig.events(HandoverMade) == []
    assert rig.events(ObservationsMade) == []
    await rig.assert_consistent()


async def test_closing_the_session_counts_it_too() -> None:
    rig, spent = await writing(CompactionProgress)
    await rig.conversation.close()
    assert rig.conversation.budget.spent.tokens > spent


@pytest.mark.expect_errors("task .* failed")
async def test_on_a_full_disk_the_cost_is_recorded_once_there_is_room() -> None:
    """The error says that the conversation is unchanged, why, and what to do."""
    rig, spent = await writing(CompactionProgress)
    rig.store.first_failing_write = rig.store.write_count + 1
    rig.conversation.handovers.cancel()
    await rig.conversation.wait_for_background_work()
    (error,) = rig.updates_of(ErrorRaised)
    check_texts(error)
    assert rig.conversation.budget.spent.tokens == spent
    rig.store.first_failing_write = 10**9
    await rig.conversation.rename("There is room again")
    await rig.wait_until(lambda: rig.events(HandoverDiscarded))
    assert rig.conversation.budget.spent.tokens > spent
    await rig.assert_consistent()


@pytest.mark.expect_errors("task .* failed")
async def test_a_canceled_draft_on_a_full_disk() -> None:
    rig = await rig_after_two_turns()
    draft = TaskScope().start(rig.conversation.handovers.proposed.draft(), "draft")
    await until_written(rig, CompactionProgress)
    rig.store.first_failing_write = rig.store.write_count + 1
    draft.cancel()
    with pytest.raises(StoreWriteFailed) as raised:
        await draft
    check_texts(raised.value)


def check_texts(error: StoreWriteFailed | ErrorRaised) -> None:
    """Assert that an error states what, why and what to do."""
    assert "The conversation is unchanged" in error.what
    assert "Nothing was stored" in error.why
    assert "Free up disk space" in error.fix
