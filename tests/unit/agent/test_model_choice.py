"""No model gets a session that another one answered, until the user agrees: with a window or without."""

from __future__ import annotations

from typing import Literal

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.models import ModelRoles
from helix_desktop.agent.session import ModelChange, pending_change
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ModelChosen, SessionStarted
from helix_desktop.domain.messages import ModelInfo
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply

OWN, NOW = ModelInfo("lab", "own"), ModelInfo("lab", "now")
DEMO = ModelInfo("demo", "offline", demo=True)


def answered_by(
    label: str, *events: Event, parent: str = "", agent: ForeignAgent | Literal[""] = ""
) -> Transcript:
    """Return a session that a model answered, in another agent if one is named, with the events after it."""
    answer = AssistantSpoke("Here.", label, 1, agent=agent)
    all_events = (SessionStarted("One", parent), UserSpoke("Hello", 1), answer, TurnEnded("done"), *events)
    return Transcript([RecordedEvent(n, n, event) for n, event in enumerate(all_events, 1)])


@pytest.mark.parametrize(
    ("transcript", "now", "accepted", "change"),
    [
        (Transcript(), NOW, "", None),
        (answered_by("lab/now"), NOW, "", None),
        (answered_by("lab/own"), NOW, "", None),
        (answered_by("lab/own"), DEMO, "", ModelChange("lab/own", False, True)),
        (answered_by("lab/gone"), NOW, "", ModelChange("lab/gone", False, False)),
        (answered_by("lab/gone"), NOW, "lab/now", None),
        (answered_by("lab/gone"), NOW, "lab/other", ModelChange("lab/gone", False, False)),
        (answered_by("lab/gone", ModelChosen("", "lab/now")), NOW, "", None),
        (answered_by("lab/gone", ModelChosen("", "lab/old")), NOW, "", ModelChange("lab/gone", False, False)),
        (answered_by("demo/offline"), NOW, "", None),
        (answered_by("lab/gone", parent="p"), NOW, "", None),
        (answered_by("lab/now", ModelChosen("lab/gone")), NOW, "", ModelChange("lab/gone", True, False)),
        (answered_by("lab/now", ModelChosen("lab/gone")), NOW, "lab/now", None),
        (answered_by("x/y", ModelChosen("lab/own"), parent="p"), NOW, "", ModelChange("lab/own", True, True)),
        (answered_by("lab/gone", UserSpoke("And?", 1)), NOW, "", None),
        (answered_by("opus", agent="claude-code"), NOW, "", None),
        (answered_by("opus", agent="claude-code"), DEMO, "", ModelChange("opus", False, False)),
        (answered_by("opus", agent="claude-code"), DEMO, "demo/offline", None),
        (answered_by("", agent="cline"), DEMO, "", ModelChange("Cline", False, False)),
        (answered_by("", agent="cline"), NOW, "", None),
        (answered_by("opus", ModelChosen("", "demo/offline"), agent="claude-code"), DEMO, "", None),
    ],
)  # fmt: skip
def test_which_changes_need_the_user_s_agreement(
    transcript: Transcript, now: ModelInfo, accepted: str, change: ModelChange | None
) -> None:
    """If the model is gone, or would give way to the demo; a running turn goes on."""
    assert pending_change(transcript, now, accepted, {"lab/own", "lab/now"}.__contains__) == change


def test_an_agreement_ends_when_another_model_answers() -> None:
    agreed = ModelChosen("", accepted="lab/now")
    own, now = AssistantSpoke("Mine.", "lab/gone", 1), AssistantSpoke("Yours.", "lab/now", 1)
    for answer, accepted in ((own, ""), (now, "lab/now")):
        later = (UserSpoke("And?", 1), answer, TurnEnded("done"))
        assert answered_by("lab/gone", agreed, *later).accepted_model == accepted


async def reopened(rig: AgentRig, now: ScriptedModel) -> Conversation:
    """Return the session of a rig in a workspace where another model answers, as after a restart."""
    workspace = rig.create_workspace(rig.store, rig.workspace.policy)
    await workspace.set_models(ModelRoles(now))
    return await workspace.open_session(rig.conversation.session.id)


async def test_nothing_is_sent_before_the_user_agreed() -> None:
    """For any request: a message, a headless run, a retry, a subagent's task, a handover."""
    rig, _ = await begin_with(text_reply("Here."), info=OWN)
    await rig.conversation.run("Hello")
    now = ScriptedModel(replies_in_order(text_reply("There.")), NOW)
    conversation = await reopened(rig, now)
    events = len(conversation.session.log)
    for attempt in (conversation.send, conversation.run, conversation.start, conversation.continue_turn):
        with pytest.raises(ModelNotChosen, match="This session used lab/own so far"):
            await attempt("Go on.")
    for repeat in (conversation.retry, conversation.handovers.writer.draft):
        with pytest.raises(ModelNotChosen):
            await repeat()
    assert (len(conversation.session.log), now.requests) == (events, [])

    conversation.model_choice.accept()
    assert (await conversation.run("Go on.")).how == "done"
    assert len(now.requests) == 1


async def test_a_choice_for_the_session_is_agreement() -> None:
    """So is one model for every session."""
    rig, _ = await begin_with(text_reply("Here."), info=OWN)
    await rig.conversation.run("Hello")
    now = ScriptedModel(replies_in_order(text_reply("There.")), NOW)
    conversation = await reopened(rig, now)
    rig.configured_models["lab/now"] = now
    assert conversation.model_choice.pending
    workspace = rig.create_workspace(rig.store, rig.workspace.policy)
    await workspace.set_models(now)
    assert (await workspace.open_session(rig.conversation.session.id)).model_choice.pending is None
    rig.configured_models["lab/own"] = rig.model
    assert conversation.model_choice.pending is None, "it is set up, and gives way to another that is"
