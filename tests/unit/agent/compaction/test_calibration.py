"""A model's token reports are remembered beyond the session, the model switch and the app."""

from __future__ import annotations

import asyncio

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.used_tokens import UsageGauge, measure_usage
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ModelResponse, TextDelta, ToolCall, Usage
from helix_desktop.words.message_states import gauge_source_text
from tests.support.agent_rig import AgentRig, GatedStore
from tests.support.scripted_model import ScriptedModel, ScriptedReply
from tests.support.subagent_rig import PARENT_PROMPT, SubagentRig

BALANCED = PROFILES["balanced"]


class Reporting(ScriptedModel):
    """Reports `factor` times the words of each request as its input; 0 reports nothing useful."""

    def __init__(self, name: str, factor: float) -> None:
        super().__init__(self._answer, ModelInfo("test", name, window=20_000, reserve=400))
        self.factor = factor

    def _answer(self, request: ModelRequest) -> ScriptedReply:
        word_count = sum(len(message.text.split()) for message in request.messages)
        return [ModelResponse("I see.", usage=Usage(round(word_count * self.factor), 5))]


def factor_of(conversation: Conversation) -> float:
    """Return the ratio by which the next request is measured."""
    return conversation.window.measure()[1].ratio


def shown_source(conversation: Conversation) -> str:
    """Return where the gauge says that its number comes from."""
    return gauge_source_text(conversation.window.measure()[1])


async def calibrated_rig(model: ScriptedModel) -> tuple[AgentRig, Conversation]:
    """Return a workspace whose first session has had a report of the model."""
    rig = AgentRig(model)
    conversation = await rig.begin()
    await conversation.run("word " * 400)
    assert factor_of(conversation) > 1.2
    return rig, conversation


async def test_a_message_that_fills_the_window_by_the_model_s_count_is_refused() -> None:
    """Before anything is recorded: it would block all others."""
    rig, conversation = await calibrated_rig(Reporting("one", 1.5))
    log = list(conversation.session.log)
    limit, factor = conversation.window.message_limit, factor_of(conversation)
    with pytest.raises(MessageTooLarge, match=f"this model has room for {round(limit * factor):,}"):
        await conversation.send("word " * limit * 2)
    assert rig.conversation.session.log == log
    assert not conversation.is_running


async def test_a_new_session_starts_with_the_known_ratio() -> None:
    """Gauge and trigger use the ratio of the previous session, and the gauge says so."""
    rig, first = await calibrated_rig(Reporting("one", 1.5))
    later = await rig.workspace.create_session()
    window, now = later.window.measure()
    assert now.ratio == factor_of(first)
    assert now.used == round(window.estimate * now.ratio) > window.estimate
    expected = f"Estimated: {now.ratio:.2f} × Helix's count, from earlier sessions"
    assert gauge_source_text(now) == expected
    assert not now.is_reported


async def test_a_session_s_own_report_takes_over() -> None:
    """From the first report on, earlier sessions no longer count."""
    model = Reporting("one", 1.5)
    rig, first = await calibrated_rig(model)
    model.factor = 1.1
    later = await rig.workspace.create_session()
    await later.run("word " * 900)
    assert factor_of(later) < factor_of(first)
    assert shown_source(later) == "By the provider's count"
    await later.session.record(UserSpoke("One more thing.", 3))
    assert "earlier" not in shown_source(later)
    newest = await rig.workspace.create_session()
    assert factor_of(newest) == factor_of(later), "the newest report is the one that is kept"


async def test_the_ratio_survives_a_model_switch() -> None:
    """Each model has a ratio of its own; switching back, also in another session, restores it."""
    model, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await calibrated_rig(model)
    known_ratio = factor_of(first)
    await rig.workspace.set_models(other)
    assert factor_of(first) == 1.0
    assert shown_source(first) == "Estimated"
    await first.run("word " * 400)
    assert factor_of(first) > known_ratio
    later = await rig.workspace.create_session()
    assert factor_of(later) == factor_of(first)
    await rig.workspace.set_models(model)
    assert factor_of(first) == known_ratio, "by its own report, though another model has answered since"
    assert factor_of(later) == known_ratio
    assert "from earlier sessions" in shown_source(later)


async def test_the_ratio_survives_a_restart() -> None:
    """The list of sessions keeps it, by model; the newest session with one counts."""
    main, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await calibrated_rig(main)
    known_ratios = {main.info.label: factor_of(first)}
    rig.clock.advance_s(60)
    await rig.workspace.set_models(other)
    second = await rig.workspace.create_session()
    await second.run("word " * 400)
    known_ratios[other.info.label] = factor_of(second)
    rig.clock.advance_s(60)
    await rig.workspace.set_models(main)
    main.factor = 1.8
    third = await rig.workspace.create_session()
    await third.run("word " * 400)
    assert factor_of(third) != known_ratios[main.info.label]
    known_ratios[main.info.label] = factor_of(third)

    workspace = rig.create_workspace(rig.store, BALANCED)
    for model in (main, other):
        await workspace.set_models(model)
        conversation = await workspace.create_session()
        assert factor_of(conversation) == known_ratios[model.info.label]
        assert "from earlier sessions" in shown_source(conversation)


