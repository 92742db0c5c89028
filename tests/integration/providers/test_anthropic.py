"""Anthropic Messages against a real local server: what differs from the other dialects."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from helix_desktop.domain.errors import ContextWindowExceeded, ModelRequestRejected
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    StopReason,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.streaming import StreamedModel
from tests.support.model_contract import collect_stream, final_response
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Delta,
    OpaqueReasoning,
    PlainReply,
    Raw,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import SleepRecorder
from tests.support.model_servers.signed_thinking import SignedThinkingScript
from tests.support.model_servers.wire_formats import AnthropicWireFormat

KEY = "sk-ant-0123456789"
INFO = ModelInfo("claude", "claude-x", window=200_000, output=64_000)
QUESTION = (Message("system", "You help."), Message("user", "How many?"))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def serving(*replies: Reply) -> ChatServer:
    return ChatServer(replies_in_order(*replies), wire_format=AnthropicWireFormat())


def model(server: ChatServer, http: HttpClient, info: ModelInfo = INFO) -> StreamedModel:
    return connect_model(
        "anthropic", info, server.base_url, KEY, http=http, retry_policy=SleepRecorder().retry_policy
    )


def as_message(answer: ModelResponse) -> Message:
    return Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)


def result(call: ToolCall, text: str = "text of a file") -> Message:
    return Message("tool", text, call_id=call.id, name=call.name)


async def test_headers_and_the_body_of_a_first_request(http: HttpClient) -> None:
    async with serving(text_reply("ok")) as server:
        await collect_stream(model(server, http), ModelRequest(QUESTION, (READ,)))
        sent = server.requests[0]
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["anthropic-version"] == "2023-06-01"
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent.json == {
        "model": "claude-x",
        "max_tokens": 64_000,
        "stream": True,
        "system": [{"type": "text", "text": "You help.", **mark}],
        "tools": [{"name": "read_file", "description": "Reads a file.", "input_schema": READ.parameters}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "How many?", **mark}]}],
    }


async def test_without_a_known_limit_the_reserve_is_requested(http: HttpClient) -> None:
    async with serving(text_reply("ok")) as server:
        info = msgspec.structs.replace(INFO, output=0, reserve=2_000)
        await collect_stream(model(server, http, info), ModelRequest(QUESTION))
        assert server.bodies[0]["max_tokens"] == 2_000


async def test_thinking_is_replayed_unchanged(http: HttpClient) -> None:
    first = StreamedReply(
        Reasoning("Let me "),
        Reasoning("look."),
        OpaqueReasoning("c2ln"),
        OpaqueReasoning("b3BhcXVl"),
        Text("Looking."),
        Call("read_file", '{"path": "größe.py"}', "toolu_1"),
        Call("read_file", "{}", "toolu_2"),
    )
    async with serving(first, text_reply("ok")) as server:
        chat = model(server, http)
        answer = await final_response(chat, ModelRequest(QUESTION, (READ,)))
        assert [call.arguments for call in answer.calls] == ['{"path": "größe.py"}', "{}"]
        results = (result(answer.calls[0]), result(answer.calls[1], "none"))
        await collect_stream(chat, ModelRequest((*QUESTION, as_message(answer), *results), (READ,)))
        [_, assistant, user] = server.bodies[1]["messages"]
    assert assistant == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "größe.py"}},
            {"type": "tool_use", "id": "toolu_2", "name": "read_file", "input": {}},
        ],
    }
    assert [block["tool_use_id"] for block in user["content"]] == ["toolu_1", "toolu_2"]
    assert "cache_control" in user["content"][-1]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("pause_turn", "paused"),
        ("model_context_window_exceeded", "context"),
        ("refusal", "refusal"),
        ("something_new", "end"),
    ],
)
async def test_why_an_answer_ended(http: HttpClient, reason: str, stop: StopReason) -> None:
    async with serving(StreamedReply(Text("So far."), finish=reason)) as server:
        assert (await final_response(model(server, http), ModelRequest(QUESTION))).stop == stop


async def test_calls_of_a_refused_answer_are_dropped(http: HttpClient) -> None:
    async with serving(StreamedReply(Text("So"), Call("run_command", "{}"), finish="refusal")) as server:
        answer = await final_response(model(server, http), ModelRequest(QUESTION, (READ,)))
    assert (answer.text, answer.calls, answer.verbatim) == ("So", (), None)


async def test_a_refusal_is_explained_with_the_providers_text(http: HttpClient) -> None:
    why = {"type": "refusal", "category": "bio", "explanation": "This could do harm."}
    delta = Delta({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": why}})
    async with serving(StreamedReply(delta, finish="")) as server:
        with pytest.raises(ModelRequestRejected, match="This could do harm"):
            await final_response(model(server, http), ModelRequest(QUESTION))


async def test_a_window_full_before_the_first_word_is_an_overflow(http: HttpClient) -> None:
    async with serving(StreamedReply(Reasoning("hm"), finish="model_context_window_exceeded")) as server:
        with pytest.raises(ContextWindowExceeded):
            await final_response(model(server, http), ModelRequest(QUESTION))


async def test_an_overloaded_server_is_retried(http: HttpClient) -> None:
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    raw = Raw(b"event: error\ndata: " + json.dumps(busy).encode() + b"\n\n")
    async with serving(StreamedReply(Text("ha"), raw), PlainReply(503, busy), text_reply("ok")) as server:
        arrivals = await collect_stream(model(server, http), ModelRequest(QUESTION))
    retries = [arrival for arrival in arrivals if isinstance(arrival, RetryScheduled)]
    assert [type(arrival) for arrival in arrivals] == [
        TextDelta,
        RetryScheduled,
        RetryScheduled,
        TextDelta,
        ModelResponse,
    ]
    assert retries[0].reason == "Overloaded", "no status that was not sent"


async def test_an_answer_that_was_not_streamed(http: HttpClient) -> None:
    message = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    async with serving(PlainReply(200, message)) as server:
        answer = await final_response(model(server, http), ModelRequest(QUESTION))
    assert (answer.text, answer.reasoning, answer.stop) == ("Looking.", "hm", "calls")
    assert json.loads(answer.calls[0].arguments) == {"path": "a"}
    assert answer.usage == Usage(9, 2)
    assert answer.verbatim is not None
    assert answer.verbatim["content"] == message["content"]


class TestForms:
    @pytest.mark.parametrize(
        ("refusal", "attempts"),
        [
            (
                "input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000, "
                "decrease input length or `max_tokens` and try again",
                [64_000, 11_760, 64_000],
            ),
            (
                "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens",
                [64_000, 32_000, 32_000],
            ),
        ],
        ids=["this request", "every request"],
    )
    async def test_a_shorter_answer_is_requested_after_a_refusal(
        self, http: HttpClient, refusal: str, attempts: list[int]
    ) -> None:
        async with serving(api_error(400, refusal), text_reply("ok")) as server:
            chat = model(server, http)
            arrivals = await collect_stream(chat, ModelRequest(QUESTION))
            await collect_stream(chat, ModelRequest(QUESTION))
            assert [body["max_tokens"] for body in server.bodies] == attempts
        assert [type(arrival) for arrival in arrivals] == [TextDelta, ModelResponse]

    async def test_too_little_space_for_an_answer_is_an_overflow(self, http: HttpClient) -> None:
        words = "input length and `max_tokens` exceed context limit: 199990 + 64000 > 200000"
        async with serving(api_error(400, words)) as server:
            with pytest.raises(ContextWindowExceeded):
                await collect_stream(model(server, http), ModelRequest(QUESTION))
            assert len(server.bodies) == 1

    async def test_thinking_that_is_refused_repeatedly_is_left_out(self, http: HttpClient) -> None:
        def script(request: dict[str, Any]) -> Reply:
            if '"type": "thinking"' in json.dumps(request["messages"]):
                return api_error(400, "messages.1.content.0: Invalid `signature` in `thinking` block")
            return StreamedReply(Reasoning("hm"), OpaqueReasoning("s"), Text("So."))

        async with ChatServer(script, wire_format=AnthropicWireFormat()) as server:
            chat = model(server, http)
            answer = await final_response(chat, ModelRequest(QUESTION))
            following = (*QUESTION, as_message(answer), Message("user", "And?"))
            assert (await final_response(chat, ModelRequest(following))).text == "So."
            assert len(server.bodies) == 4


def thinking_reply(request: dict[str, Any], signature: str) -> Reply:
    return StreamedReply(
        Reasoning("hm"),
        OpaqueReasoning(signature),
        Text("Look."),
        Call("read_file", "{}", f"t{len(request['messages'])}"),
    )


class TestThinkingBoundToItsPrefix:
    """A sweep changes the content before older thinking."""

    async def steps(self, chat: StreamedModel, messages: list[Message], count: int) -> None:
        """So many steps, each with a call and its result."""
        for _ in range(count):
            answer = await final_response(chat, ModelRequest(tuple(messages), (READ,)))
            messages += [as_message(answer), result(answer.calls[0], f"{len(messages)} lines")]

    @staticmethod
    def sweep(messages: list[Message], upto: int) -> None:
        """Old results become markers."""
        for place, message in enumerate(messages[:upto]):
            if message.role == "tool":
                messages[place] = msgspec.structs.replace(message, text="[CACHED] it")

    async def test_thinking_is_replayed_only_while_it_is_valid(self, http: HttpClient) -> None:
        script = SignedThinkingScript(thinking_reply)
        messages = list(QUESTION)
        async with ChatServer(script, wire_format=AnthropicWireFormat()) as server:
            chat = model(server, http)
            await self.steps(chat, messages, 4)
            assert (script.refused_count, script.thinking_block_counts[-1]) == (0, 3)

            self.sweep(messages, 6)
            await self.steps(chat, messages, 3)
            assert script.refused_count == 1, "the first sweep is found out by one refusal"
            # Of the four before it only the first had nothing changed before it; two came since.
            assert script.thinking_block_counts[-1] == 3

            self.sweep(messages, 12)
            await self.steps(chat, messages, 2)
            assert script.refused_count == 1, "the second is known"

            await self.steps(model(server, http), messages, 2)
            assert script.refused_count == 1, "so is it to a new process, by what the messages say"

    async def test_another_model_gets_no_thinking(self, http: HttpClient) -> None:
        script = SignedThinkingScript(thinking_reply)
        messages = list(QUESTION)
        async with ChatServer(script, wire_format=AnthropicWireFormat()) as server:
            await self.steps(model(server, http), messages, 2)
            other = model(server, http, msgspec.structs.replace(INFO, name="claude-y"))
            await self.steps(other, messages, 1)
            assert (script.refused_count, script.thinking_block_counts[-1]) == (0, 0)


async def test_calls_of_other_providers_get_legal_ids_of_their_own(http: HttpClient) -> None:
    steps: list[Message] = []
    for number in range(2):
        call = ToolCall("functions.read:0", "read_file", '{"path": ')
        steps += [Message("assistant", "", (call,)), result(call, f"{number}")]
    async with serving(text_reply("ok")) as server:
        await collect_stream(model(server, http), ModelRequest((*QUESTION, *steps), (READ,)))
        messages = server.bodies[0]["messages"]
    uses = [block for message in messages for block in message["content"] if block["type"] == "tool_use"]
    result_ids = [b["tool_use_id"] for m in messages for b in m["content"] if b["type"] == "tool_result"]
    assert [block["id"] for block in uses] == result_ids
    assert len(set(result_ids)) == 2
    assert uses[0]["input"] == {"malformed": '{"path": '}
