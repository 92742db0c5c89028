"""Requests: in OpenAI's order and shape, the same bytes each time, assistant messages verbatim."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.openai_chat import DIALECT, ChatAssembler, RequestVariant, request_body
from tests.support.image_bytes import image_and_bytes

INFO = ModelInfo("here", "m")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
ARGUMENTS = st.one_of(
    st.just("{}"), st.just('{"path": "a\\n字"}'), st.just("{broken"), st.just("[1]"), st.just("")
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Draw windows: closed steps of calls and their results between messages."""
    messages = [Message("system", draw(TEXT)), Message("user", draw(TEXT))]
    for step in range(draw(st.integers(0, 5))):
        names = draw(st.lists(st.sampled_from(["read_file", "run_command"]), max_size=3))
        calls = tuple(ToolCall(f"c{step}_{n}", name, draw(ARGUMENTS)) for n, name in enumerate(names))
        text = draw(st.one_of(TEXT, st.just(""))) if calls else draw(TEXT)
        messages.append(Message("assistant", text, calls, verbatim=draw(st.sampled_from(VERBATIMS))))
        messages += [Message("tool", draw(TEXT), call_id=call.id, name=call.name) for call in calls]
        messages.append(Message("user", draw(TEXT)))
    return tuple(messages)


VERBATIMS: list[dict[str, Any] | None] = [
    None,
    {"unknown": True},
    {"dialect": DIALECT, "provider": "elsewhere", "message": {"role": "assistant", "content": "x"}},
    {
        "dialect": DIALECT,
        "provider": "here",
        "message": {"role": "assistant", "content": "x", "reasoning_content": ""},
    },
]


def test_images_are_where_the_dialect_accepts_them() -> None:
    """The user's in their message; those of tools after the last answer of the step."""
    (sent, sent_bytes), (read, read_bytes), (missing, _) = (
        image_and_bytes(label, n) for n, label in enumerate(("a.png", "b.png", "c.png"))
    )
    calls = (ToolCall("1", "read_file", "{}"), ToolCall("2", "list_directory", "{}"))
    messages = (
        Message("user", "Look.\n\n[Image: a.png]", images=(sent,)),
        Message("assistant", "", calls),
        Message("tool", "b.png: PNG", call_id="1", name="read_file", images=(read, missing)),
        Message("tool", "nothing", call_id="2", name="list_directory"),
        Message("user", "Go on."),
    )
    request = ModelRequest(messages, image_data={sent.digest: sent_bytes, read.digest: read_bytes})
    body = json.loads(request_body(INFO, request, RequestVariant(asks_usage=False)))
    user_message, _, first, second, tool_images, last = body["messages"]
    assert user_message["content"][0] == {"type": "text", "text": "Look.\n\n[Image: a.png]"}
    assert _bytes_of(user_message["content"][1]) == sent_bytes
    assert (first["content"], second["content"], last["content"]) == ("b.png: PNG", "nothing", "Go on.")
    assert tool_images["role"] == "user"
    assert "call 1, read_file" in tool_images["content"][0]["text"]
    assert _bytes_of(tool_images["content"][1]) == read_bytes
    assert tool_images["content"][2] == {"type": "text", "text": missing.marker}, (
        "its bytes could not be read"
    )


