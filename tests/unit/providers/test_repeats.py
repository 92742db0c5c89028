"""Text and arguments that a server sends more than once, in each dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.domain.answer_bounds import MAX_PART_BYTES
from helix_desktop.domain.messages import ModelResponse
from helix_desktop.providers.anthropic import MessagesAssembler
from helix_desktop.providers.dialect import AnswerAssembler, AnswerDelta, unwrapped_arguments
from helix_desktop.providers.openai_chat import ChatAssembler
from helix_desktop.providers.openai_responses import ResponsesAssembler
from helix_desktop.providers.repeats import StreamedText, is_repetition, single_arguments

Chunk = Mapping[str, Any]

PATH = '{"path": "a.txt"}'
CALL = {"id": "call_a", "type": "function", "function": {"name": "read_file", "arguments": PATH}}
ANSWER = "The file has two parts, and the second one is what the tests read from."


def new_id() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"new_{next(numbers)}"


def read(assembler: AnswerAssembler, chunks: Sequence[Chunk]) -> tuple[ModelResponse, str, str]:
    """Return an answer, and the text and the reasoning that were displayed while it came."""
    deltas: list[AnswerDelta] = []
    for chunk in chunks:
        deltas += assembler.add(chunk)
    shown = {"TextDelta": "", "ReasoningDelta": ""}
    for delta in deltas:
        shown[type(delta).__name__] += delta.text
    return assembler.answer(), shown["TextDelta"], shown["ReasoningDelta"]


def chat(*parts: Chunk, message: Chunk | None = None, finish: str = "stop") -> ModelResponse:
    chunks = [{"choices": [{"index": 0, "delta": part}]} for part in parts]
    last: dict[str, Any] = {"message": message} if message is not None else {"delta": {}}
    chunks.append({"choices": [{"index": 0, "finish_reason": finish, **last}]})
    return read(ChatAssembler("here", new_id(), "m"), chunks)[0]


def block_events(index: int, block: Chunk, deltas: Sequence[Chunk]) -> list[Chunk]:
    start = {"type": "content_block_start", "index": index, "content_block": block}
    parts = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [start, *parts, {"type": "content_block_stop", "index": index}]


MESSAGE_END: list[Chunk] = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
]


def in_chat(chunks: Sequence[str]) -> ModelResponse:
    return chat(*({"content": chunk} for chunk in chunks))


def in_messages(chunks: Sequence[str]) -> ModelResponse:
    deltas = [{"type": "text_delta", "text": chunk} for chunk in chunks]
    events = block_events(0, {"type": "text", "text": ""}, deltas)
    return read(MessagesAssembler("here", new_id(), {}), [*events, *MESSAGE_END])[0]


def in_responses(chunks: Sequence[str]) -> ModelResponse:
    events: list[Chunk] = [{"type": "response.output_item.added", "item": {"type": "message", "id": "m1"}}]
    events += [{"type": "response.output_text.delta", "item_id": "m1", "delta": chunk} for chunk in chunks]
    events.append({"type": "response.completed", "response": {"output": []}})
    return read(ResponsesAssembler("here", "m", new_id()), events)[0]


def arguments_in_chat(chunks: Sequence[str]) -> ModelResponse:
    head = {"id": "call_a", "type": "function", "function": {"name": "read_file", "arguments": ""}}
    parts = [{"index": 0, "function": {"arguments": chunk}} for chunk in chunks]
    return chat(*({"tool_calls": [part]} for part in [{"index": 0, **head}, *parts]), finish="tool_calls")


def arguments_in_messages(chunks: Sequence[str]) -> ModelResponse:
    deltas = [{"type": "input_json_delta", "partial_json": chunk} for chunk in chunks]
    block = {"type": "tool_use", "id": "call_a", "name": "read_file", "input": {}}
    return read(MessagesAssembler("here", new_id(), {}), [*block_events(0, block, deltas), *MESSAGE_END])[0]


def arguments_in_responses(chunks: Sequence[str]) -> ModelResponse:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read_file"}
    kind = "response.function_call_arguments.delta"
    events: list[Chunk] = [{"type": "response.output_item.added", "item": item}]
    events += [{"type": kind, "item_id": "fc_1", "delta": chunk} for chunk in chunks]
    events.append({"type": "response.completed", "response": {"output": []}})
    return read(ResponsesAssembler("here", "m", new_id()), events)[0]


DIALECTS = [in_chat, in_messages, in_responses]
CALLS = [arguments_in_chat, arguments_in_messages, arguments_in_responses]

Dialect = Callable[[Sequence[str]], ModelResponse]


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    """Cut a text into chunks; the last size repeats."""
    chunks: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[min(len(chunks), len(sizes) - 1)]
        chunks.append(text[at : at + size])
        at += size
    return chunks


SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=12)
WORDS = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyzäöü\n.", min_size=1, max_size=9), min_size=12, max_size=60, unique=True
)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(words=WORDS, sizes=SIZES)
def test_cumulative_chunks_give_the_same_answer(dialect: Dialect, words: list[str], sizes: list[int]) -> None:
    text = "An answer of more than forty characters: " + " ".join(words)
    chunks = cut(text, sizes)
    assert dialect(list(accumulate(chunks))).text == text


@pytest.mark.parametrize("dialect", DIALECTS)
@given(words=WORDS, sizes=SIZES)
def test_a_last_chunk_with_the_whole_answer_adds_nothing(
    dialect: Dialect, words: list[str], sizes: list[int]
) -> None:
    text = "An answer of more than forty characters: " + " ".join(words)
    assert dialect([*cut(text, sizes), text]).text == text


@pytest.mark.parametrize("dialect", DIALECTS)
@given(
    part=st.sampled_from(["ha", "ab", "=", "na ", "|---", "equal lines\n", "- [ ] to do\n"]),
    times=st.integers(1, 300),
    before=st.sampled_from(["", "", "Well: "]),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=8),
)
@example(part="ha", times=2, before="", sizes=[2])
@example(part="ab", times=60, before="", sizes=[2, 4, 6, 48])
@example(part="equal lines\n", times=20, before="", sizes=[12, 24, 36, 48, 60])
def test_an_answer_that_repeats_itself_is_never_shortened(
    dialect: Dialect, part: str, times: int, before: str, sizes: list[int]
) -> None:
    text = before + part * times
    assert dialect(cut(text, sizes)).text == text


@pytest.mark.parametrize("dialect", DIALECTS)
@given(
    line=st.text("abc de", min_size=1, max_size=90).map(lambda line: f"x{line}\n"), times=st.integers(2, 9)
)
def test_equal_lines_that_come_one_by_one_all_stay(dialect: Dialect, line: str, times: int) -> None:
    assert dialect([line] * times).text == line * times


@pytest.mark.parametrize("dialect", CALLS)
@given(
    values=st.dictionaries(st.text("abc", min_size=1), st.text('abc"\\{}ü 1'), min_size=1, max_size=5),
    empty=st.sampled_from(["{}", "null", '""', "{}\n", " {} "]),
    is_first=st.booleans(),
    sizes=SIZES,
)
def test_an_empty_value_beside_arguments_is_left_out(
    dialect: Dialect, values: dict[str, str], empty: str, is_first: bool, sizes: list[int]
) -> None:
    text = json.dumps(values)
    parts = [empty, *cut(text, sizes)] if is_first else [*cut(text, sizes), empty]
    assert [call.arguments for call in dialect(parts).calls] == [text]


@pytest.mark.parametrize("dialect", CALLS)
@given(
    values=st.dictionaries(st.text("abc", min_size=1), st.text('abc"\\{}ü 1'), min_size=1, max_size=5),
    sizes=SIZES,
    is_at_once=st.booleans(),
)
def test_the_same_arguments_twice_are_one(
    dialect: Dialect, values: dict[str, str], sizes: list[int], is_at_once: bool
) -> None:
    text = json.dumps(values)
    parts = [text, text] if is_at_once else [*cut(text, sizes), text]
    assert [call.arguments for call in dialect(parts).calls] == [text]


@pytest.mark.parametrize("dialect", CALLS)
@given(
    values=st.dictionaries(st.text("abc", min_size=1), st.text("abcdefgh 12"), min_size=1, max_size=5),
    sizes=SIZES,
)
def test_cumulative_arguments_are_one(dialect: Dialect, values: dict[str, str], sizes: list[int]) -> None:
    text = json.dumps(values)
    assert [call.arguments for call in dialect(list(accumulate(cut(text, sizes)))).calls] == [text]


@pytest.mark.parametrize("dialect", CALLS)
@given(
    part=st.sampled_from(["ha", "{}", '{"path": ', "equal lines\n", '"', "\\", "ab "]),
    times=st.integers(1, 80),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
)
def test_arguments_that_repeat_themselves_are_never_shortened(
    dialect: Dialect, part: str, times: int, sizes: list[int]
) -> None:
    text = json.dumps({"content": part * times, "again": part * times})
    assert [call.arguments for call in dialect(cut(text, sizes)).calls] == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PATH + '{"path": "b.txt"}', ""),
        ('{"n": 1}{"n": true}', ""),
        ('{"a": 1, "b": 2}{"b": 2, "a": 1}', '{"a": 1, "b": 2}'),
        (json.dumps(PATH), PATH),
        (json.dumps(PATH) + "null", PATH),
        ("[]" + PATH, ""),
        (PATH + " and more", ""),
        ("null", "{}"),
        ('""', "{}"),
        ("{}{}", "{}"),
        ("", ""),
    ],
)
def test_which_values_are_arguments(text: str, expected: str) -> None:
    assert single_arguments(text) == expected
    assert unwrapped_arguments(text) == (expected or text)


def test_the_message_at_the_end_of_deltas_repeats_them() -> None:
    answer = chat(
        {"content": "Reading. ", "reasoning_content": "I read"},
        {"tool_calls": [{"index": 0, **CALL}]},
        message={
            "role": "assistant",
            "content": "Reading. ",
            "reasoning_content": "I read",
            "tool_calls": [CALL],
        },
        finish="tool_calls",
    )
    assert (answer.text, answer.reasoning) == ("Reading. ", "I read")
    assert [(call.id, call.arguments) for call in answer.calls] == [("call_a", PATH)]
    assert answer.verbatim is not None
    assert answer.verbatim["message"]["reasoning_content"] == "I read"


def test_the_message_at_the_end_repeats_several_calls_and_fields() -> None:
    second = {**CALL, "id": "call_b", "function": {"name": "read_file", "arguments": '{"path": "b.txt"}'}}
    details = [{"type": "reasoning.text", "text": "I read"}]
    answer = chat(
        {"tool_calls": [{"index": 0, **CALL}], "reasoning_details": details},
        {"tool_calls": [{"index": 1, **second}]},
        message={"content": None, "tool_calls": [CALL, second], "reasoning_details": details},
        finish="tool_calls",
    )
    assert [call.id for call in answer.calls] == ["call_a", "call_b"]
    assert answer.verbatim is not None
    assert answer.verbatim["message"]["reasoning_details"] == details


def test_the_message_at_the_end_repeats_calls_without_ids() -> None:
    piece = {"function": CALL["function"]}
    answer = chat(
        {"tool_calls": [{"index": 0, **piece}]}, message={"tool_calls": [piece]}, finish="tool_calls"
    )
    assert [call.arguments for call in answer.calls] == [PATH]


def test_a_message_at_the_end_that_says_something_else_is_added() -> None:
    answer = chat({"content": "Hello "}, message={"content": "world", "tool_calls": [CALL]})
    assert answer.text == "Hello world"
    assert [call.id for call in answer.calls] == ["call_a"]


def test_a_message_alone_is_the_answer() -> None:
    assert chat(message={"role": "assistant", "content": "haha"}).text == "haha"


@pytest.mark.parametrize("field", ["content", "refusal"])
def test_short_texts_in_the_message_at_the_end_count_once(field: str) -> None:
    assert chat({field: "No"}, {field: "."}, message={field: "No."}).text == "No."


def test_a_call_with_its_id_again_counts_once_in_each_dialect() -> None:
    block = {"type": "tool_use", "id": "call_a", "name": "read_file", "input": {"path": "a.txt"}}
    events = [*block_events(0, block, []), *block_events(1, dict(block), []), *MESSAGE_END]
    answer = read(MessagesAssembler("here", new_id(), {}), events)[0]
    assert [call.id for call in answer.calls] == ["call_a"]

    item = {"type": "function_call", "id": "fc", "call_id": "call_a", "name": "read_file", "arguments": PATH}
    ends: list[Chunk] = [
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        {"type": "response.completed", "response": {"output": [{**item, "id": "other"}]}},
    ]
    answer = read(ResponsesAssembler("here", "m", new_id()), ends)[0]
    assert [call.id for call in answer.calls] == ["call_a"]

    answer = chat({"tool_calls": [{"index": 0, **CALL}]}, {"tool_calls": [{"index": 1, **CALL}]})
    assert [call.id for call in answer.calls] == ["call_a"]


def test_equal_calls_with_ids_of_their_own_are_two() -> None:
    other = {**CALL, "id": "call_b"}
    answer = chat({"tool_calls": [{"index": 0, **CALL}]}, {"tool_calls": [{"index": 1, **other}]})
    assert [call.id for call in answer.calls] == ["call_a", "call_b"]


@pytest.mark.parametrize(
    ("opening", "deltas", "expected"),
    [
        ("Hello", ["Hel", "lo"], "Hello"),
        ("Hello", ["Hello"], "Hello"),
        ("Hello", [" world"], "Hello world"),
        ("Hello", ["Hel"], "HelloHel"),
        ("ha", ["ha", "ha"], "hahaha"),
        ("", ["Hello"], "Hello"),
    ],
)
@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_a_block_that_begins_with_its_text(kind: str, opening: str, deltas: list[str], expected: str) -> None:
    parts = [{"type": f"{kind}_delta", kind: delta} for delta in deltas]
    events = block_events(0, {"type": kind, kind: opening}, parts)
    events += block_events(1, {"type": "text", "text": "" if kind == "text" else "Done."}, [])
    answer, text, reasoning = read(MessagesAssembler("here", new_id(), {}), [*events, *MESSAGE_END])
    assert (answer.text if kind == "text" else answer.reasoning) == expected
    assert expected.startswith(text if kind == "text" else reasoning)


def test_a_signature_that_comes_twice_goes_back_once() -> None:
    block = {"type": "thinking", "thinking": "I read", "signature": "SIG"}
    deltas = [{"type": "signature_delta", "signature": "SIG"}]
    events = [*block_events(0, block, deltas), *block_events(1, {"type": "text", "text": "Yes."}, [])]
    answer = read(MessagesAssembler("here", new_id(), {}), [*events, *MESSAGE_END])[0]
    assert answer.verbatim is not None
    assert answer.verbatim["content"][0] == block


def thinking_in_messages(chunks: Sequence[str]) -> ModelResponse:
    deltas = [{"type": "thinking_delta", "thinking": chunk} for chunk in chunks]
    events = block_events(0, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
    events += block_events(1, {"type": "text", "text": "Yes."}, [])
    return read(MessagesAssembler("here", new_id(), {}), [*events, *MESSAGE_END])[0]


def reasoning_in_responses(chunks: Sequence[str], kind: str) -> ModelResponse:
    item = {"type": "reasoning", "id": "r1", "summary": []}
    place = {"output_index": 0, "item_id": "r1", "summary_index": 0, "content_index": 0}
    events: list[Chunk] = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    events += [{"type": f"response.{kind}.delta", "delta": chunk, **place} for chunk in chunks]
    text = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Yes."}]}
    events.append({"type": "response.output_item.done", "output_index": 1, "item": text})
    events.append({"type": "response.completed", "response": {"output": []}})
    return read(ResponsesAssembler("here", "m", new_id()), events)[0]


THOUGHTS: dict[str, Dialect] = {
    "chat": lambda chunks: chat(*({"reasoning_content": chunk} for chunk in chunks), {"content": "Yes."}),
    "messages": thinking_in_messages,
    "summary": lambda chunks: reasoning_in_responses(chunks, "reasoning_summary_text"),
    "reasoning": lambda chunks: reasoning_in_responses(chunks, "reasoning_text"),
}


@pytest.mark.parametrize("kind", THOUGHTS)
def test_reasoning_that_comes_again_counts_once(kind: str) -> None:
    pieces = cut(ANSWER, [7])
    for chunks in (list(accumulate(pieces)), [*pieces, ANSWER], pieces):
        answer = THOUGHTS[kind](chunks)
        assert (answer.reasoning, answer.text) == (ANSWER, "Yes.")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_cumulative_reasoning_goes_back_once(field: str) -> None:
    chunks = list(accumulate(cut(ANSWER, [7])))
    answer = chat(*({field: chunk} for chunk in chunks), {"content": "Yes."})
    assert answer.reasoning == ANSWER
    assert answer.verbatim is not None
    assert answer.verbatim["message"][field] == ANSWER


def test_what_is_displayed_of_a_cumulative_stream_is_the_answer() -> None:
    streamed = StreamedText()
    shown = [streamed.add(chunk) for chunk in accumulate(cut(ANSWER, [5]))]
    assert "".join(shown) == str(streamed) == ANSWER
    assert shown[0] == ANSWER[:5]


def test_an_item_of_responses_is_found_by_its_id_at_the_end() -> None:
    text = [{"type": "output_text", "text": "Hello world"}]
    item = {"type": "message", "id": "m1", "content": text}
    events: list[Chunk] = [
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "m1"}},
        {"type": "response.output_text.delta", "output_index": 1, "item_id": "m1", "delta": "Hello world"},
        {"type": "response.completed", "response": {"output": [item]}},
    ]
    answer = read(ResponsesAssembler("here", "m", new_id()), events)[0]
    assert answer.text == "Hello world"
    assert answer.verbatim is not None
    assert answer.verbatim["items"] == [item]


def test_a_cumulative_stream_keeps_the_bound_of_an_answer() -> None:
    start = ANSWER + "".join(f" {number}" for number in range(1_000))
    assembler = ChatAssembler("here", new_id())
    for size in (20, 40, 60, 5_000):
        assembler.add({"choices": [{"delta": {"content": start[:size]}}]})
    assembler.add({"choices": [{"delta": {"content": start + "x" * MAX_PART_BYTES}}]})
    assert assembler.bounds.reached == "text"
    assert len(assembler.answer().text) == MAX_PART_BYTES


@given(part=st.text(min_size=1, max_size=20), times=st.integers(2, 30), cut_off=st.integers(0, 19))
def test_a_repetition_is_one_however_it_is_cut(part: str, times: int, cut_off: int) -> None:
    assert is_repetition(part * times + part[: cut_off % len(part)])


@given(text=st.text("ab", max_size=40))
def test_a_repetition_has_a_part_that_follows_itself(text: str) -> None:
    periods = range(1, len(text) // 2 + 1)
    assert is_repetition(text) == any(text[size:] == text[:-size] for size in periods)