async def test_a_session_keeps_its_ratio_over_a_restart() -> None:
    """Going on with one model does not remove another one's ratio from the list."""
    model, other = Reporting("one", 1.5), Reporting("other", 2.0)
    rig, first = await calibrated_rig(model)
    workspace = rig.create_workspace(rig.store, BALANCED)
    await workspace.set_models(other)
    await (await workspace.open_session(first.session.id)).run("word " * 400)
    (summary,) = await rig.store.sessions()
    assert set(summary.ratios) == {model.info.label, other.info.label}


async def test_other_workspaces_are_not_calibrated() -> None:
    """A workspace's knowledge stays in it, as everything does."""
    rig, _ = await calibrated_rig(Reporting("one", 1.5))
    conversation = await rig.create_workspace(GatedStore(), BALANCED).create_session()
    assert factor_of(conversation) == 1.0
    assert shown_source(conversation) == "Estimated"


async def test_a_subagent_starts_with_its_parent_s_latest_ratio() -> None:
    """Its very first request is measured by the report of the parent's current step."""

    def delegating(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "tool":
            return [ModelResponse("Done.")]
        calls = (ToolCall("c0", "delegate", '{"task": "alpha"}'),)
        return [ModelResponse("", calls, usage=Usage(150, 5), stop="calls")]

    rig = SubagentRig({f"{PARENT_PROMPT} {'word ' * 100}": delegating})
    await rig.begin()
    await rig.conversation.run(f"{PARENT_PROMPT} {'word ' * 100}")
    (child,) = await rig.subagent_sessions()
    answer = rig.events(AssistantSpoke)[0]
    ratio = 150 / answer.estimate
    assert 1.1 < ratio < 3.0
    answered = next(
        recorded.event
        for recorded in await rig.stored_log(child)
        if isinstance(recorded.event, AssistantSpoke)
    )
    used = next(progress.used for progress in rig.progress_of(child) if progress.used)
    assert used == round(answered.estimate * ratio) > answered.estimate


async def test_useless_reports_are_ignored() -> None:
    """A server that reports zeros leaves the count unchanged, here and in later sessions."""
    rig = AgentRig(Reporting("one", 0.0))
    await (await rig.begin()).run("word " * 400)
    conversation = await rig.workspace.create_session()
    assert shown_source(conversation) == "Estimated"
    assert (await rig.store.sessions())[0].ratios == {}


async def test_absurd_reports_are_bounded() -> None:
    """The ratio kept for later sessions is within the bounds of any real tokenizer."""
    rig = AgentRig(Reporting("one", 50.0))
    await (await rig.begin()).run("word " * 400)
    assert factor_of(await rig.workspace.create_session()) == 3.0


async def test_a_measurement_is_cached_until_something_changes() -> None:
    """Below 128,000 tokens too: unchanged, nothing is projected again; a changed policy applies at once."""
    rig, conversation = await calibrated_rig(Reporting("one", 1.5))
    window, gauge = conversation.window.measure()
    assert conversation.window.measure()[0] is window
    assert conversation.window.measure()[1] is gauge
    rig.workspace.policy = PROFILES["off"]
    changed, changed_gauge = conversation.window.measure()
    assert changed is not window
    assert changed_gauge.panic_threshold > 1_000_000
    assert conversation.window.measure()[0] is changed


@pytest.mark.parametrize(
    ("ratio", "source"),
    [(1.0, "Estimated"), (1.24, "Estimated: 1.24 × Helix's count, from earlier sessions")],
)
def test_the_gauge_names_its_source(ratio: float, source: str) -> None:
    """In plain words; a ratio of one is not mentioned."""
    frame = PromptFrame(ModelInfo("test", "one"), "You are an agent.", ratio=ratio)
    window = Window(ModelRequest(()), (), (), 1_000)
    now = measure_usage(window, Transcript(), BALANCED, frame)
    assert now.used == 1_000 * ratio
    assert gauge_source_text(now) == source
    reported = UsageGauge(1, 2, 0, 1, False, ratio, report_count=1)
    assert gauge_source_text(reported) == "Estimated from the provider's last report"


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_an_answer_names_the_end_of_its_request_if_the_window_was_rewritten_meanwhile(
    is_cut_off: bool,
) -> None:
    """Its report is not of what stands in the window now; what is sent next counts as changed."""
    model = Reporting("one", 1.5)
    rig, conversation = await calibrated_rig(model)
    large = conversation.session.transcript.messages.items[0].seq
    gate, reports = asyncio.Event(), model.script
    model.script = lambda request: [TextDelta("I "), gate, *reports(request)]
    await conversation.send("Go on.")
    await rig.wait_until(lambda: bool(conversation.response.text))
    sent = conversation.session.transcript.last_seq
    await conversation.window.exclude(large)
    if is_cut_off:
        await conversation.stop()
    else:
        gate.set()
        await rig.wait_until_idle()
    first, second = rig.events(AssistantSpoke)
    assert (first.sent_after, second.sent_after) == (0, sent)
    transcript, (window, gauge) = conversation.session.transcript, conversation.window.measure()
    assert not gauge.is_reported
    assert gauge.used == pytest.approx(window.estimate * gauge.ratio, rel=0.05)
    assert gauge.used < second.estimate
    assert transcript.changed_from == large
    past = await conversation.window.window_at(transcript.messages.items[-1].seq)
    assert past.window.estimate == second.estimate
