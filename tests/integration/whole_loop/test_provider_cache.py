"""A long turn with rewrites against a server whose prompt cache follows Anthropic's published rules."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from helix_desktop.context.window.provider_cache import newest_cache_uses, next_request_cost
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.support.loop_rig import LoopRig
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, Text, text_reply
from tests.support.model_servers.dialects import DIALECTS, SleepRecorder
from tests.support.model_servers.prompt_cache import PromptCacheScript

STEPS = 24
INFO = ModelInfo("vendor", "claude", window=14_000, reserve=1_000, output=2_000, price_in=4.0, price_out=20.0)
PRICED = msgspec.structs.replace(INFO, price_cached=0.4, price_cache_write=5.0, price_cache_write_1h=8.0)


def reader() -> Callable[[dict[str, Any]], Reply]:
    """Return a model that reads two files in each step, and ends after so many."""
    numbers = itertools.count()

    def script(_: dict[str, Any]) -> Reply:
        number = next(numbers)
        if number == STEPS:
            return text_reply("All read.")
        calls = (Call("read_file", json.dumps({"path": f"f{at % 40}.txt"})) for at in (number, number + 1))
        return StreamedReply(Text("Next."), *calls)

    return script


async def test_each_request_reads_what_it_has_in_common_with_the_one_before(
    rig: LoopRig, http: HttpClient
) -> None:
    """As an ideal cache would: misses are those of rewrites, and even these read what stands before them."""
    cache = PromptCacheScript(reader())
    dialect = DIALECTS[2]
    async with ChatServer(cache, wire_format=dialect.wire_format) as server:
        model = dialect.model(server, http, SleepRecorder().retry_policy, PRICED)
        await rig.workspace.set_models(model)
        assert await rig.conversation.run("Read them all.") == TurnEnded("done")
    assert cache.refused_count == 0
    assert rig.events(SweepMade)
    assert rig.events(FoldMade)
    uses = newest_cache_uses(rig.conversation.session.log, STEPS + 1)
    causes = [cause.kind for use in uses for cause in use.causes]
    assert cache.reads == cache.shared
    assert "unexplained" not in causes
    spent = rig.conversation.budget.spent
    assert spent.cached == sum(cache.reads)
    assert spent.cache_writes == sum(cache.writes)
    await _compare_with_costs(rig)


async def _compare_with_costs(rig: LoopRig) -> None:
    """What was said of each request before it was sent is about what the server had cached of it."""
    window, errors = rig.conversation.window, []
    for recorded in rig.conversation.session.log:
        answer = recorded.event
        if not isinstance(answer, AssistantSpoke) or answer.usage is None:
            continue
        past = await window.window_at(recorded.seq)
        cost = next_request_cost(past.window, past.gauge, past.transcript, PRICED, is_cold=False)
        assert cost.total == answer.usage.input
        errors.append(abs(cost.cached - answer.usage.cached) / answer.usage.input)
        assert cost.cost == pytest.approx((cost.cached * 0.4 + cost.fresh * 5.0) / 1_000_000)
    assert len(errors) == STEPS + 1
    assert sorted(errors)[len(errors) // 2] < 0.1, errors
