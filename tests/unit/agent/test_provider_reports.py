"""What a session takes from a provider's answers: how it counts tokens, and what it has cached."""

from __future__ import annotations

import asyncio
import json

import pytest

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.message_queue import MessageTooLarge
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.sweep_plans import is_prompt_cache_cold
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import (
    CacheHints,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.providers.anthropic import encode_request
from helix_desktop.words.state_words import gauge_source_text
from tests.support.agent_rig import AgentRig, GatedStore, begin_with
from tests.support.model_servers.chat_server import text_reply
from tests.support.model_servers.prompt_cache import PromptCacheScript
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
    limit = conversation.window.message_limit
    factor = factor_of(conversation)
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
    elsewhere = await rig.create_workspace(GatedStore(), BALANCED).create_session()
    assert (factor_of(elsewhere), shown_source(elsewhere)) == (1.0, "Estimated"), "another workspace's own"


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
    model = Reporting("one", 1.5)
    other = Reporting("other", 2.0)
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
    main = Reporting("one", 1.5)
    other = Reporting("other", 2.0)
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


async def test_a_session_keeps_the_ratio_of_its_former_model_over_a_restart() -> None:
    model = Reporting("one", 1.5)
    other = Reporting("other", 2.0)
    rig, first = await calibrated_rig(model)
    workspace = rig.create_workspace(rig.store, BALANCED)
    await workspace.set_models(other)
    await (await workspace.open_session(first.session.id)).run("word " * 400)
    (summary,) = await rig.store.sessions()
    assert set(summary.ratios) == {model.info.label, other.info.label}


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


async def test_absurd_reports_are_bounded() -> None:
    """The ratio kept for later sessions is within the bounds of any real tokenizer."""
    rig = AgentRig(Reporting("one", 12.0))
    await (await rig.begin()).run("word " * 400)
    assert factor_of(await rig.workspace.create_session()) == 1.0, "one such report is an accident"
    await rig.conversation.run("And now?")
    assert factor_of(await rig.workspace.create_session()) == 3.0


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_an_answer_names_the_end_of_its_request_if_the_window_was_rewritten_meanwhile(
    is_cut_off: bool,
) -> None:
    """Its report is not of what stands in the window now; what is sent next counts as changed."""
    model = Reporting("one", 1.5)
    rig, conversation = await calibrated_rig(model)
    large = conversation.session.transcript.messages.items[0].seq
    gate = asyncio.Event()
    reports = model.script
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
    transcript = conversation.session.transcript
    window, gauge = conversation.window.measure()
    assert not gauge.is_reported
    assert gauge.used == pytest.approx(window.estimate * gauge.ratio, rel=0.05)
    assert gauge.used < second.estimate
    assert transcript.changed_from == large
    past = await conversation.window.window_at(transcript.messages.items[-1].seq)
    assert past.window.estimate == second.estimate


CLAUDE = ModelInfo(
    "vendor", "claude", 32_000, 400, price_in=4.0, price_cached=0.4, price_cache_write=5.0,
    price_cache_write_1h=8.0, price_out=20.0,
)  # fmt: skip
MINUTE_S = 60


def caching_server(request: ModelRequest) -> ScriptedReply:
    """Reads all that it was sent before; stores for an hour where that is asked for."""
    hints = request.cache or CacheHints()
    size = 5_000 + 500 * len(request.messages)
    read = size - 1_000 if len(request.messages) > 2 else 0
    usage = Usage(size, 20, read, size - read, size - read if hints.keep_long else 0, True, True)
    return [ModelResponse("Done.", usage=usage, cache_lifetime_s=3_600 if hints.keep_long else 0)]


async def test_requests_of_a_session_name_its_key_and_their_layers() -> None:
    rig = AgentRig(ScriptedModel(caching_server, CLAUDE), PROFILES["plain"])
    first = await rig.begin()
    second = await rig.workspace.create_session()
    for conversation in (first, first, second):
        await conversation.run("Go on.")
    sent = [request.cache or CacheHints() for request in rig.model.requests]
    assert sent[0].key == sent[1].key != sent[2].key
    assert first.session.id not in sent[0].key
    assert [hints.ends for hints in sent] == [(), (2,), ()]


async def test_after_a_long_pause_the_longer_lifetime_is_asked_for_and_counts() -> None:
    """Five minutes until the pause, then an hour: the cache is cold only after that."""
    policy = PROFILES["plain"]
    rig, conversation = await begin_with(script=caching_server, info=CLAUDE, policy=policy)
    transcript = conversation.session.transcript

    def is_cold(after_s: int) -> bool:
        now_ms = transcript.last_answer_at_ms + after_s * 1_000
        return is_prompt_cache_cold(transcript, policy, CLAUDE.label, now_ms)

    await conversation.run("Begin.")
    assert (transcript.cache_lifetime_s, is_cold(4 * MINUTE_S), is_cold(6 * MINUTE_S)) == (0, False, True)
    rig.clock.advance_s(7 * MINUTE_S)
    await conversation.run("Go on.")
    assert transcript.cache_lifetime_s == 3_600
    assert (is_cold(50 * MINUTE_S), is_cold(70 * MINUTE_S)) == (False, True)


async def bill(pause_s: int, keep_long: bool | None) -> float:
    """Return the US dollars of eight long questions with pauses between; None: the lifetime it asks for."""
    cache = PromptCacheScript(lambda _: text_reply("Done."))
    cost = 0.0

    def answer(request: ModelRequest) -> ScriptedReply:
        nonlocal cost
        wants_long = request.cache is not None and request.cache.keep_long
        is_long = wants_long if keep_long is None else keep_long
        cache.now_s = rig.clock() / 1_000
        cache(json.loads(encode_request(CLAUDE, request, max_output_tokens=100, keep_long=is_long).body))
        size = cache.inputs[-1]
        read = cache.reads[-1]
        writes = cache.writes[-1]
        usage = Usage(size, 20, read, writes, writes if is_long else 0, True, True)
        cost += call_cost(CLAUDE, usage)
        return [ModelResponse("Done.", usage=usage, cache_lifetime_s=3_600 if is_long else 0)]

    rig, conversation = await begin_with(script=answer, info=CLAUDE, policy=PROFILES["plain"])
    for _ in range(8):
        await conversation.run("words of a question " * 300)
        rig.clock.advance_s(pause_s)
    return cost


async def test_the_lifetime_that_is_asked_for_is_the_cheaper_one() -> None:
    """Against a cache by Anthropic's rules: with pauses of eight minutes the hour, else the five minutes."""
    quick = MINUTE_S // 2
    pauses = 8 * MINUTE_S
    assert await bill(quick, None) == await bill(quick, False) < await bill(quick, True)
    assert await bill(pauses, None) < 0.5 * await bill(pauses, False)
    assert await bill(pauses, None) < 1.1 * await bill(pauses, True)
