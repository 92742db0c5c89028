"""Model roles: images that a model refuses, slow models, and whether another one may answer."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.model_roles import ModelRoles, SlowModels
from helix_desktop.agent.session import ErrorRaised, ModelChange, pending_change
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.choices import ForeignAgent
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ImagesRejected, ModelNotChosen
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.events.session import ModelChosen, SessionStarted
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, ToolRefusal
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import AgentRig, SteppedClock, begin_with
from tests.support.image_bytes import png
from tests.support.scripted_model import ScriptedModel, ScriptedReply, replies_in_order, text_reply
from tests.support.tables import for_each

VISION_MODEL = ModelInfo("test", "scripted", window=20_000, reserve=400, images=True)
GOOD = png(64, 48)
BAD = png(9, 9)


def refuse_bad_image(request: ModelRequest) -> ScriptedReply:
    if digest_of(BAD) in {image.digest for message in request.messages for image in message.images}:
        return [ImagesRejected(verbatim("test rejected an image."), verbatim("Could not process image"))]
    return text_reply("I see.")


async def rig_with(approver: FixedApprover | None = None, model: ScriptedModel | None = None) -> AgentRig:
    rig = AgentRig(model or ScriptedModel(refuse_bad_image, VISION_MODEL), approver=approver)
    await rig.begin()
    return rig


async def send(rig: AgentRig, text: str, *images: bytes) -> None:
    attached: list[Attachment] = []
    for number, data in enumerate(images):
        name = "bad.png" if data == BAD else f"good{number}.png"
        attached.append(await rig.workspace.contents.attach_data(rig.conversation.session.id, data, name))
    await rig.conversation.send(text, attached)
    await rig.wait_until_idle()


async def test_the_turn_names_the_image_and_continues_without_it() -> None:
    """One that was accepted before stays an image."""
    rig = await rig_with()
    await send(rig, "Look.", GOOD)
    await send(rig, "And this?", BAD)
    ended = rig.events(TurnEnded)[-1]
    assert (ended.how, ended.cause, ended.why) == ("failed", "image", "Could not process image")
    assert ended.what == "test rejected an image: bad.png."
    await rig.conversation.retry_without_refused()
    await rig.wait_until_idle()
    assert rig.events(TurnEnded)[-1].how == "done"
    assert [event.reason for event in rig.events(SweepMade)] == [SweepReason.REFUSED]
    messages = rig.model.requests[-1].messages
    assert [image.digest for message in messages for image in message.images] == [digest_of(GOOD)]
    assert bare_marker(digest_of(BAD)) in messages[-1].text
    assert len(rig.events(UserSpoke)) == 2


async def test_a_tool_that_a_server_refused_is_named() -> None:
    refusals = (ToolRefusal("mcp__odd__find", "Circular references are not supported."),)
    answered = [ModelResponse("Found.", tool_refusals=refusals)]
    rig = await rig_with(model=ScriptedModel(lambda _: answered))
    assert (await rig.conversation.run("Find it.")).how == "done"
    (warning,) = rig.updates_of(ErrorRaised)
    assert warning.is_warning
    assert warning.what == "test refused the tool mcp__odd__find of an MCP server."
    assert warning.why == "Circular references are not supported."


async def test_the_next_message_succeeds() -> None:
    """Also after a restart, and when nobody reacted to the offer."""
    rig = await rig_with()
    await send(rig, "Look.", BAD)
    conversation = await rig.create_workspace(rig.store, PROFILES["balanced"]).open_session(
        rig.conversation.session.id
    )
    assert (await conversation.run("Something else.")).how == "done"
    assert (await conversation.run("And more.")).how == "done"


async def test_another_model_gets_the_image() -> None:
    """It may accept what the first one refused."""
    rig = await rig_with()
    await send(rig, "Look.", BAD)
    other = ScriptedModel(
        lambda _: text_reply("I see it."), msgspec.structs.replace(VISION_MODEL, name="other")
    )
    await rig.workspace.set_models(other)
    assert (await rig.conversation.run("And you?")).how == "done"
    assert [len(message.images) for message in other.requests[-1].messages].count(1) == 1


async def test_several_images_may_be_the_cause() -> None:
    """All images since the last answer are named, and left out together."""
    rig = await rig_with()
    await send(rig, "Look.", GOOD, BAD)
    assert rig.events(TurnEnded)[-1].what == "test rejected one of 2 images: good0.png, bad.png."


@pytest.mark.parametrize("profile", ["balanced", "off"])
async def test_a_headless_run_continues_automatically(profile: str) -> None:
    """Unless the policy says that no request is changed."""
    rig = await rig_with(FixedApprover("deny"))
    rig.workspace.policy = msgspec.structs.replace(PROFILES["balanced"], enabled=profile != "off")
    await send(rig, "Look.", BAD)
    assert rig.events(TurnEnded)[-1].how == ("done" if profile == "balanced" else "failed")
    assert len(rig.events(SweepMade)) == (profile == "balanced")


DAY_S = 24 * 60 * 60


def test_a_miss_is_remembered_for_a_day() -> None:
    """A later miss begins another one; a clock that was set back changes nothing."""
    clock = SteppedClock()
    slow_models = SlowModels(clock)
    slow_models.add("box/large", 10)
    clock.advance_s(-60)
    assert slow_models.is_slow("box/large", 10)
    clock.advance_s(60 + DAY_S - 1)
    slow_models.add("box/small", 10)
    assert [model.label for model in slow_models.remembered] == ["box/large", "box/small"]
    clock.advance_s(1)
    assert not slow_models.is_slow("box/large", 10)
    assert [model.label for model in slow_models.remembered] == ["box/small"]
    slow_models.add("box/large", 10)
    assert slow_models.is_slow("box/large", 10)


def test_a_longer_deadline_asks_again() -> None:
    """The user set 60 s: whether the model keeps that is not known; a shorter one it does not keep either."""
    slow_models = SlowModels(SteppedClock())
    slow_models.add("box/large", 10)
    assert [slow_models.is_slow("box/large", deadline_s) for deadline_s in (5, 10, 60)] == [True, True, False]


def test_listeners_hear_of_what_changes() -> None:
    """A model that is not remembered can be tried again without a word."""
    slow_models = SlowModels(SteppedClock())
    counts = list[int]()
    slow_models.listen(lambda: counts.append(len(slow_models.remembered)))
    slow_models.try_again("box/large")
    slow_models.add("box/large", 10)
    slow_models.try_again("box/large")
    assert counts == [1, 0]


OWN = ModelInfo("lab", "own")
NOW = ModelInfo("lab", "now")
DEMO = ModelInfo("demo", "offline", demo=True)


def answered_by(
    label: str, *events: Event, parent: str = "", agent: ForeignAgent | Literal[""] = ""
) -> Transcript:
    """Return a session that a model answered, in another agent if one is named, with the events after it."""
    answer = AssistantSpoke("Here.", label, 1, agent=agent)
    all_events = (SessionStarted("One", parent), UserSpoke("Hello", 1), answer, TurnEnded("done"), *events)
    return Transcript([RecordedEvent(n, n, event) for n, event in enumerate(all_events, 1)])


@for_each(
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
    own = AssistantSpoke("Mine.", "lab/gone", 1)
    now = AssistantSpoke("Yours.", "lab/now", 1)
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
