"""Requests in every dialect, valid and with their earlier bytes; ids of calls; what goes back verbatim."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.anthropic import ThinkingScope, encode_request
from helix_desktop.providers.dialect import ToolCallIds
from helix_desktop.providers.openai_chat import request_body as chat_body
from helix_desktop.providers.openai_responses import request_body as responses_body
from tests.support.histories import SessionSimulator, histories
from tests.support.image_bytes import image_and_bytes
from tests.support.loop_rig import lint_wire
from tests.support.model_servers.request_rules import anthropic_problems, responses_problems
from tests.support.model_servers.signed_thinking import strip_cache_breakpoints
from tests.support.verbatim_messages import sampled_requests

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.one_of(st.text(max_size=80), st.sampled_from(["call_0", "call_1", "functions.f:0", ""]))
STEPS = st.lists(st.lists(IDS, max_size=4, unique=True), max_size=5)


def converted_ids(steps: list[list[str]], unique: bool) -> list[list[str]]:
    """Return the ids of the calls of each step; those of their answers have to be the same."""
    ids = ToolCallIds(PLAIN, unique=unique)
    ids_by_step = []
    for calls in steps:
        ids.register(calls)
        ids_by_step.append([ids.wire_id(call) for call in calls])
        assert [ids.wire_id(call) for call in calls] == ids_by_step[-1]
    return ids_by_step


@given(STEPS)
def test_every_id_is_valid_and_unique(steps: list[list[str]]) -> None:
    all_ids = [call_id for ids in converted_ids(steps, unique=True) for call_id in ids]
    assert all(PLAIN.fullmatch(call_id) for call_id in all_ids)
    assert len(set(all_ids)) == len(all_ids)


@given(STEPS, st.booleans())
def test_the_same_calls_get_the_same_ids_whatever_follows(steps: list[list[str]], unique: bool) -> None:
    ids_by_step = converted_ids(steps, unique)
    assert ids_by_step == converted_ids(steps, unique)
    for end in range(len(steps)):
        assert converted_ids(steps[:end], unique) == ids_by_step[:end]


def test_a_valid_id_stays() -> None:
    assert converted_ids([["toolu_01AbC", "call-1"], ["call_2"]], unique=True) == [
        ["toolu_01AbC", "call-1"],
        ["call_2"],
    ]


INFO = ModelInfo("here", "m", output=1_000)
NAMES: tuple[DialectName, ...] = ("openai-chat", "openai-responses", "anthropic")


def body_of(name: DialectName, request: ModelRequest) -> bytes:
    if name == "anthropic":
        return encode_request(INFO, request, max_output_tokens=1_000).body
    return chat_body(INFO, request) if name == "openai-chat" else responses_body(INFO, request)


@given(histories(), st.sampled_from(("all", "bound", "none")))
def test_requests_to_anthropic_are_valid(simulator: SessionSimulator, thoughts: ThinkingScope) -> None:
    for request in sampled_requests(simulator, "anthropic", INFO):
        body = json.loads(
            encode_request(INFO, request, max_output_tokens=1_000, thinking_scope=thoughts).body
        )
        assert anthropic_problems(body) == []
        if thoughts != "all":
            assert "thinking" not in str([m for m in body["messages"] if m["role"] == "assistant"])


@given(histories())
def test_requests_to_chat_completions_are_valid(simulator: SessionSimulator) -> None:
    for request in sampled_requests(simulator, "openai-chat", INFO):
        assert lint_wire(json.loads(chat_body(INFO, request))["messages"]) == []


@given(histories(), st.booleans())
def test_requests_to_the_responses_api_are_valid(simulator: SessionSimulator, reasoning: bool) -> None:
    for request in sampled_requests(simulator, "openai-responses", INFO):
        body = json.loads(responses_body(INFO, request, send_reasoning=reasoning))
        assert responses_problems(body) == []
        assert any(item.get("type") == "reasoning" for item in body["input"]) <= reasoning


@pytest.mark.parametrize("name", NAMES)
@given(histories(), st.sampled_from(("And now?", "☃")))
def test_earlier_messages_keep_their_bytes_when_more_follow(
    name: DialectName, simulator: SessionSimulator, more: str
) -> None:
    """A provider's cache depends on it; breakpoints move, and are not part of it."""
    for request in sampled_requests(simulator, name, INFO):
        longer = msgspec.structs.replace(
            request, messages=(*request.messages, Message("assistant", "So."), Message("user", more))
        )
        assert body_of(name, request) == body_of(name, request)
        short, long = (strip_cache_breakpoints(json.loads(body_of(name, body))) for body in (request, longer))
        before, after = (
            body.pop("input" if name == "openai-responses" else "messages") for body in (short, long)
        )
        assert short == long
        assert after[: len(before)] == before


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
TEXT = {"type": "text", "text": "Looking."}
CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {"path": "long"}, "caller": {"type": "direct"}}
CALLED = (ToolCall("c", "f", '{"path": "long"}'),)


