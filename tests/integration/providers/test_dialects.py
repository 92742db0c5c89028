"""Each dialect against a real local server: what differs between them, and habits of compatible servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_list import list_models
from helix_desktop.providers.streaming import StreamedModel
from tests.support.model_contract import collect_stream, final_response
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Delta,
    OpaqueReasoning,
    PlainReply,
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
from tests.support.model_servers.wire_formats import AnthropicWireFormat, ResponsesWireFormat

CLAUDE_KEY = "sk-ant-0123456789"
CLAUDE = ModelInfo("claude", "claude-x", window=200_000, output=64_000)
QUESTION = (Message("system", "You help."), Message("user", "How many?"))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def claude_server(*replies: Reply) -> ChatServer:
    return ChatServer(replies_in_order(*replies), wire_format=AnthropicWireFormat())


def claude(server: ChatServer, http: HttpClient, info: ModelInfo = CLAUDE) -> StreamedModel:
    return connect_model(
        "anthropic", info, server.base_url, CLAUDE_KEY, http=http, retry_policy=SleepRecorder().retry_policy
    )


def as_message(answer: ModelResponse) -> Message:
    return Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)


def result(call: ToolCall, text: str = "text of a file") -> Message:
    return Message("tool", text, call_id=call.id, name=call.name)


async def test_headers_and_the_body_of_a_first_request(http: HttpClient) -> None:
    async with claude_server(text_reply("ok")) as server:
        await collect_stream(claude(server, http), ModelRequest(QUESTION, (READ,)))
        sent = server.requests[0]
    assert sent.headers["x-api-key"] == CLAUDE_KEY
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
    async with claude_server(text_reply("ok")) as server:
        info = msgspec.structs.replace(CLAUDE, output=0, reserve=2_000)
        await collect_stream(claude(server, http, info), ModelRequest(QUESTION))
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
    async with claude_server(first, text_reply("ok")) as server:
        chat = claude(server, http)
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
    async with claude_server(StreamedReply(Text("So far."), finish=reason)) as server:
        assert (await final_response(claude(server, http), ModelRequest(QUESTION))).stop == stop


async def test_calls_of_a_refused_answer_are_dropped(http: HttpClient) -> None:
    async with claude_server(
        StreamedReply(Text("So"), Call("run_command", "{}"), finish="refusal")
    ) as server:
        answer = await final_response(claude(server, http), ModelRequest(QUESTION, (READ,)))
    assert (answer.text, answer.calls, answer.verbatim) == ("So", (), None)


async def test_a_refusal_is_explained_with_the_providers_text(http: HttpClient) -> None:
    why = {"type": "refusal", "category": "bio", "explanation": "This could do harm."}
    delta = Delta({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": why}})
    async with claude_server(StreamedReply(delta, finish="")) as server:
        with pytest.raises(ModelRequestRejected, match="This could do harm"):
            await final_response(claude(server, http), ModelRequest(QUESTION))


async def test_a_window_full_before_the_first_word_is_an_overflow(http: HttpClient) -> None:
    async with claude_server(
        StreamedReply(Reasoning("hm"), finish="model_context_window_exceeded")
    ) as server:
        with pytest.raises(ContextWindowExceeded):
            await final_response(claude(server, http), ModelRequest(QUESTION))


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
    async with claude_server(PlainReply(200, message)) as server:
        answer = await final_response(claude(server, http), ModelRequest(QUESTION))
    assert (answer.text, answer.reasoning, answer.stop) == ("Looking.", "hm", "calls")
    assert json.loads(answer.calls[0].arguments) == {"path": "a"}
    assert answer.usage == Usage(9, 2)
    assert answer.verbatim is not None
    assert answer.verbatim["content"] == message["content"]


class TestFormsOfAnthropic:
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
        async with claude_server(api_error(400, refusal), text_reply("ok")) as server:
            chat = claude(server, http)
            arrivals = await collect_stream(chat, ModelRequest(QUESTION))
            await collect_stream(chat, ModelRequest(QUESTION))
            assert [body["max_tokens"] for body in server.bodies] == attempts
        assert [type(arrival) for arrival in arrivals] == [TextDelta, ModelResponse]

    async def test_too_little_space_for_an_answer_is_an_overflow(self, http: HttpClient) -> None:
        words = "input length and `max_tokens` exceed context limit: 199990 + 64000 > 200000"
        async with claude_server(api_error(400, words)) as server:
            with pytest.raises(ContextWindowExceeded):
                await collect_stream(claude(server, http), ModelRequest(QUESTION))
            assert len(server.bodies) == 1

    async def test_thinking_that_is_refused_repeatedly_is_left_out(self, http: HttpClient) -> None:
        def script(request: dict[str, Any]) -> Reply:
            if '"type": "thinking"' in json.dumps(request["messages"]):
                return api_error(400, "messages.1.content.0: Invalid `signature` in `thinking` block")
            return StreamedReply(Reasoning("hm"), OpaqueReasoning("s"), Text("So."))

        async with ChatServer(script, wire_format=AnthropicWireFormat()) as server:
            chat = claude(server, http)
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
            chat = claude(server, http)
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

            await self.steps(claude(server, http), messages, 2)
            assert script.refused_count == 1, "so is it to a new process, by what the messages say"


CHAT_KEY = "sk-very-secret-0123456789"
LOCAL = ModelInfo("local", "small")
CHAT_QUESTION = ModelRequest((Message("user", "How many?"),))


def chat_model(server: ChatServer, http: HttpClient, key: str = CHAT_KEY) -> StreamedModel:
    retries = SleepRecorder().retry_policy
    return connect_model("openai-chat", LOCAL, server.base_url, key, http=http, retry_policy=retries)


class TestChatAnswers:
    async def test_the_request_carries_key_tools_and_no_sampling_parameters(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            await collect_stream(chat_model(server, http), ModelRequest(CHAT_QUESTION.messages, (READ,)))
            sent = server.requests[0]
        assert sent.headers["authorization"] == f"Bearer {CHAT_KEY}"
        assert sent.json == {
            "model": "small",
            "messages": [{"role": "user", "content": "How many?"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "read_file",
                        "description": "Reads a file.",
                        "parameters": READ.parameters,
                    },
                }
            ],
        }

    async def test_no_key_sends_no_authorization(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            await collect_stream(chat_model(server, http, key=""), CHAT_QUESTION)
            assert "authorization" not in server.requests[0].headers

    async def test_usage_is_not_requested_again_where_the_field_is_unknown(self, http: HttpClient) -> None:
        def script(request: dict[str, object]) -> Reply:
            if "stream_options" in request:
                return api_error(400, "Extra inputs are not permitted: stream_options")
            return text_reply("ok")

        async with ChatServer(script) as server:
            chat = chat_model(server, http)
            assert [type(arrival) for arrival in await collect_stream(chat, CHAT_QUESTION)] == [
                TextDelta,
                ModelResponse,
            ]
            await collect_stream(chat, CHAT_QUESTION)
            assert ["stream_options" in body for body in server.bodies] == [True, False, False]


class TestFormsOfChat:
    """Servers that know less than OpenAI, or insist on more."""

    async def answer_of(
        self, http: HttpClient, words: str, right: Callable[[str], bool], *messages: Message
    ) -> list[str]:
        """The requests to a server that refuses all that are not right; another one follows the first."""

        def script(request: dict[str, Any]) -> Reply:
            return text_reply("ok") if right(json.dumps(request["messages"])) else api_error(400, words)

        async with ChatServer(script) as server:
            chat = chat_model(server, http)
            for _ in range(2):
                await collect_stream(chat, ModelRequest((*CHAT_QUESTION.messages, *messages)))
            return [json.dumps(body["messages"]) for body in server.bodies]

    @staticmethod
    def step(call_id: str, fields: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
        """Return a call with its answer; `fields` are the provider's fields of the message."""
        call = ToolCall(call_id, "read_file", "{}")
        original = {
            "dialect": "openai-chat",
            "provider": LOCAL.provider,
            "model": LOCAL.name,
            "message": {"role": "assistant", **(fields or {})},
        }
        reply = Message("assistant", "", (call,), verbatim=original if fields else None)
        return reply, Message("tool", "text", call_id=call_id, name="read_file")

    async def test_mistral_requires_ids_of_nine_characters(self, http: HttpClient) -> None:
        words = "Tool call id was toolu_01A but must be a-z, A-Z, 0-9, with a length of 9."
        bodies = await self.answer_of(
            http, words, lambda text: "toolu_01A" not in text, *self.step("toolu_01A")
        )
        assert len(bodies) == 3
        _, call, result = json.loads(bodies[-1])
        assert call["tool_calls"][0]["id"] == result["tool_call_id"]
        assert re.fullmatch("[a-zA-Z0-9]{9}", result["tool_call_id"])
        assert bodies[1] == bodies[2]

    @pytest.mark.parametrize(
        ("words", "field", "is_sent"),
        [
            (
                "Function call is missing a thought_signature in functionCall parts.",
                "thought_signature",
                True,
            ),
            ("Missing `reasoning_content` field in the message at index 1.", '"reasoning_content": ""', True),
            ("'messages.1': the property 'reasoning' is unsupported", '"reasoning": "hm"', False),
        ],
        ids=["Gemini", "DeepSeek", "fields that a server sends but refuses"],
    )
    async def test_fields_of_calls_that_a_server_requires_or_refuses(
        self, http: HttpClient, words: str, field: str, is_sent: bool
    ) -> None:
        reply = self.step("c1", None if is_sent else {"content": None, "reasoning": "hm"})
        bodies = await self.answer_of(http, words, lambda text: (field in text) is is_sent, *reply)
        assert [field in body for body in bodies] == [not is_sent, is_sent, is_sent]

    async def test_azure_refuses_descriptions_of_more_than_1024_characters(self, http: HttpClient) -> None:
        words = (
            "Invalid 'tools[0].function.description': string too long. "
            "Expected a string with maximum length 1024, but got a string with length 1500 instead."
        )
        long = ToolSpec("mcp_long", "d" * 1_500, {})
        short = ToolSpec("mcp_short", "Look.", {})

        def script(request: dict[str, Any]) -> Reply:
            is_right = all(len(tool["function"]["description"]) <= 1_024 for tool in request["tools"])
            return text_reply("ok") if is_right else api_error(400, words)

        async with ChatServer(script) as server:
            chat = chat_model(server, http)
            for _ in range(2):
                await collect_stream(chat, ModelRequest(CHAT_QUESTION.messages, (long, short)))
            sent = [[tool["function"]["description"] for tool in body["tools"]] for body in server.bodies]
        assert [len(texts[0]) for texts in sent] == [1_500, 1_024, 1_024]
        assert {texts[1] for texts in sent} == {"Look."}

    async def test_contradictory_refusals_are_reported(self, http: HttpClient) -> None:
        words = "unknown field; missing a thought_signature, missing reasoning_content, include_usage"
        with pytest.raises(ModelRequestRejected):
            await self.answer_of(http, words, lambda _: False, *self.step("c1"))


