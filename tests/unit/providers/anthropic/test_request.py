"""Requests in Messages: where images, results and breakpoints stand, and what of an answer may go back."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.image import Image, identify_image
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.anthropic.request import DIALECT, encode_request
from tests.support.image_bytes import png

INFO = ModelInfo("here", "m")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
TEXT = {"type": "text", "text": "Looking."}
CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {"path": "long"}, "caller": {"type": "direct"}}
CALLED = (ToolCall("c", "f", '{"path": "long"}'),)


def messages_of(*messages: Message, **pictures: bytes) -> list[dict[str, Any]]:
    request = ModelRequest(messages, image_data=pictures)
    found: list[dict[str, Any]] = json.loads(
        encode_request(INFO, request, max_output_tokens=9, breakpoints=False).body
    )["messages"]
    return found


def blocks_of(text: str, calls: tuple[ToolCall, ...], *content: dict[str, Any], **kept: str) -> Any:
    """What goes back of an answer that came as these blocks."""
    verbatim = {"dialect": DIALECT, "provider": "here", "model": "m", "content": list(content), **kept}
    spoken = Message("assistant", text, calls, verbatim=verbatim)
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    return messages_of(Message("user", "x"), spoken, *results, Message("user", "y"))[1]["content"]


def test_an_unchanged_answer_goes_back_as_it_came() -> None:
    assert blocks_of("Looking.", CALLED, THOUGHT, TEXT, CALL) == [THOUGHT, TEXT, CALL]


def test_what_the_window_changed_is_changed_and_the_rest_stays() -> None:
    short = (ToolCall("c", "f", '{"path": "[CACHED]"}'),)
    found = blocks_of("Looking.", short, THOUGHT, TEXT, CALL)
    assert found == [THOUGHT, TEXT, {**CALL, "input": {"path": "[CACHED]"}}]
    assert blocks_of("Other.", CALLED, THOUGHT, TEXT, CALL) == [THOUGHT, {**TEXT, "text": "Other."}, CALL]
    assert blocks_of("Looking.", (), THOUGHT, TEXT, CALL) == [THOUGHT, TEXT]


def test_text_between_thoughts_stays_there_and_blank_text_goes() -> None:
    more = {"type": "text", "text": "More."}
    blank = {"type": "text", "text": "\n"}
    assert blocks_of("Looking.\n\nMore.", (), THOUGHT, TEXT, THOUGHT, more) == [THOUGHT, TEXT, THOUGHT, more]
    assert blocks_of("\n", CALLED, THOUGHT, blank, CALL) == [THOUGHT, CALL]


@pytest.mark.parametrize("field", ["provider", "dialect"])
def test_nothing_of_another_provider_or_dialect_goes_back(field: str) -> None:
    plain = {"type": "tool_use", "id": "c", "name": "f", "input": {"path": "long"}}
    assert blocks_of("Looking.", CALLED, THOUGHT, TEXT, CALL, **{field: "other"}) == [TEXT, plain]


def test_another_model_gets_all_but_the_thinking() -> None:
    redacted = {"type": "redacted_thinking", "data": "x"}
    found = blocks_of("Looking.", CALLED, THOUGHT, redacted, TEXT, CALL, model="other")
    assert found == [TEXT, CALL]


def pictured(label: str, seed: int) -> tuple[Image, bytes]:
    """An image and its bytes."""
    data = png(2, 2, seed)
    image = identify_image(data, digest_of(data), label)
    assert image is not None
    return image, data


def test_images_stand_in_messages_and_results() -> None:
    (mine, mine_bytes), (read, read_bytes), (gone, _) = (
        pictured(label, n) for n, label in enumerate(("a.png", "b.png", "c.png"))
    )
    first, second = messages_of(
        Message("user", "Look.", images=(mine,)),
        Message("assistant", "", CALLED),
        Message("tool", "b.png: PNG", call_id="c", name="f", images=(read, gone)),
        Message("user", "Go on."),
        **{mine.digest: mine_bytes, read.digest: read_bytes},
    )[::2]
    assert [block["type"] for block in first["content"]] == ["text", "image"]
    source = first["content"][1]["source"]
    assert (source["type"], source["media_type"]) == ("base64", "image/png")
    assert b64decode(source["data"]) == mine_bytes
    result, words = second["content"]
    assert (result["type"], result["tool_use_id"], words["text"]) == ("tool_result", "c", "Go on.")
    text, image, marker = result["content"]
    assert text == {"type": "text", "text": "b.png: PNG"}
    assert b64decode(image["source"]["data"]) == read_bytes
    assert marker == {"type": "text", "text": gone.marker}, "its bytes could not be read"


def test_breakpoints_stand_where_the_provider_reads_again() -> None:
    """Behind the system prompt, the opening, the former request, and all of it."""
    steps = [
        one
        for n in range(3)
        for one in (
            Message("assistant", "", (ToolCall(f"c{n}", "f", "{}"),)),
            Message("tool", f"{n}", call_id=f"c{n}", name="f"),
        )
    ]
    request = ModelRequest((Message("system", "s"), Message("user", "a"), Message("user", "b"), *steps))
    body = json.loads(encode_request(INFO, request, max_output_tokens=9).body)
    marked = [
        (message["role"], at)
        for message in body["messages"]
        for at, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    assert "cache_control" in body["system"][0]
    assert marked == [("user", 1), ("user", 0), ("user", 0)]
    assert ["cache_control" in m["content"][-1] for m in body["messages"]] == [
        True, False, False, False, True, False, True,
    ]  # fmt: skip


def test_without_a_system_prompt_the_tools_are_marked_and_marks_are_no_part_of_the_fingerprint() -> None:
    request = ModelRequest((Message("user", "a"),), (ToolSpec("f", "F.", {"type": "object"}),))
    sent = encode_request(INFO, request, max_output_tokens=9)
    assert "cache_control" in json.loads(sent.body)["tools"][-1]
    assert sent.prefix == encode_request(INFO, request, max_output_tokens=99, breakpoints=False).prefix
