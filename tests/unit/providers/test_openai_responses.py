"""Requests to OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall
from helix_desktop.providers.openai_responses import DIALECT, request_body

INFO = ModelInfo("here", "m")
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs",
    "summary": [],
    "encrypted_content": "x",
    "status": None,
}
SENT = {key: value for key, value in THOUGHT.items() if value is not None}
CALL: dict[str, Any] = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}


def message_item(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "content": content}


def items_of(text: str, calls: tuple[ToolCall, ...], *items: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items sent back for an answer with these items, between a question and its successor."""
    verbatim = {"dialect": DIALECT, "provider": "here", "model": "m", "items": list(items)}
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    answer = Message("assistant", text, calls, verbatim=verbatim)
    request = ModelRequest((Message("user", "x"), answer, *results, Message("user", "y")))
    encoded: list[dict[str, Any]] = json.loads(request_body(INFO, request))["input"]
    return encoded[1 : -1 - len(calls)]


def test_truncated_reasoning_at_the_end_of_an_answer_is_not_sent_back() -> None:
    assert items_of("So.", (), THOUGHT, message_item("So."), THOUGHT) == [SENT, message_item("So.")]


def test_null_fields_are_omitted() -> None:
    assert items_of("So.", (), THOUGHT, message_item("So."))[0] == SENT


def test_messages_without_text_are_omitted() -> None:
    assert items_of("", (ToolCall("c", "f", "{}"),), THOUGHT, message_item(" "), CALL) == [SENT, CALL]


def test_several_messages_are_one_text() -> None:
    items = (message_item("One."), message_item("Two."))
    assert items_of("One.\n\nTwo.", (), *items) == list(items)
    assert items_of("Another.", (), THOUGHT, *items) == [SENT, {"role": "assistant", "content": "Another."}]


@pytest.mark.parametrize("field", ["provider", "dialect"])
def test_items_of_another_provider_or_dialect_are_not_sent_back(field: str) -> None:
    verbatim = {"dialect": DIALECT, "provider": "here", "model": "m", "items": [THOUGHT, message_item("So.")]}
    answer = Message("assistant", "So.", verbatim={**verbatim, field: "other"})
    body = request_body(INFO, ModelRequest((Message("user", "x"), answer, Message("user", "y"))))
    assert json.loads(body)["input"][1] == {"role": "assistant", "content": "So."}
