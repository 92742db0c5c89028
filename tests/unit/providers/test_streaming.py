"""Streams: events in any pieces and of any shape, surrogate pairs, timeouts, why answers end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.messages import (
    Message,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
)
from helix_desktop.providers.answers import ThinkingTags, is_written_call, split_thinking
from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.retry import RetryPolicy
from helix_desktop.providers.streaming import (
    END_GRACE_S,
    USAGE_GRACE_S,
    EventTooLarge,
    SseEvent,
    SseParser,
    StallTimer,
    SurrogateDecoder,
)
from tests.support.model_servers.canned_http import CannedHttp
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import DIALECTS, DialectCase
from tests.support.model_servers.stream_parts import (
    Call,
    OpaqueReasoning,
    Raw,
    Reasoning,
    ReceivedRequest,
    StreamedReply,
    StreamPart,
    Text,
    TokenCounts,
)
from tests.support.tables import for_each


def parse(*chunks: bytes, longest: int = 1000) -> list[SseEvent]:
    parser = SseParser(longest)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.finish()


LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "", "data", "data:", ": note", "id: 7", "retry: 10", "event: error", "odd"]),
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12).map(
            lambda text: f"data: {text}"
        ),
    ),
    max_size=30,
)


@given(LINES, st.sampled_from(["\n", "\r", "\r\n"]), st.data())
def test_any_chunking_gives_the_same_events(lines: list[str], end: str, data: st.DataObject) -> None:
    raw = "".join(line + end for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    chunks = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert parse(*chunks) == parse(raw) == parse(*(bytes([byte]) for byte in raw))


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), min_size=1))
def test_data_lines_are_joined_by_newlines(lines: list[str]) -> None:
    raw = "".join(f"data: {line}\n" for line in lines).encode() + b"\n"
    assert parse(raw, longest=10**6) == [SseEvent("\n".join(lines))]


def test_mixed_line_ends_names_comments_and_a_byte_order_mark() -> None:
    raw = b"\xef\xbb\xbf: hello\r\nevent: error\rdata:a\ndata:  b\r\n\r\ndata: c\r\rid: 1\n\n"
    assert parse(raw) == [SseEvent("a\n b", "error"), SseEvent("c")]


def test_an_event_is_emitted_at_its_empty_line() -> None:
    parser = SseParser()
    assert parser.feed(b"data: x\r\n\r") == [SseEvent("x")]
    assert parser.feed(b"\ndata: y\n") == []
    assert parser.feed(b"\n") == [SseEvent("y")]


def test_the_last_event_may_lack_its_empty_line() -> None:
    assert parse(b"data: [DONE]") == parse(b"data: [DONE]\n") == [SseEvent("[DONE]")]


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_an_event_over_the_cap_is_refused_in_any_chunking(cut: int) -> None:
    raw = b"data: " + b"x" * 200
    chunks = [raw[index : index + cut] for index in range(0, len(raw), cut)]
    with pytest.raises(EventTooLarge):
        parse(*chunks, longest=100)
    many_lines = b"data: xxxxxxxx\n" * 20
    with pytest.raises(EventTooLarge):
        parse(*(many_lines[index : index + cut] for index in range(0, len(many_lines), cut)), longest=100)


def test_the_cap_is_per_event_not_per_stream() -> None:
    assert len(parse(b"data: xxxxxxxx\n\n" * 50, longest=100)) == 50


def test_a_response_that_is_no_event_stream_is_detected() -> None:
    parser = SseParser()
    parser.feed(b"Bad gateway\n")
    assert parser.finish() == []
    assert parser.stray_text == "Bad gateway"


def pieces(text: str, size: int) -> list[str]:
    """Return a text from a server that counts UTF-16 code units: JSON pieces of so many units."""
    halves = text.encode("utf-16-le")
    cut = (halves[index : index + 2 * size] for index in range(0, len(halves), 2 * size))
    return [json.dumps({"delta": {"text": piece.decode("utf-16-le", "surrogatepass")}}) for piece in cut]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_the_text_is_restored_at_any_cut(text: str, size: int) -> None:
    """The joined pieces are the original text; and no piece has a lone surrogate."""
    halves = SurrogateDecoder()
    read = [halves.decode(piece)["delta"]["text"] for piece in pieces(text, size)]
    assert "".join(read) == text
    assert all(piece.encode() or True for piece in read)


def test_two_interleaved_texts_do_not_mix() -> None:
    halves = SurrogateDecoder()
    first = halves.decode(r'{"a": "x\ud83d", "b": ["y\ud83c"], "n": 1}')
    assert first == {"a": "x", "b": ["y"], "n": 1}
    assert halves.decode(r'{"n": 2}') == {"n": 2}
    assert halves.decode(r'{"b": ["\udf0d!"], "a": "\ude00?"}') == {"a": "😀?", "b": ["🌍!"]}


def test_a_lone_half_is_replaced() -> None:
    """The other half never came: the replacement character marks it."""
    halves = SurrogateDecoder()
    assert halves.decode(r'{"a": "x\ud83d"}') == {"a": "x"}
    assert halves.decode('{"a": "yz"}') == {"a": "\N{REPLACEMENT CHARACTER}yz"}
    assert SurrogateDecoder().decode(r'"\ude00 alone"') == "\N{REPLACEMENT CHARACTER} alone"


@pytest.mark.parametrize("text", ["{half", "", "[" * 200_000, "\ud83d"])
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        SurrogateDecoder().decode(text)


def test_constants_that_json_lacks_are_nothing() -> None:
    assert SurrogateDecoder().decode(r'{"a": [NaN, -Infinity], "b": "NaN\ud83d"}') == {
        "a": [None, None],
        "b": "NaN",
    }


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), TEXTS, max_size=3)
PARTS = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Reasoning, TEXTS),
    st.builds(OpaqueReasoning, st.sampled_from(["c2VhbA==", "x" * 40])),
    st.builds(
        Call,
        st.sampled_from(["read_file", "run_command"]),
        ARGUMENTS.map(lambda arguments: json.dumps(arguments, ensure_ascii=False)),
        piece_length=st.integers(1, 9),
    ),
    st.just(Raw(b": a comment\r\n\r\n")),
)
STREAMS = st.lists(PARTS, max_size=8)
QUESTION = ModelRequest((Message("user", "How many?"),))


def bytes_of(dialect: DialectCase, parts: list[StreamPart]) -> bytes:
    """Return a server's stream for these parts, with a text at the end so that it is an answer."""
    reply = StreamedReply(*parts, Text("Done."), usage=TokenCounts(90, 12, 64))
    body = b'{"stream_options": {"include_usage": true}, "include": ["reasoning.encrypted_content"]}'
    encoder = dialect.wire_format.create_encoder(reply, ReceivedRequest("POST", "/", {}, body))

    def sent() -> Iterator[bytes]:
        yield from encoder.start()
        for part in reply.parts:
            yield from (part.data,) if isinstance(part, Raw) else encoder.encode_part(part)
        yield from encoder.end()

    return b"".join(sent())


