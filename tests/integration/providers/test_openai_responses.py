"""OpenAI Responses against a real local server: what differs from the other dialects."""

from __future__ import annotations

from typing import Any

import pytest

from helix_desktop.domain.errors import ModelRequestRejected, ModelUnreachable
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
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
from tests.support.model_servers.wire_formats import ResponsesWireFormat

QUESTION = (Message("system", "You help."), Message("user", "How many?"))
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
THOUGHT = StreamedReply(
    Reasoning("Let me look."),
    OpaqueReasoning("b3BhcXVl"),
    Text("Looking."),
    Call("read_file", '{"path": "größe.py"}', "c1"),
    Call("read_file", "{}", "c2"),
)


def serving(*replies: Reply) -> ChatServer:
    return ChatServer(replies_in_order(*replies), wire_format=ResponsesWireFormat())


def model(server: ChatServer, http: HttpClient, name: str = "gpt-x") -> StreamedModel:
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
    async with serving(text_reply("ok")) as server:
        await collect_stream(model(server, http), ModelRequest(QUESTION, (READ,)))
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
    async with serving(THOUGHT, text_reply("ok")) as server:
        chat = model(server, http)
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


async def test_items_changed_by_the_window_are_rebuilt_and_the_rest_is_unchanged(http: HttpClient) -> None:
    async with serving(THOUGHT, text_reply("ok")) as server:
        chat = model(server, http)
        answer = await final_response(chat, ModelRequest(QUESTION, (READ,)))
        short = (ToolCall("c1", "read_file", '{"path": "[CACHED]"}'), answer.calls[1])
        changed = ModelResponse(answer.text, short, verbatim=answer.verbatim)
        await collect_stream(chat, after(changed))
        sent = server.bodies[1]["input"][1:]
    assert [item["type"] for item in sent[:4]] == ["reasoning", "message", "function_call", "function_call"]
    assert (sent[2]["id"], sent[2]["arguments"]) == ("fu_2", '{"path": "[CACHED]"}')


async def test_another_model_gets_only_text_and_calls(http: HttpClient) -> None:
    """Without the reasoning the items have no ids, by which it would be missed."""
    async with serving(THOUGHT, text_reply("ok")) as server:
        answer = await final_response(model(server, http), ModelRequest(QUESTION, (READ,)))
        await collect_stream(model(server, http, "gpt-y"), after(answer))
        sent = server.bodies[1]["input"][1:]
    assert sent[0] == {"role": "assistant", "content": "Looking."}
    assert [item["type"] for item in sent[1:]] == ["function_call"] * 2 + ["function_call_output"] * 2
    assert not any("id" in item for item in sent)


class TestForms:
    async def test_a_model_without_reasoning_is_not_asked_for_it_again(self, http: HttpClient) -> None:
        def script(request: dict[str, Any]) -> Reply:
            if "include" in request:
                return api_error(400, "Encrypted content is not supported with this model.")
            return text_reply("ok")

        async with ChatServer(script, wire_format=ResponsesWireFormat()) as server:
            chat = model(server, http)
            for _ in range(2):
                assert (await final_response(chat, ModelRequest(QUESTION))).text == "ok"
            assert ["include" in body for body in server.bodies] == [True, False, False]

    async def test_refused_reasoning_is_left_out_of_this_request(self, http: HttpClient) -> None:
        words = "Item with id 're_0' of type 'reasoning' was not found: its content could not be verified."
        async with serving(THOUGHT, api_error(404, words), text_reply("ok")) as server:
            chat = model(server, http)
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
            chat = model(server, http)
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
    async with serving(StreamedReply(Text("So"), failed, finish="")) as server:
        with pytest.raises(kind, match=failure["message"]):
            await final_response(model(server, http), ModelRequest(QUESTION))


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
    async with serving(StreamedReply(*events, finish=""), text_reply("ok")) as server:
        chat = model(server, http)
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
    async with serving(reply) as server:
        arrivals = await collect_stream(model(server, http), ModelRequest(QUESTION))
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
    async with serving(StreamedReply(Delta(event), Call("read_file", "{}", "c1"))) as server:
        answer = await final_response(model(server, http), ModelRequest(QUESTION, (READ,)))
    assert (answer.text, answer.stop, answer.calls) == (refusal, "refusal", ())
