"""Chat Completions against a real local server: peculiarities of compatible servers and their errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from helix_desktop.domain.errors import (
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_list import list_models
from helix_desktop.providers.streaming import StreamedModel
from tests.support.model_contract import collect_stream
from tests.support.model_servers.chat_server import (
    ChatServer,
    PlainReply,
    Reply,
    StreamedReply,
    Text,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import SleepRecorder

KEY = "sk-very-secret-0123456789"
INFO = ModelInfo("local", "small")
QUESTION = ModelRequest((Message("user", "How many?"),))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def model(
    server: ChatServer, http: HttpClient, sleeps: SleepRecorder | None = None, key: str = KEY
) -> StreamedModel:
    retries = (sleeps or SleepRecorder()).retry_policy
    return connect_model("openai-chat", INFO, server.base_url, key, http=http, retry_policy=retries)


async def failure_of(*replies: Reply, http: HttpClient, sleeps: SleepRecorder | None = None) -> ModelError:
    async with ChatServer(replies_in_order(*replies)) as server:
        with pytest.raises(ModelError) as caught:
            await collect_stream(model(server, http, sleeps), QUESTION)
    assert caught.value.what
    assert caught.value.fix
    assert KEY not in str(caught.value)
    return caught.value


class TestAnswers:
    async def test_the_request_carries_key_tools_and_no_sampling_parameters(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            await collect_stream(model(server, http), ModelRequest(QUESTION.messages, (READ,)))
            sent = server.requests[0]
        assert sent.headers["authorization"] == f"Bearer {KEY}"
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
            await collect_stream(model(server, http, key=""), QUESTION)
            assert "authorization" not in server.requests[0].headers

    @pytest.mark.parametrize(
        "reply",
        [
            StreamedReply(Text("whole"), finish="EOS"),
            PlainReply(200, {"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}),
        ],
        ids=["odd reason", "not streamed"],
    )
    async def test_habits_of_compatible_servers(self, http: HttpClient, reply: Reply) -> None:
        async with ChatServer(lambda _: reply) as server:
            arrivals = await collect_stream(model(server, http), QUESTION)
        assert [type(arrival) for arrival in arrivals] == [TextDelta, ModelResponse]
        assert isinstance(arrivals[-1], ModelResponse)
        assert (arrivals[-1].text, arrivals[-1].stop) == ("whole", "end")

    async def test_usage_is_not_requested_again_where_the_field_is_unknown(self, http: HttpClient) -> None:
        def script(request: dict[str, object]) -> Reply:
            if "stream_options" in request:
                return api_error(400, "Extra inputs are not permitted: stream_options")
            return text_reply("ok")

        async with ChatServer(script) as server:
            chat = model(server, http)
            assert [type(arrival) for arrival in await collect_stream(chat, QUESTION)] == [
                TextDelta,
                ModelResponse,
            ]
            await collect_stream(chat, QUESTION)
            assert ["stream_options" in body for body in server.bodies] == [True, False, False]


class TestForms:
    """Servers that know less than OpenAI, or insist on more."""

    async def answer_of(
        self, http: HttpClient, words: str, right: Callable[[str], bool], *messages: Message
    ) -> list[str]:
        """The requests to a server that refuses all that are not right; another one follows the first."""

        def script(request: dict[str, Any]) -> Reply:
            return text_reply("ok") if right(json.dumps(request["messages"])) else api_error(400, words)

        async with ChatServer(script) as server:
            chat = model(server, http)
            for _ in range(2):
                await collect_stream(chat, ModelRequest((*QUESTION.messages, *messages)))
            return [json.dumps(body["messages"]) for body in server.bodies]

    @staticmethod
    def step(call_id: str, fields: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
        """Return a call with its answer; `fields` are the provider's fields of the message."""
        call = ToolCall(call_id, "read_file", "{}")
        original = {
            "dialect": "openai-chat",
            "provider": "local",
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

    async def test_gemini_requires_a_signature_on_every_call(self, http: HttpClient) -> None:
        words = "Function call is missing a thought_signature in functionCall parts."
        bodies = await self.answer_of(http, words, lambda text: "thought_signature" in text, *self.step("c1"))
        assert len(bodies) == 3

    async def test_deepseek_requires_reasoning_with_every_message(self, http: HttpClient) -> None:
        words = "Missing `reasoning_content` field in the assistant message at message index 1."
        bodies = await self.answer_of(http, words, lambda text: "reasoning_content" in text, *self.step("c1"))
        assert len(bodies) == 3
        assert json.loads(bodies[-1])[1]["reasoning_content"] == ""

    async def test_fields_that_a_server_sends_but_refuses_are_left_out(self, http: HttpClient) -> None:
        words = "'messages.1' : for 'role:assistant' the property 'reasoning' is unsupported"
        reply = self.step("c1", {"content": None, "reasoning": "hm"})
        bodies = await self.answer_of(http, words, lambda text: '"reasoning"' not in text, *reply)
        assert len(bodies) == 3

    async def test_azure_refuses_descriptions_of_more_than_1024_characters(self, http: HttpClient) -> None:
        words = (
            "Invalid 'tools[0].function.description': string too long. "
            "Expected a string with maximum length 1024, but got a string with length 1500 instead."
        )
        long, short = ToolSpec("mcp_long", "d" * 1_500, {}), ToolSpec("mcp_short", "Look.", {})

        def script(request: dict[str, Any]) -> Reply:
            is_right = all(len(tool["function"]["description"]) <= 1_024 for tool in request["tools"])
            return text_reply("ok") if is_right else api_error(400, words)

        async with ChatServer(script) as server:
            chat = model(server, http)
            for _ in range(2):
                await collect_stream(chat, ModelRequest(QUESTION.messages, (long, short)))
            sent = [[tool["function"]["description"] for tool in body["tools"]] for body in server.bodies]
        assert [len(texts[0]) for texts in sent] == [1_500, 1_024, 1_024]
        assert {texts[1] for texts in sent} == {"Look."}

    async def test_contradictory_refusals_are_reported(self, http: HttpClient) -> None:
        words = "unknown field; missing a thought_signature, missing reasoning_content, include_usage"
        with pytest.raises(ModelRequestRejected):
            await self.answer_of(http, words, lambda _: False, *self.step("c1"))


class TestRefusals:
    async def test_a_redirect_is_not_followed(self, http: HttpClient) -> None:
        failure = await failure_of(PlainReply(307, "", {"location": "http://127.0.0.1:9/v1"}), http=http)
        assert isinstance(failure, ModelRequestRejected)
        assert "127.0.0.1:9" in failure.what


class TestNonsense:
    async def test_a_wrong_address_is_explained(self, http: HttpClient) -> None:
        chat = connect_model("openai-chat", INFO, "localhost-without-scheme", http=http)
        with pytest.raises(ModelUnreachable, match="https://host/v1"):
            await collect_stream(chat, QUESTION)

    async def test_a_key_that_cannot_be_sent(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            with pytest.raises(ModelRequestRejected, match="Enter a valid API key"):
                await collect_stream(model(server, http, key="sk-\u201cquoted\u201d"), QUESTION)


class TestListing:
    async def test_a_wrong_path_is_explained(self, http: HttpClient) -> None:
        async with ChatServer(lambda _: text_reply("ok")) as server:
            with pytest.raises(ModelRequestRejected, match="most end in /v1"):
                await list_models(Endpoint("local", server.base_url.removesuffix("/v1"), "", http))

    async def test_a_server_that_is_down(self, http: HttpClient) -> None:
        with pytest.raises(ModelUnreachable):
            await list_models(Endpoint("local", "http://127.0.0.1:1/v1", "", http))