def _bytes_of(part: dict[str, Any]) -> bytes:
    assert part["type"] == "image_url"
    kind, _, encoded = part["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/png"
    return b64decode(encoded)


def messages_of(*messages: Message) -> list[dict[str, Any]]:
    body = json.loads(request_body(INFO, ModelRequest(messages)))
    encoded: list[dict[str, Any]] = body["messages"]
    return encoded


def lint(body: dict[str, Any]) -> None:
    """Check the rules of OpenAI's reference, implemented independently of the code."""
    assert not {"temperature", "top_p", "presence_penalty", "frequency_penalty", "seed"} & set(body)
    assert body["stream"] is True
    open_calls: list[str] = []
    for message in body["messages"]:
        if open_calls:
            assert message["role"] == "tool"
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            assert set(message) == {"role", "tool_call_id", "content"}
            continue
        assert message["role"] in {"system", "user", "assistant"}
        if message["role"] != "assistant":
            assert set(message) == {"role", "content"}
            assert isinstance(message["content"], str)
            assert message["content"]
            continue
        assert message["content"] or message["tool_calls"]
        assert message["content"] != ""
        for call in message.get("tool_calls", []):
            assert call["type"] == "function"
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            open_calls.append(call["id"])
    assert not open_calls


@given(conversations())
def test_every_request_has_valid_order_and_shape(messages: tuple[Message, ...]) -> None:
    tools = (ToolSpec("read_file", "Reads.", {"type": "object"}),)
    raw = request_body(INFO, ModelRequest(messages, tools))
    lint(json.loads(raw))
    assert raw == request_body(INFO, ModelRequest(messages, tools))


@given(conversations(), TEXT)
def test_earlier_messages_keep_their_bytes_when_more_follow(messages: tuple[Message, ...], more: str) -> None:
    raw = request_body(INFO, ModelRequest(messages), RequestVariant(asks_usage=False))
    longer = request_body(
        INFO, ModelRequest((*messages, Message("user", more))), RequestVariant(asks_usage=False)
    )
    prefix = raw[: raw.rindex(b'],"stream"')]
    assert longer.startswith(prefix)


def test_without_tools_or_usage_the_fields_are_absent() -> None:
    body = json.loads(
        request_body(INFO, ModelRequest((Message("user", "x"),)), RequestVariant(asks_usage=False))
    )
    assert set(body) == {"model", "messages", "stream"}


def test_an_unchanged_assistant_message_is_sent_back_verbatim() -> None:
    assembly = ChatAssembler("here", lambda: "new")
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "reasoning_content": ""},
        {"content": "Look", "reasoning_details": [{"type": "t", "index": 0, "text": "a"}]},
        {"content": "ing", "reasoning_details": [{"type": "t", "index": 0, "text": "b", "signature": "s"}]},
        {"tool_calls": [{"index": 0, "id": "c", "extra": {"sig": "=="}, "function": {"name": "f"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
    ]
    for delta in deltas:
        assembly.add({"choices": [{"delta": delta}]})
    answer = assembly.answer()
    assert answer.verbatim is not None
    message = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
    assert messages_of(message) == [answer.verbatim["message"]]
    assert answer.verbatim["message"] == {
        "role": "assistant",
        "content": "Looking",
        "reasoning_content": "",
        "reasoning_details": [{"type": "t", "index": 0, "text": "ab", "signature": "s"}],
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "extra": {"sig": "=="},
                "function": {"name": "f", "arguments": '{"a":1}'},
            }
        ],
    }


def test_rewritten_parts_are_changed_and_the_rest_stays() -> None:
    call = {
        "id": "c",
        "type": "function",
        "extra": "sig",
        "function": {"name": "f", "arguments": '{"a":"long"}'},
    }
    stored_message = {"role": "assistant", "content": "text", "reasoning": "hm", "tool_calls": [call]}
    verbatim = {"dialect": DIALECT, "provider": "here", "message": stored_message}
    masked = Message("assistant", "text", (ToolCall("c", "f", '{"a":"[CACHED]"}'),), verbatim=verbatim)
    [sent] = messages_of(masked)
    assert sent["reasoning"] == "hm"
    assert sent["tool_calls"][0]["extra"] == "sig"
    assert sent["tool_calls"][0]["function"]["arguments"] == '{"a":"[CACHED]"}'
    assert stored_message["tool_calls"] == [call], "the stored message is left alone"


@pytest.mark.parametrize("verbatim", VERBATIMS[:3])
def test_another_provider_s_message_is_sent_in_plain_form(verbatim: dict[str, Any] | None) -> None:
    [sent] = messages_of(Message("assistant", "hi", verbatim=verbatim))
    assert sent == {"role": "assistant", "content": "hi"}


def test_malformed_arguments_are_sent_as_an_object() -> None:
    [sent] = messages_of(Message("assistant", "", (ToolCall("c", "f", '{"a": '),)))
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"a": '}


def test_lone_surrogates_do_not_break_a_request() -> None:
    assert messages_of(Message("user", "name \udcff.txt")) == [{"role": "user", "content": "name ?.txt"}]
