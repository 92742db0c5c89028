"""What a model's reports teach about its tokens outlives the session, the model switch and the app."""

from __future__ import annotations

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.usage_gauge import UsageGauge, measure_usage
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.events.session import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, ToolCall, Usage
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import ScriptedModel, ScriptedReply
from tests.support.subagent_rig import PARENT_PROMPT, SubagentRig

BALANCED = PROFILES["balanced"]


class Reporting(ScriptedModel):
    """Reports `factor` times the words of each request as its input; 0 reports nothing of use."""

    def __init__(self, name: str, factor: float) -> None:
        super().__init__(self._answer, ModelInfo("test", name, window=20_000, reserve=400))
        self.factor = factor

    def _answer(self, request: ModelRequest) -> ScriptedReply:
        words = sum(len(one.text.split()) for one in request.messages)
        return [ModelResponse("I see.", usage=Usage(round(words * self.factor), 5))]


def factor_of(talk: Conversation) -> float:
    """The ratio by which the next request is measured."""
    return talk.measure()[1].ratio


def shown(talk: Conversation) -> str:
    """Where the gauge says that its number comes from."""
    return talk.measure()[1].source_text


async def taught(model: ScriptedModel) -> tuple[AgentRig, Conversation]:
    """A room whose first session has had a report of the model."""
    rig = AgentRig(model)
    talk = await rig.begin()
    await talk.run("word " * 400)
    assert factor_of(talk) > 1.2
    return rig, talk


async def test_a_new_session_starts_with_what_is_known() -> None:
    """Gauge and trigger count by the ratio of the session before, and the gauge says so."""
    rig, first = await taught(Reporting("one", 1.5))
    later = await rig.workspace.create_session()
    window, now = later.measure()
    assert now.ratio == factor_of(first)
    assert now.used == round(window.estimate * now.ratio) > window.estimate
    assert now.source_text == f"estimated, x {now.ratio:.2f} of our count as in earlier sessions"
    assert not now.is_reported


async def test_its_own_report_takes_over() -> None:
    """From the first report on, what earlier sessions said counts no more."""
    model = Reporting("one", 1.5)
    rig, first = await taught(model)
    model.factor = 1.1
    later = await rig.workspace.create_session()
    await later.run("word " * 900)
    assert factor_of(later) < factor_of(first)
    assert shown(later) == "reported by the provider"
    await later.session.record(UserSpoke("One more thing.", 3))
    assert "earlier" not in shown(later)
    newest = await rig.workspace.create_session()
    assert factor_of(newest) == factor_of(later), "the newest report is the one that is kept"


async def test_it_survives_a_model_switch() -> None:
    """Each model has a ratio of its own; coming back, also in another session, finds it again."""
    one, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await taught(one)
    known = factor_of(first)
    await rig.workspace.set_models(other)
    assert factor_of(first) == 1.0
    assert shown(first) == "estimated"
    await first.run("word " * 400)
    assert factor_of(first) > known
    later = await rig.workspace.create_session()
    assert factor_of(later) == factor_of(first)
    await rig.workspace.set_models(one)
    assert factor_of(first) == known, "by its own report, though another model has answered since"
    assert factor_of(later) == known
    assert "as in earlier sessions" in shown(later)


async def test_it_survives_the_app() -> None:
    """The list of sessions keeps it, by model; the newest session that knows one counts."""
    one, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await taught(one)
    known = {one.info.label: factor_of(first)}
    rig.clock.advance_s(60)
    await rig.workspace.set_models(other)
    second = await rig.workspace.create_session()
    await second.run("word " * 400)
    known[other.info.label] = factor_of(second)
    rig.clock.advance_s(60)
    await rig.workspace.set_models(one)
    one.factor = 1.8
    third = await rig.workspace.create_session()
    await third.run("word " * 400)
    assert factor_of(third) != known[one.info.label]
    known[one.info.label] = factor_of(third)

    room = rig.create_workspace(rig.store, BALANCED)
    for model in (one, other):
        await room.set_models(model)
        talk = await room.create_session()
        assert factor_of(talk) == known[model.info.label]
        assert "as in earlier sessions" in shown(talk)