async def test_a_redirect_is_not_followed(http: HttpClient) -> None:
    redirect = PlainReply(307, "", {"location": "http://127.0.0.1:9/v1"})
    async with ChatServer(lambda _: redirect) as server:
        with pytest.raises(ModelRequestRejected, match=r"127\.0\.0\.1:9"):
            await collect_stream(chat_model(server, http), CHAT_QUESTION)


class TestChatNonsense:
    async def test_a_wrong_address_is_explained(self, http: HttpClient) -> None:
        chat = connect_model("openai-chat", LOCAL, "localhost-without-scheme", http=http)
        with pytest.raises(ModelUnreachable, match="https://host/v1"):
            await collect_stream(chat, CHAT_QUESTION)

    async def test_a_key_that_cannot_be_sent(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            with pytest.raises(ModelRequestRejected, match="Enter a valid API key"):
                await collect_stream(chat_model(server, http, key="sk-\u201cquoted\u201d"), CHAT_QUESTION)


class TestListing:
    async def test_a_wrong_path_is_explained(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            with pytest.raises(ModelRequestRejected, match="most end in /v1"):
                await list_models(Endpoint("local", server.base_url.removesuffix("/v1"), "", http))

    async def test_a_server_that_is_down(self, http: HttpClient) -> None:
        with pytest.raises(ModelUnreachable):
            await list_models(Endpoint("local", "http://127.0.0.1:1/v1", "", http))


THOUGHT = StreamedReply(
    Reasoning("Let me look."),
    OpaqueReasoning("b3BhcXVl"),
    Text("Looking."),
    Call("read_file", '{"path": "größe.py"}', "c1"),
    Call("read_file", "{}", "c2"),
)


def gpt_server(*replies: Reply) -> ChatServer:
    return ChatServer(replies_in_order(*replies), wire_format=ResponsesWireFormat())


def gpt(server: ChatServer, http: HttpClient, name: str = "gpt-x") -> StreamedModel:
    return connect_model(
        "openai-responses",
        ModelInfo("openai", name),
        server.base_url,
        "k",
        http=http,
        retry_policy=SleepRecorder().retry_policy,
    )


def after(answer: ModelResponse) -> ModelRequest:
    reply = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
    results = (
        Message("tool", f"{n}", call_id=call.id, name=call.name) for n, call in enumerate(answer.calls)
    )
    return ModelRequest((*QUESTION, reply, *results), (READ,))


async def test_the_body_of_a_first_request(http: HttpClient) -> None:
    async with gpt_server(text_reply("ok")) as server:
        await collect_stream(gpt(server, http), ModelRequest(QUESTION, (READ,)))
        sent = server.requests[0]
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.json == {
        "model": "gpt-x",
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "instructions": "You help.",
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads a file.",
                "parameters": READ.parameters,
                "strict": False,
            }
        ],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "How many?"}]}],
    }


