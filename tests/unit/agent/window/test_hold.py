"""The window on hold: nothing rewrites it by itself while it fits, until the user lets it go."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.session import ErrorRaised
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.planner import CompactionOutlook, RewriteStatus
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.agent_rig import AgentRig
from tests.support.observation_rig import rig_after_turns, run_turns
from tests.support.scripted_model import ScriptedModel, thinking_script

EAGER = msgspec.structs.replace(
    PROFILES["balanced"], observe_at=0.0, handover_cooldown_s=0, handover_least_messages=2
)


async def test_an_undone_handover_comes_again_only_without_hold() -> None:
    """Held across a restart; what does not fit any more makes room all the same; let go, it is compacted."""
    rig = AgentRig(ScriptedModel(thinking_script(12)), EAGER)
    conversation = await rig.begin()
    await conversation.run("Think.")
    await rig.wait_until_idle()
    (seq,) = conversation.session.transcript.rewrites.handovers
    await conversation.hold(True)
    await conversation.hold(True)
    await conversation.window.undo(seq)
    assert conversation.window.measure()[1].pressure == "compact"
    window = conversation.window.measure()[0]
    reopened = await rig.create_workspace(rig.store, EAGER).open_session(conversation.session.id)
    assert reopened.session.transcript.on_hold
    rig.switch_to(reopened)
    await reopened.run("And now?")
    await rig.wait_until_idle()
    assert (
        reopened.window.measure()[0].request.messages[: len(window.request.messages)]
        == window.request.messages
    )
    assert len(rig.events(HandoverMade)) == 1
    assert await reopened.window.rewrite_status() == RewriteStatus(outlook=CompactionOutlook("hold"))

    await reopened.run("words " * 300)
    assert [handover.trigger for handover in rig.events(HandoverMade)[1:]] == [HandoverTrigger.OVERFLOW]
    assert reopened.session.transcript.on_hold

    await reopened.hold(False)
    for _ in range(3):
        await reopened.run("words " * 2_000)
        await rig.wait_until_idle()
    assert rig.events(HandoverMade)[2].trigger is HandoverTrigger.THRESHOLD
    assert rig.events(HoldSet) == [HoldSet(), HoldSet(on=False)]
    await rig.assert_consistent()


@pytest.mark.expect_errors("task record .* failed")
async def test_a_turn_that_could_not_be_recorded_starts_no_work_on_the_window() -> None:
    """What is due waits for a turn that is: the request would be paid for, and its result lost."""
    rig = await rig_after_turns(0)
    await rig.conversation.hold(True)
    await run_turns(rig, 4)
    await rig.conversation.hold(False)
    first_failing_write, rig.store.first_failing_write = rig.store.first_failing_write, 0
    await rig.conversation.run("And now?")
    await rig.wait_until_idle()
    assert len(rig.updates_of(ErrorRaised)) == 1
    assert not rig.model.observation_requests
    rig.store.first_failing_write = first_failing_write
    await run_turns(rig, 1)
    assert rig.model.observation_requests
