"""Servers that report false figures of usage: no session and no answer is lost to one."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.support.loop_rig import LoopRig
from tests.support.model_servers.chat_server import ChatServer, Delta, Raw, Reply, StreamedReply, Text
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

INFO = ModelInfo("local", "liar", window=128_000, reserve=4_096)
HUGE = int("9" * 400)
TRUE = 0  # stands for the true figure, about
LIES: dict[str, Callable[[int], Any]] = {
    "negative": lambda _: -300_000,
    "fraction": lambda _: 2_048.5,
    "text": lambda _: "300 thousand",
    "400 digits": lambda _: HUGE,
    "2^63": lambda _: 2**63,
    "300,000 once": lambda number: 300_000 if number == 0 else TRUE,
    "alternating": lambda number: TRUE if number % 2 else 300_000,
    "always 300,000": lambda _: 300_000,
}
TURNS = {"alternating": 10}


def answer(dialect: str, text: str, figure: Any) -> Reply:
    """Return an answer in a dialect which reports a figure as its input."""
    if dialect == "anthropic":
        usage = {
            "input_tokens": figure,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
        }
        return StreamedReply(
            Text(text), Delta({"type": "message_delta", "delta": {}, "usage": usage}), usage=None
        )
    if dialect == "openai-chat":
        usage = {"prompt_tokens": figure, "completion_tokens": 5, "total_tokens": figure}
        chunk = {"object": "chat.completion.chunk", "choices": [], "usage": usage}
        finish = {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        }
        return StreamedReply(Text(text), event(finish), event(chunk), usage=None, finish="")
    usage = {"input_tokens": figure, "output_tokens": 5, "total_tokens": figure}
    message: dict[str, Any] = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    message["content"] = [{"type": "output_text", "text": text, "annotations": []}]
    response = {"id": "r", "status": "completed", "error": None, "output": [message], "usage": usage}
    completed = {"type": "response.completed", "response": response}
    return StreamedReply(Text(text), event(completed), usage=None, finish="", send_done=False)


def event(value: dict[str, Any]) -> Raw:
    return Raw(f"data: {json.dumps(value)}\n\n".encode())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("lie", LIES)
async def test_a_false_figure_loses_neither_the_answer_nor_the_session(
    rig: LoopRig, http: HttpClient, dialect: DialectCase, lie: str
) -> None:
    """Each turn is done and on record, and the context is as full as it is."""
    numbers = iter(range(100))

    def script(request: dict[str, Any]) -> Reply:
        if not request.get("tools"):
            return StreamedReply(Text("A title"))
        number = next(numbers)
        figure = LIES[lie](number)
        if figure == TRUE:
            figure = len(json.dumps(request)) // 4
        return answer(dialect.name, f"Answer {number}.", figure)

    turns = TURNS.get(lie, 3)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ChatServer(script, wire_format=dialect.wire_format))
        model = dialect.model(server, http, SleepRecorder().retry_policy, INFO)
        await rig.workspace.set_models(model)
        for number in range(turns):
            assert await rig.conversation.run(f"Question {number}.") == TurnEnded("done")
            _, gauge = rig.conversation.window.measure()
            assert gauge.fits
            assert 1_000 < gauge.used < 40_000, f"after turn {number}"
        answers = rig.events(AssistantSpoke)
        assert [it.text for it in answers] == [f"Answer {number}." for number in range(turns)]
