"""Answers that break their API, as public bug reports have them or drawn: what can be read is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import ContextWindowExceeded, ModelError, ModelRequestRejected
from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    ToolSpec,
)
from helix_desktop.providers.anthropic import MessagesAssembler, encode_request
from helix_desktop.providers.dialect import AnswerAssembler, StreamedError
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.openai_chat import request_body as chat_body
from helix_desktop.providers.openai_responses import ResponsesAssembler
from helix_desktop.providers.openai_responses import request_body as responses_body
from helix_desktop.providers.streaming import StreamedModel
from tests.support.model_contract import final_response
from tests.support.model_servers.canned_http import CannedHttp
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import SleepRecorder

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = (ToolSpec("read_file", "Reads.", SCHEMA), ToolSpec("list_directory", "Lists.", SCHEMA))
REQUEST = ModelRequest((Message("user", "How many?"),), TOOLS)
Chunk = Mapping[str, Any]


def stream(*chunks: Chunk, separator: str = "\n\n", named: bool = False, done: str = "[DONE]") -> bytes:
    """Return the bytes of a stream; `named`: the kind of each event stands beside its data alone."""
    lines = []
    for chunk in chunks:
        data = {key: part for key, part in chunk.items() if not (named and key == "type")}
        lines.append((f"event: {chunk['type']}\n" if named else "") + f"data: {json.dumps(data)}")
    return separator.join([*lines, *([f"data: {done}"] if done else []), ""]).encode()


def chat(delta: Chunk | None = None, finish: str | None = None, **others: Any) -> Chunk:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **others}


def chat_calls(*calls: Chunk) -> Chunk:
    return chat({"tool_calls": list(calls)})


def call(index: Any, name: str = "", arguments: Any = "") -> Chunk:
    ids = {"id": f"id-{name}"} if name else {}
    return {"index": index, **ids, "function": {**({"name": name} if name else {}), "arguments": arguments}}


STOP = chat({}, "stop")
CALLED = chat({}, "tool_calls")
X = '{"path":"x"}'
Y = '{"path":"y"}'
BOTH = [("read_file", X), ("list_directory", Y)]
START: Chunk = {"type": "message_start", "message": {"role": "assistant", "content": []}}
END: tuple[Chunk, ...] = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
    {"type": "message_stop"},
)
COMPLETED: Chunk = {"type": "response.completed", "response": {"status": "completed", "output": None}}


def block(index: Any, **content: Any) -> Chunk:
    return {"type": "content_block_start", "index": index, "content_block": content or None}


def delta(index: Any, kind: str, field: str, part: Any) -> Chunk:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: part}}


def said(text: str) -> tuple[Chunk, ...]:
    return block(0, type="text", text=""), delta(0, "text_delta", "text", text)


def event(kind: str, **fields: Any) -> Chunk:
    return {"type": f"response.{kind}", **fields}


def added(name: str, **fields: Any) -> Chunk:
    """Return the event that begins a call in Responses."""
    item = {"id": f"item-{name}", "type": "function_call", "call_id": f"id-{name}", "name": name}
    return event("output_item.added", item=item, **fields)


FULL = {"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]}
TEXTS: dict[str, tuple[DialectName, bytes]] = {
    "content as one part": (
        "openai-chat",
        stream(chat({"content": {"type": "text", "text": "Fine."}}), STOP),
    ),
    "choices as of text completions": ("openai-chat", stream({"choices": [{"text": "Fine."}]}, STOP)),
    "choices null, delta null": (
        "openai-chat",
        stream({"choices": None}, chat(), chat({"content": "Fine."}), STOP),
    ),
    "no empty lines between events": (
        "openai-chat",
        stream(chat({"content": "Fine."}), STOP, separator="\n"),
    ),
    "an end mark in lower case": ("openai-chat", stream(chat({"content": "Fine."}), done="[done]")),
    "not a number": (
        "openai-chat",
        b'data: {"choices": [{"delta": {"content": "Fine."}, "logprobs": [NaN, -Infinity]}]}\n\n'
        + stream(STOP),
    ),
    "JSON in place of a stream": ("openai-chat", b"\n\n" + json.dumps(FULL, indent=1).encode()),
    "JSON with a byte order mark": ("openai-chat", b"\xef\xbb\xbf" + json.dumps(FULL).encode()),
    "an empty error beside text": ("openai-chat", stream(chat({"content": "Fine."}, error={}), STOP)),
    "an error that is null": ("openai-chat", stream(chat({"content": "Fine."}, error=None), STOP)),
    "a block that nobody started": (
        "anthropic",
        stream(START, delta(0, "text_delta", "text", "Fine."), *END, done=""),
    ),
    "blocks of unknown kinds": (
        "anthropic",
        stream(START, block(0, type=["text"], text="x"), block(1, text="x"), *said("Fine."), *END, done=""),
    ),
    "a block of nothing": (
        "anthropic",
        stream(START, block(0), delta(0, "text_delta", "text", "Fine."), *END, done=""),
    ),
    "kinds beside the data alone": (
        "anthropic",
        stream(
            START,
            block(0, type="text", text=""),
            delta(0, "text_delta", "text", "Fine."),
            *END,
            named=True,
            done="",
        ),
    ),
    "content as a text": (
        "anthropic",
        json.dumps({"type": "message", "content": "Fine.", "stop_reason": "end_turn"}).encode(),
    ),
    "a success in words before the answer": (
        "openai-chat",
        stream({"code": 0, "msg": "success"}, {"success": True, "message": "Found"}, FULL),
    ),
    "a success with a code beside the answer": (
        "openai-chat",
        stream({"code": 200, "message": "Queue joined", "data": None}, chat({"content": "Fine."}), STOP),
    ),
    "signs of life as texts": (
        "openai-chat",
        stream({"message": "keep-alive"}, {"msg": "Processing..."}, chat({"content": "Fine."}), STOP),
    ),
    "words behind the answer": (
        "openai-chat",
        stream(chat({"content": "Fine."}), STOP, {"message": "Thank you for using this server"}),
    ),
    "a second choice in turns": (
        "openai-chat",
        stream(
            chat({"content": "Fi"}),
            {"choices": [{"index": 1, "delta": {"content": "Wrong"}, "finish_reason": "length"}]},
            {"choices": [{"index": 1, "delta": {}}, {"index": 0, "delta": {"content": "ne."}}]},
            STOP,
        ),
    ),
    "a second message behind the whole one": (
        "anthropic",
        stream(START, *said("Fine."), *END[:1], START, *said("Wrong"), *END, done=""),
    ),
    "a start of the message twice": ("anthropic", stream(START, START, *said("Fine."), *END, done="")),
    "a text that only its end has": (
        "openai-responses",
        stream(event("output_text.done", output_index=0, text="Fine."), COMPLETED),
    ),
}


def model_on(dialect: DialectName, http: CannedHttp) -> StreamedModel:
    return connect_model(
        dialect,
        ModelInfo("local", "small"),
        "http://127.0.0.1:9/v1",
        http=http,
        retry_policy=SleepRecorder().retry_policy,
    )


async def answer_to(dialect: DialectName, raw: bytes) -> Any:
    return await final_response(model_on(dialect, CannedHttp([raw])), REQUEST)


class RepliesHttp(CannedHttp):
    def __init__(self, *replies: bytes) -> None:
        super().__init__([])
        self._replies = iter(replies)

    def next_reply(self) -> list[bytes]:
        return [next(self._replies)]


@pytest.mark.parametrize("name", TEXTS)
async def test_a_text_in_an_odd_shape_is_read(name: str) -> None:
    answer = await answer_to(*TEXTS[name])
    assert (answer.text, answer.calls, answer.stop) == ("Fine.", (), "end")


CALLS: dict[str, tuple[DialectName, bytes]] = {
    **{
        f"indexes as {name}, in turns": (
            "openai-chat",
            stream(
                chat_calls(call(first, "read_file"), call(second, "list_directory")),
                chat_calls(call(first, arguments=X)),
                chat_calls(call(second, arguments=Y)),
                CALLED,
            ),
        )
        for name, first, second in (("texts", "0", "1"), ("fractions", 0.0, 1.0))
    },
    "a call in place of a list": (
        "openai-chat",
        stream(
            chat({"tool_calls": call(0, "read_file", X)}),
            chat({"tool_calls": call(1, "list_directory", Y)}),
            CALLED,
        ),
    ),
    "name and arguments beside the id": (
        "openai-chat",
        stream(
            chat_calls(
                {"index": 0, "id": "a", "name": "read_file", "arguments": X},
                {"index": 1, "id": "b", "name": "list_directory", "arguments": Y},
            ),
            CALLED,
        ),
    ),
    "arguments encoded twice": (
        "openai-chat",
        stream(
            chat_calls(call(0, "read_file", json.dumps(X)), call(1, "list_directory", json.dumps(Y))), CALLED
        ),
    ),
    "names as a template writes them": (
        "openai-chat",
        stream(
            chat_calls(call(0, "functions.read_file:0", X), call(1, "functions.list_directory:1", Y)), CALLED
        ),
    ),
    "blocks with indexes as texts, arguments as an object": (
        "anthropic",
        stream(
            START,
            block("0", type="tool_use", id="a", name="read_file", input={}),
            block("1", type="tool_use", id="b", name="list_directory", input=Y),
            delta("0", "input_json_delta", "partial_json", {"path": "x"}),
            *END,
            done="",
        ),
    ),
    "items with indexes as texts": (
        "openai-responses",
        stream(
            added("read_file", output_index="0"),
            added("list_directory", output_index="1"),
            event("function_call_arguments.delta", output_index="0", delta=X),
            event("function_call_arguments.delta", output_index="1", delta=Y),
            COMPLETED,
        ),
    ),
    "items by their ids, arguments at their end": (
        "openai-responses",
        stream(
            added("read_file"),
            added("list_directory"),
            event("function_call_arguments.done", item_id="item-read_file", arguments=X),
            event("function_call_arguments.delta", item_id="item-list_directory", delta=Y),
            COMPLETED,
        ),
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_calls_in_an_odd_shape_keep_their_own_arguments(name: str) -> None:
    answer = await answer_to(*CALLS[name])
    assert [(call.name, call.arguments) for call in answer.calls] == BOTH


async def test_counts_may_be_texts() -> None:
    counts = {"prompt_tokens": "7", "completion_tokens": 2.0}
    answer = await answer_to(
        "openai-chat", stream(chat({"content": "Fine."}, usage=None), chat({}, "stop", usage=counts))
    )
    assert (answer.usage.input, answer.usage.output) == (7, 2)


TOO_LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
ERRORS: dict[str, tuple[Chunk, type[ModelError], str]] = {
    "an object that is an error": (
        {"object": "error", "message": TOO_LONG, "code": 400},
        ContextWindowExceeded,
        TOO_LONG,
    ),
    "a text alone": ({"choices": [], "message": TOO_LONG}, ContextWindowExceeded, TOO_LONG),
    "a code and a text in Chinese": (
        {"code": 1261, "msg": "Prompt 超长: 最大 8192 个 token", "success": False},
        ContextWindowExceeded,
        "Prompt 超长: 最大 8192 个 token",
    ),
    "a status of its own": (
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        ModelRequestRejected,
        "insufficient balance",
    ),
    "an error that is true": (
        {"error": True, "message": "Saldo: insufficient balance"},
        ModelRequestRejected,
        "Saldo",
    ),
}


@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "JSON"])
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_in_place_of_an_answer_is_told_in_its_words(name: str, is_stream: bool) -> None:
    chunk, kind, words = ERRORS[name]
    with pytest.raises(kind) as caught:
        await answer_to("openai-chat", stream(chunk) if is_stream else json.dumps(chunk).encode())
    assert words in caught.value.why


NAMED_ERRORS: dict[str, tuple[bytes, str]] = {
    "a kind of its own": (
        b'event: error\ndata: {"type": "invalid_request_error", "message": "tools.0: no schema"}\n\n',
        "tools.0: no schema",
    ),
    "a text in its field": (stream({"error": "model 'small:1.5' not found"}), "model 'small:1.5' not found"),
    "a text as an event": (b"event: error\ndata: model not found\n\n", "model not found"),
    "a JSON text as an event": (b'event: error\ndata: "No such model."\n\n', "No such model."),
    "a mere text": (b"data: The model small does not exist\n\n", "The model small does not exist"),
}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("name", NAMED_ERRORS)
async def test_an_error_that_asking_again_would_not_change_is_told_at_once(
    name: str, dialect: DialectName
) -> None:
    raw, words = NAMED_ERRORS[name]
    http = CannedHttp([raw])
    with pytest.raises(ModelRequestRejected) as caught:
        await final_response(model_on(dialect, http), REQUEST)
    assert words in caught.value.why
    assert len(http.bodies) == (2 if name == "a kind of its own" else 1), "once more in the plainest form"


async def test_a_message_that_begins_again_broke_off() -> None:
    """Its text never stands twice, and none of it is mixed into the other."""
    twice = stream(START, *said("Half"), START, *said("Fine."), *END, done="")
    whole = stream(START, *said("Fine."), *END, done="")
    items = [item async for item in model_on("anthropic", RepliesHttp(twice, whole)).stream(REQUEST)]
    assert [type(item) for item in items if not isinstance(item, TextDelta)] == [
        RetryScheduled,
        ModelResponse,
    ]
    assert isinstance(items[-1], ModelResponse)
    assert items[-1].text == "Fine."


HALF = stream(chat({"content": "Half"}), done="")
WHOLE = stream(chat({"content": "Whole."}), STOP)


async def test_a_server_that_marked_an_answer_marks_all() -> None:
    """What ends without a mark is asked for again, however often."""
    http = RepliesHttp(WHOLE, HALF, HALF, HALF, WHOLE)
    model = model_on("openai-chat", http)
    answers = [await final_response(model, REQUEST) for _ in range(2)]
    assert [(answer.text, answer.stop) for answer in answers] == [("Whole.", "end")] * 2
    assert len(http.bodies) == 5


async def test_answers_without_a_mark_count_for_their_own_request() -> None:
    """Two that broke off together, as when the network did, say nothing of the server."""
    model = model_on("openai-chat", RepliesHttp(HALF, HALF, WHOLE, WHOLE))
    async with aclosing(model.stream(REQUEST)) as first, aclosing(model.stream(REQUEST)) as second:
        for items in (first, second):
            assert [type(await anext(items)) for _ in range(2)] == [TextDelta, RetryScheduled]
        for items in (first, second):
            *_, answer = [item async for item in items]
            assert isinstance(answer, ModelResponse)
            assert (answer.text, answer.stop) == ("Whole.", "end")


async def test_a_server_that_never_marks_is_known_after_one_request() -> None:
    """Calls say so too: the record has it, whatever is displayed."""
    called = stream(chat_calls(call(0, "read_file", X)), done="")
    http = RepliesHttp(called, called, HALF)
    model = model_on("openai-chat", http)
    answers = [await final_response(model, REQUEST) for _ in range(2)]
    assert [(answer.text, len(answer.calls), answer.stop) for answer in answers] == [
        ("", 1, "no-end-mark"),
        ("Half", 0, "no-end-mark"),
    ]
    assert len(http.bodies) == 3


async def test_a_refusal_without_a_mark_stays_one() -> None:
    refused = stream(chat({"refusal": "I won't."}), done="")
    answer = await final_response(model_on("openai-chat", RepliesHttp(refused, refused)), REQUEST)
    assert (answer.text, answer.stop) == ("I won't.", "refusal")


CHAT_STREAM: list[dict[str, Any]] = [
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
    "chat": (lambda: ChatAssembler("x", lambda: "new", tools=frozenset({"read"})), CHAT_STREAM),
    "responses": (lambda: ResponsesAssembler("x", "m", lambda: "new"), RESPONSES),
    "messages": (lambda: MessagesAssembler("x", lambda: "new", {}), MESSAGES),
}
COMPLETE: dict[str, dict[str, Any]] = {
    "chat": {
        "choices": [{"message": {"content": "Text.", "tool_calls": [
            {"id": "a", "function": {"name": "read", "arguments": "{}"}},
        ]}}],
        "usage": {"prompt_tokens": 5},
    },
    "responses": {
        "status": "completed", "usage": {"input_tokens": 5}, "output": [
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Text."}, {"type": "refusal"}]},
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        ],
    },
    "messages": {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Text."},
            {"type": "tool_use", "id": "a", "name": "read", "input": {}},
        ],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5},
    },
}  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=6), parts, max_size=3),
    max_leaves=5,
)


def places_in(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
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
        if data.draw(st.integers(0, 3)) == 0:
            assembler.add_full_response(change(change(COMPLETE[name], data), data))
        else:
            for number in order:
                chunk = chunks[number]
                assembler.add(change(chunk, data) if data.draw(st.booleans()) else copy.deepcopy(chunk))
        answer = assembler.answer()
    except (ModelError, StreamedError, HttpError):
        return
    assert isinstance(answer, ModelResponse)
    assert answer.text.strip() or answer.calls
    assert all(call.id and call.name for call in answer.calls)
    message = Message("assistant", answer.text, answer.calls, verbatim=answer.verbatim)
    results = (Message("tool", "x", call_id=call.id, name=call.name) for call in answer.calls)
    request = ModelRequest((Message("user", "x"), message, *results))
    info = ModelInfo("x", "m")
    for body in (
        chat_body(info, request),
        responses_body(info, request),
        encode_request(info, request, max_output_tokens=9).body,
    ):
        assert json.loads(body), "it can be sent back"