def anthropic_messages(*messages: Message, **pictures: bytes) -> list[dict[str, Any]]:
    request = ModelRequest(messages, image_data=pictures)
    encoded: list[dict[str, Any]] = json.loads(
        encode_request(INFO, request, max_output_tokens=9, breakpoints=False).body
    )["messages"]
    return encoded


def blocks_of(text: str, calls: tuple[ToolCall, ...], *content: dict[str, Any], **origin: str) -> Any:
    """Return the blocks sent back for an answer with this content."""
    verbatim = {"dialect": "anthropic", "provider": "here", "model": "m", "content": list(content), **origin}
    answer = Message("assistant", text, calls, verbatim=verbatim)
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    return anthropic_messages(Message("user", "x"), answer, *results, Message("user", "y"))[1]["content"]


def test_rewritten_blocks_are_changed_and_the_rest_stays() -> None:
    short = (ToolCall("c", "f", '{"path": "[CACHED]"}'),)
    blocks = blocks_of("Looking.", short, THOUGHT, TEXT, CALL)
    assert blocks == [THOUGHT, TEXT, {**CALL, "input": {"path": "[CACHED]"}}]
    assert blocks_of("Other.", CALLED, THOUGHT, TEXT, CALL) == [THOUGHT, {**TEXT, "text": "Other."}, CALL]
    assert blocks_of("Looking.", (), THOUGHT, TEXT, CALL) == [THOUGHT, TEXT]


def test_text_between_thinking_stays_and_blank_text_is_dropped() -> None:
    more = {"type": "text", "text": "More."}
    blank = {"type": "text", "text": "\n"}
    assert blocks_of("Looking.\n\nMore.", (), THOUGHT, TEXT, THOUGHT, more) == [THOUGHT, TEXT, THOUGHT, more]
    assert blocks_of("\n", CALLED, THOUGHT, blank, CALL) == [THOUGHT, CALL]


@pytest.mark.parametrize("field", ["provider", "dialect"])
def test_blocks_of_another_provider_or_dialect_are_not_sent_back(field: str) -> None:
    plain = {"type": "tool_use", "id": "c", "name": "f", "input": {"path": "long"}}
    assert blocks_of("Looking.", CALLED, THOUGHT, TEXT, CALL, **{field: "other"}) == [TEXT, plain]


def test_another_model_gets_everything_but_the_thinking() -> None:
    redacted = {"type": "redacted_thinking", "data": "x"}
    blocks = blocks_of("Looking.", CALLED, THOUGHT, redacted, TEXT, CALL, model="other")
    assert blocks == [TEXT, CALL]


def test_calls_of_other_providers_get_legal_ids_of_their_own() -> None:
    call = ToolCall("functions.read:0", "f", '{"path": ')
    step = (Message("assistant", "", (call,)), Message("tool", "x", call_id=call.id, name="f"))
    _, first, first_result, second, second_result = anthropic_messages(Message("user", "x"), *step, *step)
    ids = [message["content"][0]["id"] for message in (first, second)]
    assert ids == [message["content"][0]["tool_use_id"] for message in (first_result, second_result)]
    assert len(set(ids)) == 2
    assert first["content"][0]["input"] == {"malformed": '{"path": '}


def test_images_are_in_messages_and_results() -> None:
    (sent, sent_bytes), (read, read_bytes), (missing, _) = (
        image_and_bytes(label, n) for n, label in enumerate(("a.png", "b.png", "c.png"))
    )
    first, second = anthropic_messages(
        Message("user", "Look.", images=(sent,)),
        Message("assistant", "", CALLED),
        Message("tool", "b.png: PNG", call_id="c", name="f", images=(read, missing)),
        Message("user", "Go on."),
        **{sent.digest: sent_bytes, read.digest: read_bytes},
    )[::2]
    assert [block["type"] for block in first["content"]] == ["text", "image"]
    source = first["content"][1]["source"]
    assert (source["type"], source["media_type"]) == ("base64", "image/png")
    assert b64decode(source["data"]) == sent_bytes
    result, text_block = second["content"]
    assert (result["type"], result["tool_use_id"], text_block["text"]) == ("tool_result", "c", "Go on.")
    text, image, marker = result["content"]
    assert text == {"type": "text", "text": "b.png: PNG"}
    assert b64decode(image["source"]["data"]) == read_bytes
    assert marker == {"type": "text", "text": missing.marker}, "its bytes could not be read"