async def test_output_items_are_replayed_unchanged(http: HttpClient) -> None:
    """Encrypted reasoning too: its first announcement is incomplete, and not sent."""
    async with gpt_server(THOUGHT, text_reply("ok")) as server:
        chat = gpt(server, http)
        answer = await final_response(chat, ModelRequest(QUESTION, (READ,)))
        await collect_stream(chat, after(answer))
        sent = server.bodies[1]["input"][1:]
    done = {"status": "completed"}
    text = {"type": "output_text", "text": "Looking.", "annotations": []}
    call = {"type": "function_call", "name": "read_file", **done}
    assert sent == [
        {
            "id": "re_0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Let me look."}],
            "encrypted_content": "b3BhcXVl",
        },
        {"id": "me_1", "type": "message", "role": "assistant", "content": [text], **done},
        {"id": "fu_2", "call_id": "c1", "arguments": '{"path": "größe.py"}', **call},
        {"id": "fu_3", "call_id": "c2", "arguments": "{}", **call},
        {"type": "function_call_output", "call_id": "c1", "output": "0"},
        {"type": "function_call_output", "call_id": "c2", "output": "1"},
    ]


class TestFormsOfResponses:
    async def test_a_model_without_reasoning_is_not_asked_for_it_again(self, http: HttpClient) -> None:
        def script(request: dict[str, Any]) -> Reply:
            if "include" in request:
                return api_error(400, "Encrypted content is not supported with this model.")
            return text_reply("ok")

        async with ChatServer(script, wire_format=ResponsesWireFormat()) as server:
            chat = gpt(server, http)
            for _ in range(2):
                assert (await final_response(chat, ModelRequest(QUESTION))).text == "ok"
            assert ["include" in body for body in server.bodies] == [True, False, False]

    async def test_refused_reasoning_is_left_out_of_this_request(self, http: HttpClient) -> None:
        words = "Item with id 're_0' of type 'reasoning' was not found: its content could not be verified."
        async with gpt_server(THOUGHT, api_error(404, words), text_reply("ok")) as server:
            chat = gpt(server, http)
            answer = await final_response(chat, ModelRequest(QUESTION, (READ,)))
            assert (await final_response(chat, after(answer))).text == "ok"
            assert [any(i.get("type") == "reasoning" for i in b["input"]) for b in server.bodies] == [
                False,
                True,
                False,
            ]

    async def test_reasoning_without_content_is_not_sent(self, http: HttpClient) -> None:
        """Nothing is stored at the server, so its id would lead nowhere."""

        def script(request: dict[str, Any]) -> Reply:
            if "include" in request:
                return api_error(400, "Unsupported value: include")
            return THOUGHT if len(request["input"]) == 1 else text_reply("ok")

        async with ChatServer(script, wire_format=ResponsesWireFormat()) as server:
            chat = gpt(server, http)
            answer = await final_response(chat, ModelRequest(QUESTION, (READ,)))
            await collect_stream(chat, after(answer))
            sent = server.bodies[-1]["input"]
        assert not any(item.get("type") == "reasoning" or "id" in item for item in sent)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ({"code": "server_error", "message": "sorry"}, ModelUnreachable),
        ({"code": "invalid_prompt", "message": "not allowed"}, ModelRequestRejected),
        ({"code": "image_too_large", "message": "too many pixels"}, ModelRequestRejected),
    ],
)
async def test_the_text_of_a_failed_response_decides_its_error(
    http: HttpClient, failure: dict[str, str], kind: type[Exception]
) -> None:
    """The text of the failure decides, not that of the request, which the server repeats."""
    response = {
        "status": "failed",
        "error": failure,
        "instructions": "Mind the context window: the prompt is too long.",
    }
    failed = Delta({"type": "response.failed", "response": response})
    async with gpt_server(StreamedReply(Text("So"), failed, finish="")) as server:
        with pytest.raises(kind, match=failure["message"]):
            await final_response(gpt(server, http), ModelRequest(QUESTION))


