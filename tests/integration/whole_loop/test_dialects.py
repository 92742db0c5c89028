"""Long turns in every dialect, with changes of it, and against a server's prompt cache."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from helix_desktop.context.window.provider_cache import next_request_cost
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.support.loop_rig import LoopRig, lint_wire
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    OpaqueReasoning,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder
from tests.support.model_servers.prompt_cache import PromptCacheScript
from tests.support.model_servers.request_rules import anthropic_problems, responses_problems
from tests.support.model_servers.signed_thinking import SignedThinkingScript

STEPS = 24
INFO = ModelInfo("local", "small", window=14_000, reserve=1_000, output=2_000)
PROBLEMS: dict[str, Callable[[Any], list[str]]] = {
    "openai-chat": lambda body: lint_wire(body["messages"]),
    "openai-responses": responses_problems,
    "anthropic": anthropic_problems,
}


class Worker:
    """A model that thinks, reads `steps` files with two calls each, and ends."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._number = itertools.count()

    def __call__(self, request: dict[str, Any], seal: str = "sealed") -> Reply:
        """Return the next step; a request without tools gets a text, and is no step."""
        if not request.get("tools") or (number := next(self._number)) % (self.steps + 1) == self.steps:
            return text_reply("All read.")
        paths = (f"f{number % 40}.txt", f"f{(number + 1) % 40}.txt")
        calls = (Call("read_file", json.dumps({"path": path})) for path in paths)
        return StreamedReply(
            Reasoning("It is in the next one."), OpaqueReasoning(seal), Text("Next."), *calls
        )


class DialectConversation:
    def __init__(self, rig: LoopRig, stack: AsyncExitStack, http: HttpClient) -> None:
        self._rig = rig
        self._stack = stack
        self._http = http
        self.servers: dict[str, ChatServer] = {}
        self.bound = SignedThinkingScript(Worker(STEPS))

    async def use(self, dialect: DialectCase, steps: int = STEPS) -> None:
        if dialect.name not in self.servers:
            self.bound = SignedThinkingScript(Worker(steps)) if dialect.name == "anthropic" else self.bound
            script = self.bound if dialect.name == "anthropic" else Worker(steps)
            server = await self._stack.enter_async_context(
                ChatServer(script, wire_format=dialect.wire_format)
            )
            self.servers[dialect.name] = server
        model = dialect.model(self.servers[dialect.name], self._http, SleepRecorder().retry_policy, INFO)
        await self._rig.workspace.set_models(model)

    def problems(self) -> list[str]:
        return [
            problem
            for name, server in self.servers.items()
            for body in server.bodies
            for problem in PROBLEMS[name](body)
        ]


@pytest.fixture
async def speaking(rig: LoopRig, http: HttpClient) -> AsyncIterator[DialectConversation]:
    async with AsyncExitStack() as stack:
        yield DialectConversation(rig, stack, http)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_long_turn_with_rewrites(
    rig: LoopRig, speaking: DialectConversation, dialect: DialectCase
) -> None:
    await speaking.use(dialect)
    assert await rig.conversation.run("Read them all.") == TurnEnded("done")
    assert speaking.problems() == []
    assert len(rig.events(ToolAnswered)) == 2 * STEPS
    assert rig.events(SweepMade)
    assert rig.events(FoldMade) or rig.events(HandoverMade)
    assert rig.response_resets() == []
    if dialect.name == "anthropic":
        assert speaking.bound.refused_count == 1, "the first rewrite is found out, the others are known"
        assert any(speaking.bound.thinking_block_counts[STEPS // 2 :]), (
            "thinking since the last rewrite goes back"
        )


async def test_a_session_can_change_its_dialect_between_turns(
    rig: LoopRig, speaking: DialectConversation
) -> None:
    for dialect in (*DIALECTS, *reversed(DIALECTS)):
        await speaking.use(dialect, steps=4)
        assert await rig.conversation.run(f"Go on in {dialect.name}.") == TurnEnded("done")
    assert speaking.problems() == []
    assert len(rig.events(ToolAnswered)) == 2 * 4 * 6


CLAUDE = ModelInfo(
    "vendor", "claude", window=14_000, reserve=1_000, output=2_000, price_in=4.0, price_out=20.0
)
PRICED = msgspec.structs.replace(CLAUDE, price_cached=0.4, price_cache_write=5.0, price_cache_write_1h=8.0)


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
    assert cache.reads == cache.shared
    spent = rig.conversation.budget.spent
    assert spent.cached == sum(cache.reads)
    assert spent.cache_writes == sum(cache.writes)
    await _compare_with_costs(rig)


async def _compare_with_costs(rig: LoopRig) -> None:
    """What was said of each request before it was sent is about what the server had cached of it."""
    window = rig.conversation.window
    errors = []
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
