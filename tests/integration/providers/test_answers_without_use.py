"""Answers of which neither text nor a call came, or no call where one was announced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import InvalidModelResponse
from helix_desktop.domain.messages import CUT_OFF, Message, ModelInfo, ModelRequest, ToolSpec
from helix_desktop.providers.streaming import StreamedModel
from helix_desktop.words.answer_ends import cut_off_fix, cut_off_text
from tests.support.model_contract import final_response
from tests.support.model_servers.canned_http import CannedHttp
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import SleepRecorder

TOOLS = (ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}}),)
REQUEST = ModelRequest((Message("user", "How many?"),), TOOLS)
THOUGHT = "The answer is 42."
Chunk = Mapping[str, Any]


class Replies(CannedHttp):
    """Answers each request with the next of these streams, the last one again and again."""

    def __init__(self, *replies: bytes) -> None:
        super().__init__([])
        self._replies = list(replies)

    def next_reply(self) -> Sequence[bytes]:
        return [self._replies[min(len(self.bodies), len(self._replies)) - 1]]


def model_on(dialect: DialectName, http: Replies) -> StreamedModel:
    return connect_model(
        dialect,
        ModelInfo("here", "m"),
        "http://127.0.0.1:9",
        http=http,
        retry_policy=SleepRecorder().retry_policy,
    )


def chat(*deltas: Chunk, finish: str) -> bytes:
    chunks: list[Chunk] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


def anthropic(*blocks: Chunk, stop: str) -> bytes:
    events: list[Chunk] = [{"type": "message_start", "message": {"content": [], "usage": {}}}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}})
    events.append({"type": "message_stop"})
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def responses(*items: Chunk) -> bytes:
    output = list(items)
    event = {"type": "response.completed", "response": {"status": "completed", "output": output}}
    return f"data: {json.dumps(event)}\n\n".encode()


ANNOUNCED: dict[str, tuple[DialectName, bytes]] = {
    "text and tool_calls": ("openai-chat", chat({"content": "I will read."}, finish="tool_calls")),
    "an empty list": (
        "openai-chat",
        chat({"content": "I will read.", "tool_calls": []}, finish="tool_calls"),
    ),
    "null for the list": (
        "openai-chat",
        chat({"content": "I will read.", "tool_calls": None}, finish="tool_calls"),
    ),
    "function_call": ("openai-chat", chat({"content": "I will read."}, finish="function_call")),
    "in capitals": ("openai-chat", chat({"content": "I will read."}, finish="TOOL_CALLS")),
    "with reasoning": (
        "openai-chat",
        chat({"reasoning_content": THOUGHT}, {"content": "I will read."}, finish="tool_calls"),
    ),
    "text and tool_use": ("anthropic", anthropic({"type": "text", "text": "I will read."}, stop="tool_use")),
    "thinking, text and tool_use": (
        "anthropic",
        anthropic(
            {"type": "thinking", "thinking": THOUGHT, "signature": "S"},
            {"type": "text", "text": "I will read."},
            stop="tool_use",
        ),
    ),
}


@pytest.mark.parametrize("case", ANNOUNCED)
async def test_a_call_that_never_came_is_asked_for_once_more_and_then_said(case: str) -> None:
    dialect, reply = ANNOUNCED[case]
    http = Replies(reply)
    answer = await final_response(model_on(dialect, http), REQUEST)
    assert (answer.text, answer.stop, answer.calls) == ("I will read.", "no-call", ())
    assert len(http.bodies) == 2
    assert answer.stop in CUT_OFF
    assert "none came" in cut_off_text(answer.stop)
    assert cut_off_fix(answer.stop)


async def test_a_call_that_comes_with_the_second_answer_runs() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": "{}"}}
    http = Replies(
        chat({"content": "I will read."}, finish="tool_calls"),
        chat({"tool_calls": [call]}, finish="tool_calls"),
    )
    answer = await final_response(model_on("openai-chat", http), REQUEST)
    assert ([made.name for made in answer.calls], answer.stop) == (["read_file"], "calls")


async def test_a_server_that_always_announces_is_asked_once_more_only_once() -> None:
    http = Replies(chat({"content": "Done."}, finish="tool_calls"))
    model = model_on("openai-chat", http)
    answers = [await final_response(model, REQUEST) for _ in range(3)]
    assert [answer.stop for answer in answers] == ["no-call"] * 3
    assert len(http.bodies) == 4


async def test_a_request_without_tools_has_no_call_to_lose() -> None:
    http = Replies(chat({"content": "A title"}, finish="tool_calls"))
    answer = await final_response(model_on("openai-chat", http), ModelRequest(REQUEST.messages))
    assert (answer.text, answer.stop, len(http.bodies)) == ("A title", "end", 1)


REASONING: dict[str, tuple[DialectName, bytes]] = {
    "reasoning_content": ("openai-chat", chat({"reasoning_content": THOUGHT}, finish="stop")),
    "reasoning": ("openai-chat", chat({"reasoning": THOUGHT}, finish="stop")),
    "an empty text beside it": (
        "openai-chat",
        chat({"reasoning_content": THOUGHT}, {"content": "\n"}, finish="stop"),
    ),
    "between tags": ("openai-chat", chat({"content": f"<think>{THOUGHT}</think>"}, finish="stop")),
    "between tags without an end": ("openai-chat", chat({"content": f"<think>{THOUGHT}"}, finish="stop")),
    "a thinking block": (
        "anthropic",
        anthropic({"type": "thinking", "thinking": THOUGHT, "signature": "S"}, stop="end_turn"),
    ),
    "a reasoning item": (
        "openai-responses",
        responses({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": THOUGHT}]}),
    ),
    "reasoning as content of the item": (
        "openai-responses",
        responses(
            {
                "type": "reasoning",
                "id": "r",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": THOUGHT}],
            }
        ),
    ),
}


@pytest.mark.parametrize("case", REASONING)
async def test_reasoning_alone_is_asked_for_once_more_then_said_and_kept(case: str) -> None:
    dialect, reply = REASONING[case]
    http = Replies(reply)
    with pytest.raises(InvalidModelResponse, match="has only reasoning") as raised:
        await final_response(model_on(dialect, http), REQUEST)
    assert len(http.bodies) == 2
    assert str(raised.value.details) == THOUGHT
    assert f"{len(THOUGHT)} characters" in str(raised.value.why)
    assert "reasoning parser" in str(raised.value.fix)


async def test_reasoning_that_used_up_the_answer_is_said_as_a_limit() -> None:
    http = Replies(chat({"reasoning_content": THOUGHT}, finish="length"))
    with pytest.raises(InvalidModelResponse, match="output limit"):
        await final_response(model_on("openai-chat", http), REQUEST)
