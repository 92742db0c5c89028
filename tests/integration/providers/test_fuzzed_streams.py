"""Streams of every dialect, cut, doubled, reordered and with odd fields: an answer, or an error of ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import ModelError
from helix_desktop.domain.messages import ModelResponse
from helix_desktop.providers.anthropic import MessagesAssembler
from helix_desktop.providers.dialect import AnswerAssembler, StreamedError
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.openai_responses import ResponsesAssembler

CHAT: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "<think>a"}}]},
    {"choices": [{"index": 0, "delta": {"content": "b</think>Text."}}]},
    {
        "choices": [
            {"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "re", "arguments": ""}}]}}
        ]
    },
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "ad", "arguments": "{}"}}]}}]},
    {
        "choices": [{"delta": {}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    },
]
RESPONSES: list[dict[str, Any]] = [
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Text."},
    {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": []}},
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {"type": "function_call", "name": "read"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
    {
        "type": "response.completed",
        "response": {"status": "completed", "output": [], "usage": {"input_tokens": 5}},
    },
]
MESSAGES: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Text."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "a", "name": "read"},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
DIALECTS: dict[str, tuple[Callable[[], AnswerAssembler], list[dict[str, Any]]]] = {
    "chat": (lambda: ChatAssembler("x", lambda: "new", tools=frozenset({"read"})), CHAT),
    "responses": (lambda: ResponsesAssembler("x", "m", lambda: "new"), RESPONSES),
    "messages": (lambda: MessagesAssembler("x", lambda: "new", {}), MESSAGES),
}
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=6), parts, max_size=3),
    max_leaves=5,
)


def places_in(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(inner for key, part in parts for inner in places_in(part, (*place, key)))]


def change(chunk: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Return a chunk with an odd value, or nothing, at one place."""
    changed = copy.deepcopy(chunk)
    *way, last = data.draw(st.sampled_from(places_in(chunk)[1:] or [("type",)]))
    holder: Any = changed
    for key in way:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[last] = data.draw(ODD)
    else:
        del holder[last]
    return changed


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_a_broken_stream_gives_an_answer_or_an_error_of_ours(name: str, data: st.DataObject) -> None:
    create, chunks = DIALECTS[name]
    order = data.draw(
        st.lists(st.integers(0, len(chunks) - 1), max_size=10) | st.just(list(range(len(chunks))))
    )
    assembler = create()
    try:
        for number in order:
            chunk = chunks[number]
            assembler.add(change(chunk, data) if data.draw(st.booleans()) else copy.deepcopy(chunk))
        answer = assembler.answer()
    except (ModelError, StreamedError, HttpError):
        return
    assert isinstance(answer, ModelResponse)
    assert answer.text.strip() or answer.calls
    assert all(call.id and call.name for call in answer.calls)
    json.dumps(answer.verbatim, default=str)
