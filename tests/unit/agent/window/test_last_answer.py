"""The last answer and the handover of the turn that edits it."""

from __future__ import annotations

from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.agent_rig import AgentRig
from tests.support.handover_rig import MANUAL_ONLY, NO_SWEEP, working
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, thinking_script


async def test_the_last_answer_stays_verbatim_in_the_turn_that_edits_it() -> None:
    """The handover inside the running turn quotes it, also where the context is full when it starts."""
    answer = "The second paragraph stands here word for word, as it was written in the turn before."
    for script, policy in ((working(19, 380), NO_SWEEP), (thinking_script(18), MANUAL_ONLY)):
        rig = AgentRig(ScriptedModel(replies_in_order(text_reply(answer))), policy)
        conversation = await rig.begin()
        await conversation.run("Write two paragraphs. Never touch main.")
        rig.model.script = script
        await conversation.run("Edit the second paragraph.")
        await rig.wait_until_idle()
        (handover, *_) = rig.events(HandoverMade)
        is_panic = handover.trigger is HandoverTrigger.OVERFLOW
        assert is_panic == (policy is MANUAL_ONLY)
        window = rig.conversation.window.measure()[0].request
        assert f"e4 agent: {answer}" in window.messages[1].text
        assert handover.words == (4,)
        assert handover.handle_digits == NO_SWEEP.handle_digits
        await rig.assert_consistent()
