"""Answers from events of any shape: none crashes a reader, whatever a server sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import ModelError
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ModelResponse
from helix_desktop.providers.anthropic import MessagesAssembler as AnthropicAssembly
from helix_desktop.providers.anthropic import encode_request
from helix_desktop.providers.dialect import AnswerAssembler, StreamedError
from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.openai_responses import ResponsesAssembler as ResponsesAssembly
from helix_desktop.providers.openai_responses import request_body

INFO = ModelInfo("here", "m")
LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4)
)
NUMBER = st.integers(-1, 2)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw an object with some of these fields, each of them valid or anything."""
    return st.fixed_dictionaries({}, optional={name: value | JSON for name, value in fields.items()})


def kinds(*names: str) -> st.SearchStrategy[str]:
    """Draw one of the event names of a dialect."""
    return st.sampled_from(names)


BLOCK = some(
    type=kinds("text", "thinking", "tool_use", "redacted_thinking", "new"),
    text=st.text(),
    thinking=st.text(),
    id=st.just("x"),
    name=st.just("read"),
    input=JSON,
)
BLOCK_DELTA = some(
    type=kinds("text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"),
    text=st.text(),
    thinking=st.text(),
    partial_json=st.sampled_from(["{", "}", '"a": 1']),
    stop_reason=kinds("end_turn", "tool_use", "refusal"),
)
ANTHROPIC = some(
    type=kinds(
        "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "ping"
    ),
    index=NUMBER,
    message=some(usage=JSON),
    content_block=BLOCK,
    delta=BLOCK_DELTA,
    usage=some(input_tokens=NUMBER, output_tokens=NUMBER, cache_read_input_tokens=NUMBER),
    content=st.lists(BLOCK, max_size=3),
)
PART = some(type=kinds("output_text", "refusal", "summary_text"), text=st.text(), refusal=st.text())
ITEM = some(
    type=kinds("message", "function_call", "reasoning", "new"),
    content=st.lists(PART, max_size=2),
    summary=st.lists(PART, max_size=2),
    name=st.just("read"),
    call_id=st.just("x"),
    arguments=st.just("{}"),
)
RESPONSES = some(
    type=kinds(
        *(
            f"response.{name}"
            for name in ("completed", "incomplete", "output_item.added", "output_item.done")
        ),
        *(f"response.{name}.delta" for name in ("output_text", "refusal", "reasoning_text")),
        "response.function_call_arguments.delta",
    ),
    output_index=NUMBER,
    content_index=NUMBER,
    delta=st.text(),
    item=ITEM,
    response=some(output=st.lists(ITEM, max_size=3), usage=JSON, error=JSON, incomplete_details=JSON),
)


FUNCTION = some(name=st.just("read"), arguments=st.just("{}"))
PIECES = st.lists(some(index=st.integers(0, 2), id=st.just("x"), function=FUNCTION), max_size=3)
DELTA = some(content=st.text(), refusal=st.text(), tool_calls=PIECES, function_call=FUNCTION, extra=JSON)
ENDS: st.SearchStrategy[Any] = kinds("stop", "tool_calls") | st.just([])
CHAT = some(choices=st.lists(some(delta=DELTA, finish_reason=ENDS), max_size=2), usage=JSON)


def test_blocks_of_unknown_kinds_are_ignored() -> None:
    assembly = anthropic()
    for block in ({"type": ["text"], "text": "x"}, {"text": "x"}, {"type": "text", "text": "yes"}):
        assembly.add({"type": "content_block_start", "content_block": block})
    answer = assembly.answer()
    assert answer.text == "yes"
    check_can_be_sent_back(answer)


def anthropic() -> AnswerAssembler:
    return AnthropicAssembly("here", lambda: "new", {"model": "m"})


def responses() -> AnswerAssembler:
    return ResponsesAssembly("here", "m", lambda: "new")


def chat() -> AnswerAssembler:
    return ChatAssembler("here", lambda: "new")


def check_can_be_sent_back(answer: ModelResponse) -> None:
    message = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in answer.calls)
    request = ModelRequest((Message("user", "x"), message, *results))
    assert msgspec.json.decode(encode_request(INFO, request, max_output_tokens=9).body)
    assert msgspec.json.decode(request_body(INFO, request))


@pytest.mark.parametrize(
    ("create", "events"),
    [(anthropic, ANTHROPIC), (responses, RESPONSES), (chat, CHAT)],
    ids=["anthropic", "responses", "chat"],
)
@given(data=st.data(), is_complete=st.booleans())
def test_no_shape_crashes_it(
    create: Callable[[], AnswerAssembler],
    events: st.SearchStrategy[dict[str, Any]],
    data: st.DataObject,
    is_complete: bool,
) -> None:
    assembly = create()
    try:
        for event in data.draw(st.lists(events, max_size=6)):
            if is_complete:
                assembly.add_full_response(event)
            else:
                assembly.add(event)
        answer = assembly.answer()
    except (ModelError, StreamedError):
        return
    check_can_be_sent_back(answer)