def test_breakpoints_are_at_the_provider_s_cache_positions() -> None:
    """After the system prompt, the opening, the previous request, and all of it."""
    steps = [
        message
        for n in range(3)
        for message in (
            Message("assistant", "", (ToolCall(f"c{n}", "f", "{}"),)),
            Message("tool", f"{n}", call_id=f"c{n}", name="f"),
        )
    ]
    request = ModelRequest((Message("system", "s"), Message("user", "a"), Message("user", "b"), *steps))
    body = json.loads(encode_request(INFO, request, max_output_tokens=9).body)
    marked = [
        (message["role"], index)
        for message in body["messages"]
        for index, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    assert "cache_control" in body["system"][0]
    assert marked == [("user", 1), ("user", 0), ("user", 0)]
    assert ["cache_control" in m["content"][-1] for m in body["messages"]] == [
        True, False, False, False, True, False, True,
    ]  # fmt: skip


def test_without_a_system_prompt_the_tools_are_marked_and_marks_are_not_in_the_fingerprint() -> None:
    request = ModelRequest((Message("user", "a"),), (ToolSpec("f", "F.", {"type": "object"}),))
    sent = encode_request(INFO, request, max_output_tokens=9)
    assert "cache_control" in json.loads(sent.body)["tools"][-1]
    assert sent.prefix == encode_request(INFO, request, max_output_tokens=99, breakpoints=False).prefix


REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs",
    "summary": [],
    "encrypted_content": "x",
    "status": None,
}
SENT = {key: value for key, value in REASONING.items() if value is not None}
FUNCTION_CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc",
    "call_id": "c",
    "name": "f",
    "arguments": "{}",
}


def message_item(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "content": content}


def items_of(text: str, calls: tuple[ToolCall, ...], *items: dict[str, Any], **origin: str) -> Any:
    """Return the items sent back for an answer with these items, between a question and its successor."""
    verbatim = {
        "dialect": "openai-responses", "provider": "here", "model": "m", "items": list(items), **origin,
    }  # fmt: skip
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    answer = Message("assistant", text, calls, verbatim=verbatim)
    request = ModelRequest((Message("user", "x"), answer, *results, Message("user", "y")))
    return json.loads(responses_body(INFO, request))["input"][1 : -1 - len(calls)]


def test_truncated_reasoning_at_the_end_of_an_answer_is_not_sent_back() -> None:
    assert items_of("So.", (), REASONING, message_item("So."), REASONING) == [SENT, message_item("So.")]


def test_messages_without_text_are_omitted() -> None:
    assert items_of("", (ToolCall("c", "f", "{}"),), REASONING, message_item(" "), FUNCTION_CALL) == [
        SENT,
        FUNCTION_CALL,
    ]


def test_several_messages_are_one_text() -> None:
    items = (message_item("One."), message_item("Two."))
    assert items_of("One.\n\nTwo.", (), *items) == list(items)
    assert items_of("Another.", (), REASONING, *items) == [SENT, {"role": "assistant", "content": "Another."}]


def test_a_rewritten_call_is_changed_and_the_rest_stays() -> None:
    rewritten = {**FUNCTION_CALL, "arguments": '{"path": "[CACHED]"}'}
    calls = (ToolCall("c", "f", rewritten["arguments"]),)
    assert items_of("", calls, REASONING, FUNCTION_CALL) == [SENT, rewritten]


@pytest.mark.parametrize("field", ["provider", "dialect", "model"])
def test_items_of_another_provider_dialect_or_model_are_not_sent_back(field: str) -> None:
    """Without the reasoning the items have no ids, by which it would be missed."""
    items = (REASONING, message_item("So."), FUNCTION_CALL)
    assert items_of("So.", (ToolCall("c", "f", "{}"),), *items, **{field: "other"}) == [
        {"role": "assistant", "content": "So."},
        {name: value for name, value in FUNCTION_CALL.items() if name != "id"},
    ]