async def test_a_refusal_is_text(http: HttpClient) -> None:
    part = {"type": "refusal", "refusal": "I cannot."}
    item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    events = (
        Delta({"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}),
        Delta({"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I can"}),
        Delta({"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "not."}),
        Delta({"type": "response.output_item.done", "output_index": 0, "item": item}),
        Delta({"type": "response.completed", "response": {"status": "completed", "output": [item]}}),
    )
    async with gpt_server(StreamedReply(*events, finish=""), text_reply("ok")) as server:
        chat = gpt(server, http)
        arrivals = await collect_stream(chat, ModelRequest(QUESTION))
        answer = arrivals[-1]
        assert isinstance(answer, ModelResponse)
        reply = Message("assistant", answer.text, verbatim=answer.verbatim)
        await collect_stream(chat, ModelRequest((*QUESTION, reply, Message("user", "Why?"))))
        assert server.bodies[1]["input"][1] == item
    assert arrivals[:-1] == [TextDelta("I can"), TextDelta("not.")]
    assert answer.text == "I cannot."


OUTPUT = [
    {
        "id": "r",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "hm"}, {"type": "summary_text", "text": "so"}],
        "encrypted_content": "x",
    },
    {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
    },
    {"id": "f", "type": "function_call", "call_id": "c", "name": "read_file", "arguments": '{"path": "a"}'},
]
COMPLETE = {
    "object": "response",
    "status": "completed",
    "error": None,
    "output": OUTPUT,
    "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
}


@pytest.mark.parametrize(
    "reply",
    [
        PlainReply(200, COMPLETE),
        StreamedReply(Delta({"type": "response.completed", "response": COMPLETE}), finish=""),
        StreamedReply(
            *(
                Delta({"type": "response.output_item.done", "output_index": n, "item": item})
                for n, item in enumerate(OUTPUT)
            ),
            Delta({"type": "response.completed", "response": {**COMPLETE, "output": []}}),
            finish="",
        ),
    ],
    ids=["not streamed", "only its end", "only whole items"],
)
async def test_an_answer_in_few_pieces_is_the_same(http: HttpClient, reply: Reply) -> None:
    async with gpt_server(reply) as server:
        arrivals = await collect_stream(gpt(server, http), ModelRequest(QUESTION))
    answer = arrivals[-1]
    assert isinstance(answer, ModelResponse)
    assert arrivals[:-1] == [
        ReasoningDelta("hm"),
        ReasoningDelta("\n\nso"),
        TextDelta("Looking."),
    ]
    assert (answer.text, answer.reasoning, answer.stop) == ("Looking.", "hm\n\nso", "calls")
    assert answer.calls == (ToolCall("c", "read_file", '{"path": "a"}'),)
    assert answer.usage == Usage(9, 2, 4, reports_cache=True)
    assert answer.verbatim is not None
    assert answer.verbatim["items"] == OUTPUT


async def test_a_refusal_is_one_though_the_answer_is_complete(http: HttpClient) -> None:
    refusal = "I can't help with that."
    event = {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": refusal}
    async with gpt_server(StreamedReply(Delta(event), Call("read_file", "{}", "c1"))) as server:
        answer = await final_response(gpt(server, http), ModelRequest(QUESTION, (READ,)))
    assert (answer.text, answer.stop, answer.calls) == (refusal, "refusal", ())
