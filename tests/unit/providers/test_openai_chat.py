"""OpenAI Chat Completions: requests and answers."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidModelResponse
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.providers.answers import UnusableAnswer
from helix_desktop.providers.openai_chat import DIALECT, ChatAssembler, RequestVariant, request_body
from tests.support.image_bytes import image_and_bytes
from tests.support.tables import for_each

INFO = ModelInfo("here", "m")
EXTRA = {"role": "assistant", "content": "x", "extra": "y"}


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


def test_an_unchanged_assistant_message_is_sent_back_verbatim() -> None:
    assembly = ChatAssembler("here", lambda: "new", INFO.name)
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
    verbatim = {"dialect": DIALECT, "provider": "here", "model": INFO.name, "message": stored_message}
    swept = Message("assistant", "text", (ToolCall("c", "f", '{"a":"[CACHED]"}'),), verbatim=verbatim)
    [sent] = messages_of(swept)
    assert sent["reasoning"] == "hm"
    assert sent["tool_calls"][0]["extra"] == "sig"
    assert sent["tool_calls"][0]["function"]["arguments"] == '{"a":"[CACHED]"}'
    assert stored_message["tool_calls"] == [call], "the stored message is left alone"


@pytest.mark.parametrize(
    "verbatim",
    [
        None,
        {"unknown": True},
        {"dialect": DIALECT, "provider": "elsewhere", "model": INFO.name, "message": EXTRA},
        {"dialect": DIALECT, "provider": "here", "model": "other", "message": EXTRA},
    ],
)
def test_an_assistant_message_from_elsewhere_is_sent_in_plain_form(verbatim: dict[str, Any] | None) -> None:
    [sent] = messages_of(Message("assistant", "hi", verbatim=verbatim))
    assert sent == {"role": "assistant", "content": "hi"}


def test_malformed_arguments_are_sent_as_an_object() -> None:
    [sent] = messages_of(Message("assistant", "", (ToolCall("c", "f", '{"a": '),)))
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {"malformed": '{"a": '}


def test_lone_surrogates_do_not_break_a_request() -> None:
    assert messages_of(Message("user", "name \udcff.txt")) == [{"role": "user", "content": "name ?.txt"}]


Piece = Mapping[str, Any]


def assemble(*deltas: Piece, finish: str = "stop", **counts: Any) -> ModelResponse:
    numbers = count()
    assembly = ChatAssembler("here", lambda: f"new_{next(numbers)}")
    for delta in deltas:
        assembly.add({"choices": [{"index": 0, "delta": delta}]})
    assembly.add({"choices": [{"delta": {}, "finish_reason": finish}]})
    assembly.add({"choices": [], **counts})
    assert assembly.is_complete
    return assembly.answer()


def calls(*pieces: Piece) -> list[tuple[str, str, str]]:
    parsed = assemble(*({"tool_calls": [piece]} for piece in pieces), finish="tool_calls").calls
    return [(call.id, call.name, call.arguments) for call in parsed]


def piece(
    index: int | None = None, call_id: str | None = None, name: str | None = None, text: Any = None
) -> Piece:
    function = {key: value for key, value in (("name", name), ("arguments", text)) if value is not None}
    delta = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in delta.items() if value is not None}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["read", "write"]), st.dictionaries(st.text(max_size=3), st.text(max_size=9))
        ),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_arguments_in_any_pieces_and_parallel_calls(
    drawn_calls: list[tuple[str, dict[str, str]]], data: st.DataObject
) -> None:
    texts = [json.dumps(arguments) for _, arguments in drawn_calls]
    queues: list[list[Piece]] = []
    for index, ((name, _), text) in enumerate(zip(drawn_calls, texts, strict=True)):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        queues.append([piece(index, f"c{index}", name, ""), *(piece(index, text=part) for part in parts)])
    order = data.draw(st.permutations([n for n, queue in enumerate(queues) for _ in queue]))
    parsed = calls(*(queues[n].pop(0) for n in order))
    expected_calls = {
        (f"c{n}", name, text) for n, ((name, _), text) in enumerate(zip(drawn_calls, texts, strict=True))
    }
    assert set(parsed) == expected_calls
    assert len(parsed) == len(expected_calls)


A = '{"p": "a"}'
B = '{"p": "b"}'


VARIANTS: dict[str, tuple[list[Piece], list[tuple[str, str, str]]]] = {
    "every index is 0": (
        [piece(0, "x", "read", A), piece(0, "y", "read", B)],
        [("x", "read", A), ("y", "read", B)],
    ),
    "no index": (
        [piece(None, "x", "read", A), piece(None, "y", "read", B)],
        [("x", "read", A), ("y", "read", B)],
    ),
    "no index and no id": (
        [piece(None, None, "read", A), piece(None, None, "read", B)],
        [("new_0", "read", A), ("new_1", "read", B)],
    ),
    "empty id and name": (
        [piece(None, "", "read", '{"p"'), piece(None, "", "", ': "a"}'), piece(None, "", "list", "{}")],
        [("new_0", "read", A), ("new_1", "list", "{}")],
    ),
    "an id for the first only": (
        [piece(0, "x", "read", A), piece(1, None, "read", B)],
        [("x", "read", A), ("new_0", "read", B)],
    ),
    "another index for the arguments": (
        [piece(3, "x", "read", ""), piece(0, None, None, '{"p": '), piece(0, None, None, '"a"}')],
        [("x", "read", A)],
    ),
    "id and name with every piece": (
        [piece(0, "x", "read", '{"p": '), piece(0, "x", "read", '"a"}')],
        [("x", "read", A)],
    ),
    "one id for two": (
        [piece(0, "x", "read", A), piece(1, "x", "list", "{}")],
        [("x", "read", A), ("new_0", "list", "{}")],
    ),
    "an id of its own in every piece": (
        [piece(0, "x", "read", ""), *(piece(0, f"y{n}", "", part) for n, part in enumerate(A))],
        [("x", "read", A)],
    ),
    "an id of its own and the name in every piece": (
        [piece(0, f"y{n}", "read", part) for n, part in enumerate((A[:3], A[3:]))],
        [("y0", "read", A)],
    ),
    "a name in pieces": (
        [piece(0, "x", "re", ""), piece(0, None, "ad", ""), piece(0, None, None, A)],
        [("x", "read", A)],
    ),
    "a name that grows": (
        [piece(0, "x", "re", ""), piece(0, "x", "read", ""), piece(0, "x", None, A)],
        [("x", "read", A)],
    ),
    "one without a name": (
        [piece(0, "x", "read", A), piece(1, "y", "", B)],
        [("x", "read", A), ("y", "unnamed_call", B)],
    ),
    "no arguments": ([piece(0, "x", "now", "")], [("x", "now", "{}")]),
    "an object": ([piece(0, "x", "read", {"p": "a"})], [("x", "read", '{"p":"a"}')]),
    "malformed": ([piece(0, "x", "read", '{"p": ')], [("x", "read", '{"p": ')]),
}


@for_each("name", VARIANTS)
def test_variants_of_servers(name: str) -> None:
    pieces, expected = VARIANTS[name]
    assert calls(*pieces) == expected


def test_the_older_single_function_call() -> None:
    answer = assemble(
        {"function_call": {"name": "read", "arguments": '{"p": '}},
        {"function_call": {"arguments": '"a"}'}},
        finish="function_call",
    )
    assert (answer.calls, answer.stop) == ((ToolCall("new_0", "read", A),), "calls")


@for_each(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("STOP", "end"),
        ("eos", "end"),
        ("tool_calls", "no-call"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "filter"),
        ("SAFETY", "filter"),
        ("MAX_TOKENS", "length"),
        ("model_length", "context"),
        ("refusal", "refusal"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "malformed"),
        ("UNEXPECTED_TOOL_CALL", "malformed"),
    ],
)
def test_the_reason_an_answer_ended(finish: str, stop: StopReason) -> None:
    assert assemble({"content": "x"}, finish=finish).stop == stop


@pytest.mark.parametrize(
    ("finish", "stop"), [("stop", "calls"), ("tool_calls", "calls"), ("length", "length")]
)
def test_the_reason_an_answer_with_calls_ended(finish: str, stop: StopReason) -> None:
    assert assemble({"tool_calls": [piece(0, "x", "read", A)]}, finish=finish).stop == stop


@for_each(
    ("fields", "expected"),
    [
        ({}, Usage(9, 2)),
        ({"prompt_tokens_details": None}, Usage(9, 2)),
        ({"prompt_tokens_details": {"cached_tokens": 8}}, Usage(9, 2, 8, reports_cache=True)),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, Usage(9, 2, reports_cache=True)),
        ({"prompt_tokens_details": {"cached_tokens": 900}}, Usage(9, 2, 9, reports_cache=True)),
        (  # gateways
            {"prompt_tokens_details": {"cached_tokens": 6}, "cache_creation_input_tokens": 3},
            Usage(9, 2, 6, 3, reports_cache=True, reports_writes=True),
        ),
        (  # DeepSeek
            {"prompt_tokens_details": None, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
            Usage(9, 2, 4, reports_cache=True),
        ),
        ({"cached_tokens": 8}, Usage(9, 2, 8, reports_cache=True)),  # Moonshot
        ({"total_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 5}}, Usage(9, 7)),
        (
            {
                "completion_tokens": 7,
                "total_tokens": 16,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(9, 7),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "many", "completion_tokens": None}, None),
    ],
)
def test_usage_is_read_as_the_server_reports_it(fields: Piece, expected: Usage | None) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, **fields}
    assert assemble({"content": "x"}, usage=usage).usage == expected


def test_usage_may_be_missing_or_stand_beside() -> None:
    assert assemble({"content": "x"}, usage=None).usage is None
    counts = {"prompt_tokens": 9, "completion_tokens": 2}
    timings = {"cache_n": 8, "prompt_n": 1}  # llama.cpp
    answer = assemble({"content": "x"}, usage=counts, timings=timings)
    assert answer.usage == Usage(9, 2, 8, reports_cache=True)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_separated_from_text(name: str) -> None:
    assembly = ChatAssembler("here", str)
    assert assembly.add({"choices": [{"delta": {name: "hm"}}]}) == [ReasoningDelta("hm")]
    assert assembly.add({"choices": [{"delta": {"content": "x"}}]}) == [TextDelta("x")]
    assert (assembly.answer().reasoning, assembly.answer().text) == ("hm", "x")


def test_parts_instead_of_text() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    answer = assemble({"content": [thinking, {"type": "text", "text": "x"}]})
    assert (answer.reasoning, answer.text) == ("hm", "x")


@pytest.mark.parametrize("finish", ["tool_calls", "MALFORMED_FUNCTION_CALL"])
def test_a_call_that_did_not_arrive_is_named_with_the_server_s_reason(finish: str) -> None:
    with pytest.raises(UnusableAnswer) as raised:
        assemble({"content": ""}, finish=finish)
    assert finish in raised.value.why


def test_an_end_for_an_unknown_reason_is_named() -> None:
    with pytest.raises(InvalidModelResponse, match="LANGUAGE"):
        assemble({"content": ""}, finish="LANGUAGE")


def test_names_of_tools_tell_pieces_of_a_name_from_two_calls() -> None:
    assembly = ChatAssembler("here", lambda: "new", tools=frozenset({"list", "list_all"}))
    for part in (piece(0, "x", "list", ""), piece(0, "y", "list_all", "")):
        assembly.add({"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]})
    assert [call.name for call in assembly.answer().calls] == ["list", "list_all"]


@pytest.mark.parametrize(
    "delta",
    [
        {"refusal": "I can't help with that."},
        {"content": [{"type": "refusal", "refusal": "I can't help with that."}]},
        {"refusal": "I can't help with that.", "tool_calls": [piece(0, "x", "read", A)]},
    ],
)
@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_a_refusal_is_one_whatever_the_finish_reason(delta: Piece, finish: str) -> None:
    answer = assemble(delta, {"refusal": None}, finish=finish)
    assert (answer.text, answer.stop, answer.calls) == ("I can't help with that.", "refusal", ())