def read_answer(dialect: DialectCase, pieces: list[bytes]) -> tuple[list[Any], ModelResponse]:
    ids = iter(range(1000))
    model = connect_model(
        dialect.name,
        ModelInfo("here", "m"),
        "http://here.test/v1",
        http=CannedHttp(pieces),
        retry_policy=RetryPolicy(patience_s=0.0),
        new_id=lambda: f"made_{next(ids)}",
    )

    async def arrivals() -> list[Any]:
        return [item async for item in model.stream(QUESTION)]

    *items, answer = asyncio.run(arrivals())
    assert isinstance(answer, ModelResponse)
    return items, answer


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(parts=STREAMS, data=st.data())
def test_any_boundaries_give_the_same_answer(
    dialect: DialectCase, parts: list[StreamPart], data: st.DataObject
) -> None:
    stream = bytes_of(dialect, parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12).map(sorted))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    deltas, answer = read_answer(dialect, pieces)
    assert (deltas, answer) == read_answer(dialect, [stream])
    assert answer == read_answer(dialect, [stream[n : n + 1] for n in range(len(stream))])[1]
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == answer.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == answer.reasoning


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(parts=STREAMS)
def test_no_text_is_lost(dialect: DialectCase, parts: list[StreamPart]) -> None:
    _, answer = read_answer(dialect, [bytes_of(dialect, parts)])
    calls = [part for part in parts if isinstance(part, Call)]
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [
        (call.name, json.loads(call.arguments)) for call in calls
    ]
    for kind, text in ((Text, answer.text), (Reasoning, answer.reasoning)):
        expected = "".join(part.text for part in parts if isinstance(part, kind))
        remaining = iter(text)
        assert all(char in remaining for char in expected), "the pieces in their order"
    seals = [part.data for part in parts if isinstance(part, OpaqueReasoning)]
    verbatim = json.dumps(answer.verbatim)
    assert all(seal in verbatim for seal in seals)
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output, answer.usage.cached) == (90, 12, 64)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_thinking_in_the_text_is_thinking_and_goes_back_as_it_came(dialect: DialectCase) -> None:
    stream = bytes_of(dialect, [Text("<Thou"), Text("ght>a plan</thought>\n\n"), Text("Yes. ")])
    deltas, answer = read_answer(dialect, [stream])
    assert (answer.text, answer.reasoning) == ("Yes. Done.", "a plan")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == answer.text
    model = connect_model(dialect.name, ModelInfo("here", "m"), "http://here.test/v1", http=CannedHttp([]))
    said = Message("assistant", answer.text, verbatim=answer.verbatim)
    request = ModelRequest((Message("user", "How many?"), said, Message("user", "Really?")))
    assert "<Thought>a plan</thought>" in model.wire_body(request).decode()


