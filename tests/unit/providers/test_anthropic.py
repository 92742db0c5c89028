"""Requests to Anthropic Messages."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.anthropic import DIALECT, encode_request
from tests.support.image_bytes import image_and_bytes

INFO = ModelInfo("here", "m")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
TEXT = {"type": "text", "text": "Looking."}
CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {"path": "long"}, "caller": {"type": "direct"}}
CALLED = (ToolCall("c", "f", '{"path": "long"}'),)


def messages_of(*messages: Message, **pictures: bytes) -> list[dict[str, Any]]:
    request = ModelRequest(messages, image_data=pictures)
    encoded: list[dict[str, Any]] = json.loads(
        encode_request(INFO, request, max_output_tokens=9, breakpoints=False).body
    )["messages"]
    return encoded


def blocks_of(text: str, calls: tuple[ToolCall, ...], *content: dict[str, Any], **origin: str) -> Any:
    """Return the blocks sent back for an answer with this content."""
    verbatim = {"dialect": DIALECT, "provider": "here", "model": "m", "content": list(content), **origin}
    answer = Message("assistant", text, calls, verbatim=verbatim)
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    return messages_of(Message("user", "x"), answer, *results, Message("user", "y"))[1]["content"]


def test_an_unchanged_answer_is_sent_back_verbatim() -> None:
    assert blocks_of("Looking.", CALLED, THOUGHT, TEXT, CALL) == [THOUGHT, TEXT, CALL]


def test_rewritten_parts_are_changed_and_the_rest_stays() -> None:
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


def test_images_are_in_messages_and_results() -> None:
    (sent, sent_bytes), (read, read_bytes), (missing, _) = (
        image_and_bytes(label, n) for n, label in enumerate(("a.png", "b.png", "c.png"))
    )
    first, second = messages_of(
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
