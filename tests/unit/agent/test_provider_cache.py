"""What a session asks of the provider's cache, and what it takes from the answers."""

from __future__ import annotations

import json

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.sweep_plans import is_prompt_cache_cold
from helix_desktop.context.window.provider_cache import MissCause, newest_cache_uses
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.messages import CacheHints, ModelInfo, ModelRequest, ModelResponse, Usage
from helix_desktop.providers.anthropic import encode_request
from tests.support.agent_rig import AgentRig
from tests.support.model_servers.chat_server import text_reply
from tests.support.model_servers.prompt_cache import PromptCacheScript
from tests.support.scripted_model import ScriptedModel, ScriptedReply

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
    first, second = await rig.begin(), await rig.workspace.create_session()
    for conversation in (first, first, second):
        await conversation.run("Go on.")
    sent = [request.cache or CacheHints() for request in rig.model.requests]
    assert sent[0].key == sent[1].key != sent[2].key
    assert first.session.id not in sent[0].key
    assert [hints.ends for hints in sent] == [(), (2,), ()]
    answers = [entry.event for entry in first.session.log if isinstance(entry.event, AssistantSpoke)]
    assert answers[0].layers == answers[1].layers is not None


async def test_after_a_long_pause_the_longer_lifetime_is_asked_for_and_counts() -> None:
    """Five minutes until the pause, then an hour: the cache is cold only after that."""
    policy = PROFILES["plain"]
    rig = AgentRig(ScriptedModel(caching_server, CLAUDE), policy)
    conversation = await rig.begin()
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
    cache, cost = PromptCacheScript(lambda _: text_reply("Done.")), 0.0

    def answer(request: ModelRequest) -> ScriptedReply:
        nonlocal cost
        wants_long = request.cache is not None and request.cache.keep_long
        is_long = wants_long if keep_long is None else keep_long
        cache.now_s = rig.clock() / 1_000
        cache(json.loads(encode_request(CLAUDE, request, max_output_tokens=100, keep_long=is_long).body))
        size, read, writes = cache.inputs[-1], cache.reads[-1], cache.writes[-1]
        usage = Usage(size, 20, read, writes, writes if is_long else 0, True, True)
        cost += call_cost(CLAUDE, usage)
        return [ModelResponse("Done.", usage=usage, cache_lifetime_s=3_600 if is_long else 0)]

    rig = AgentRig(ScriptedModel(answer, CLAUDE), PROFILES["plain"])
    conversation = await rig.begin()
    for _ in range(8):
        await conversation.run("words of a question " * 300)
        rig.clock.advance_s(pause_s)
    return cost


async def test_the_lifetime_that_is_asked_for_is_the_cheaper_one() -> None:
    """Against a cache by Anthropic's rules: with pauses of eight minutes the hour, else the five minutes."""
    quick, pauses = MINUTE_S // 2, 8 * MINUTE_S
    assert await bill(quick, None) == await bill(quick, False) < await bill(quick, True)
    assert await bill(pauses, None) < 0.5 * await bill(pauses, False)
    assert await bill(pauses, None) < 1.1 * await bill(pauses, True)


async def test_another_model_is_the_reason_of_a_miss() -> None:
    rig = AgentRig(ScriptedModel(caching_server, CLAUDE), PROFILES["plain"])
    conversation = await rig.begin()
    await conversation.run("Begin.")
    other = msgspec.structs.replace(CLAUDE, name="other")
    missing = ScriptedModel(
        lambda _: [ModelResponse("Done.", usage=Usage(7_000, 9, reports_cache=True))], other
    )
    await rig.workspace.set_models(missing)
    await conversation.run("Go on.")
    (use,) = newest_cache_uses(conversation.session.log, 1)
    assert use.causes == (MissCause("model", previous_model=CLAUDE.label),)