def test_each_piece_renews_the_timeout_and_keepalives_do_not() -> None:
    now = [0.0]
    assembly = ChatAssembler("here", str)
    patience = StallTimer(10, assembly, lambda: now[0])
    assert patience.remaining_s() == 10
    now[0] = 9.0
    assembly.add({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    assert patience.remaining_s() == 1
    assembly.add({"choices": [{"delta": {"content": "a"}}]})
    assert patience.remaining_s() == 10
    now[0] = 50.0
    assert patience.remaining_s() == 0


def test_a_complete_answer_has_a_short_timeout() -> None:
    assembly = ChatAssembler("here", str)
    patience = StallTimer(10, assembly, lambda: 0.0)
    assembly.add({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})
    assert patience.remaining_s() == USAGE_GRACE_S
    assembly.add({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    assert patience.remaining_s() == END_GRACE_S


TOOLS = frozenset({"read_file", "run_command"})
CALL = json.dumps({"name": "read_file", "arguments": {"path": "a.txt"}})


@for_each(
    "answer",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I'll read it first.\n\n```json\n{CALL}\n```\n",
        f"I'll read it first.\n{CALL}",
        f"Two calls:\n```json\n{CALL}\n```\n```json\n{CALL}\n```",
        f"Reading.\n[{CALL}]",
        json.dumps({"type": "function", "function": {"name": "read_file", "arguments": "{}"}}),
        json.dumps({"tool_calls": [{"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}]}),
        json.dumps({"tool": "run_command", "id": "1", "args": {"command": "ls"}}, indent=2),
        f"<tool_call>\n{CALL}\n</tool_call>",
        "Let me look.\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>",
        f"[TOOL_CALLS][{CALL}]",
        '<|python_tag|>read_file.call(path="a.txt")',
        '<function_calls><invoke name="read_file"><parameter name="path">a</parameter></invoke>',
    ],
)
def test_a_call_in_the_text_is_seen(answer: str) -> None:
    assert is_written_call(answer, TOOLS)
    assert not is_written_call(answer, frozenset())
    assert not is_written_call(answer, frozenset({"other"}))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Such a call is written `<tool_call>{...}</tool_call>`; read_file takes a path.",
        f"A call looks like this:\n```json\n{CALL}\n```\nThe server reads the name first.",
        'The file is:\n```json\n{"name": "read_file", "version": "1"}\n```',
        'The file is:\n```json\n{"name": "my-package", "arguments": {"a": 1}}\n```',
        "\n".join(['{"name": "read_file", "rows": [{}]}'] * 3000),
    ],
)
def test_a_text_about_calls_is_a_text(answer: str) -> None:
    assert not is_written_call(answer, TOOLS)


@for_each(
    ("answer", "text", "thought"),
    [
        ("<think>plan</think>\n\nDone.", "Done.", "plan"),
        ("\n<thinking>plan</thinking>Done.", "Done.", "plan"),
        ("<think>one</think>\n<think>two</think>Done.", "Done.", "onetwo"),
        ("[THINK]plan[/THINK]Done.", "Done.", "plan"),
        ("plan</think>Done.", "Done.", "plan"),
        ("<think>never closed", "", "never closed"),
        ("Tags such as <think>x</think> are thinking.", "Tags such as <think>x</think> are thinking.", ""),
        ("It closes with `</think>`.", "It closes with `</think>`.", ""),
        (" <thi", " <thi", ""),
        ("<p>hello</p>", "<p>hello</p>", ""),
        ("<Thinking>plan</THINKING>Done.", "Done.", "plan"),
        ("plan</Think>Done.", "Done.", "plan"),
        ("<thought>plan</thought>Done.", "Done.", "plan"),
        ("<reasoning>plan</reasoning>Done.", "Done.", "plan"),
        ("<|think|>plan<|/think|>Done.", "Done.", "plan"),
        (
            "<|begin_of_thought|>plan<|end_of_thought|>\n<|begin_of_solution|>Done.<|end_of_solution|>",
            "Done.",
            "plan",
        ),
        ("<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>Done.<|END_RESPONSE|>", "Done.", "plan"),
        (
            "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
            "Done.",
            "plan",
        ),
        ("<|channel|>final<|message|>Done.", "Done.", ""),
        ("<think>a <think>b</think> c</think>Done.", "Done.", "a <think>b</think> c"),
        ("<think>I could write <think> here</think>Done.", "Done.", "I could write <think> here"),
        ("<think>open <think>and open", "", "open <think>and open"),
    ],
)
def test_thinking_is_told_from_text(answer: str, text: str, thought: str) -> None:
    assert split_thinking(answer) == (text, thought)


@given(
    st.data(),
    st.sampled_from(
        [
            "<think>a plan</think>\n\nText",
            "  Text <think>",
            "<think>x</think><thi",
            "<Think>a <think>b</think> c</think>d",
            "<think>a <think>b</think> c",
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>T<|return|>",
        ]
    ),
)
def test_pieces_of_any_length_give_the_same(data: st.DataObject, answer: str) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=8)))
    tags = ThinkingTags()
    pairs = []
    for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True):
        pairs.append(tags.add(answer[start:end]))
    pairs.append(tags.finish())
    assert tuple("".join(parts) for parts in zip(*pairs, strict=True)) == split_thinking(answer)