async def test_a_session_keeps_what_it_knew_over_a_restart() -> None:
    """Going on with one model does not take another one's ratio out of the list."""
    one, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await taught(one)
    room = rig.create_workspace(rig.store, BALANCED)
    await room.set_models(other)
    await (await room.open_session(first.session.id)).run("word " * 400)
    (listed,) = await rig.store.sessions()
    assert set(listed.ratios) == {one.info.label, other.info.label}


async def test_other_workspaces_learn_nothing() -> None:
    """What one workspace knows stays in it, as everything does."""
    rig, _ = await taught(Reporting("one", 1.5))
    talk = await rig.create_workspace(GatedStore(), BALANCED).create_session()
    assert factor_of(talk) == 1.0
    assert shown(talk) == "estimated"


async def test_a_subagent_starts_with_what_its_parent_learnt_a_moment_ago() -> None:
    """Its very first request is measured by the report that the parent's step under way has brought."""

    def delegating(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "tool":
            return [ModelResponse("Done.")]
        calls = (ToolCall("c0", "delegate", '{"task": "alpha"}'),)
        return [ModelResponse("", calls, usage=Usage(150, 5), stop="calls")]

    family = SubagentRig({f"{PARENT_PROMPT} {'word ' * 100}": delegating})
    await family.begin()
    await family.conversation.run(f"{PARENT_PROMPT} {'word ' * 100}")
    (child,) = await family.subagent_sessions()
    asked = family.events(AssistantSpoke)[0]
    ratio = 150 / asked.estimate
    assert 1.1 < ratio < 3.0
    answered = next(
        one.event for one in await family.stored_log(child) if isinstance(one.event, AssistantSpoke)
    )
    used = next(one.used for one in family.progress_of(child) if one.used)
    assert used == round(answered.estimate * ratio) > answered.estimate


async def test_useless_reports_teach_nothing() -> None:
    """A server that reports zeros leaves the count as it is, here and in later sessions."""
    rig = AgentRig(Reporting("one", 0.0))
    await (await rig.begin()).run("word " * 400)
    talk = await rig.workspace.create_session()
    assert shown(talk) == "estimated"
    assert (await rig.store.sessions())[0].ratios == {}


async def test_absurd_reports_are_bounded() -> None:
    """What is kept for later sessions lies within the bounds of any real tokenizer."""
    rig = AgentRig(Reporting("one", 50.0))
    await (await rig.begin()).run("word " * 400)
    assert factor_of(await rig.workspace.create_session()) == 3.0


async def test_what_was_measured_holds_until_something_changes() -> None:
    """Below 128,000 tokens too: asked again, nothing is projected again; a changed policy is seen at once."""
    rig, talk = await taught(Reporting("one", 1.5))
    assert talk.measure() is talk.measure()
    before = talk.measure()
    rig.workspace.policy = PROFILES["off"]
    assert talk.measure() is not before
    assert talk.measure()[1].panic_threshold > 1_000_000
    assert talk.measure() is talk.measure()


@pytest.mark.parametrize(("ratio", "source"), [(1.0, "estimated"), (1.24, "estimated, x 1.24 of our count")])
def test_the_gauge_says_where_it_has_it_from(ratio: float, source: str) -> None:
    """In plain words; a ratio of one is no news."""
    frame = PromptFrame(ModelInfo("test", "one"), "You are an agent.", ratio=ratio)
    window = Window(ModelRequest(()), (), (), 1_000)
    now = measure_usage(window, Transcript(), BALANCED, frame)
    assert now.used == 1_000 * ratio
    assert now.source_text == (source if ratio == 1.0 else f"{source} as in earlier sessions")
    assert UsageGauge(1, 2, 0, 1, False, ratio).source_text == source
