"""Requests in Responses: what of an answer that was kept may go back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolCall
from helix_desktop.providers.openai_responses.request import DIALECT, request_body

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


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "content": content}


def items_of(text: str, calls: tuple[ToolCall, ...], *items: dict[str, Any]) -> list[dict[str, Any]]:
    """What goes back of an answer that came as these items, between a question and what follows."""
    kept = {"dialect": DIALECT, "provider": "here", "model": "m", "items": list(items)}
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in calls)
    spoken = Message("assistant", text, calls, verbatim=kept)
    request = ModelRequest((Message("user", "x"), spoken, *results, Message("user", "y")))
    found: list[dict[str, Any]] = json.loads(request_body(INFO, request))["input"]
    return found[1 : -1 - len(calls)]


def test_reasoning_that_was_cut_off_at_the_end_of_an_answer_stays_behind() -> None:
    assert items_of("So.", (), THOUGHT, said("So."), THOUGHT) == [SENT, said("So.")]


def test_fields_that_are_null_are_left_out() -> None:
    assert items_of("So.", (), THOUGHT, said("So."))[0] == SENT


def test_messages_without_words_are_left_out() -> None:
    assert items_of("", (ToolCall("c", "f", "{}"),), THOUGHT, said(" "), CALL) == [SENT, CALL]


def test_several_messages_are_one_text() -> None:
    items = (said("One."), said("Two."))
    assert items_of("One.\n\nTwo.", (), *items) == list(items)
    assert items_of("Another.", (), THOUGHT, *items) == [SENT, {"role": "assistant", "content": "Another."}]


@pytest.mark.parametrize("field", ["provider", "dialect"])
def test_nothing_of_another_provider_or_dialect_goes_back(field: str) -> None:
    kept = {"dialect": DIALECT, "provider": "here", "model": "m", "items": [THOUGHT, said("So.")]}
    spoken = Message("assistant", "So.", verbatim={**kept, field: "other"})
    body = request_body(INFO, ModelRequest((Message("user", "x"), spoken, Message("user", "y"))))
    assert json.loads(body)["input"][1] == {"role": "assistant", "content": "So."}
