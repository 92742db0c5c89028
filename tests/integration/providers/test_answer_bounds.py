"""Answers that are too long, from a real local server, in every dialect: they end, and what came is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from helix_desktop.domain.answer_bounds import MAX_CALLS, MAX_PART_BYTES, AnswerBound
from helix_desktop.domain.errors import InvalidModelResponse
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ModelResponse, TextDelta
from helix_desktop.providers.http import HttpClient
from helix_desktop.store.kinds import MAX_VALUE_BYTES, encode_payload
from tests.support.model_contract import collect_stream, final_response
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Raw,
    Reasoning,
    Reply,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

MB = 1024 * 1024
INFO = ModelInfo("local", "small")
QUESTION = ModelRequest((Message("user", "How many?"),))
LONG = "All work and no play makes Jack a dull boy. " * 20_000
ENDLESS = 100_000
"""So many pieces of 0.9 MB that no test would end with them."""


@pytest.fixture(params=DIALECTS, ids=lambda case: case.name)
def dialect(request: pytest.FixtureRequest) -> DialectCase:
    case: DialectCase = request.param
    return case


async def _answers(dialect: DialectCase, http: HttpClient, *replies: Reply) -> list[ModelResponse]:
    """Return an answer for each reply, one after the other from one model; fail if one was asked again."""
    sleeps = SleepRecorder()
    async with AsyncExitStack() as closings:
        script = replies_in_order(*replies)
        server = await closings.enter_async_context(ChatServer(script, wire_format=dialect.wire_format))
        model = dialect.model(server, http, sleeps.retry_policy, INFO)
        async with asyncio.timeout(120):
            answers = [await final_response(model, QUESTION) for _ in replies]
    assert sleeps.durations_s == []
    return answers


def _require_ended(answer: ModelResponse, bound: AnswerBound) -> None:
    assert (answer.stop, answer.bound) == ("length", bound)
    size = len(encode_payload(answer, None)[0])
    assert size < MAX_VALUE_BYTES, "the store takes it"


async def test_an_endless_text_ends_and_the_next_answer_is_whole(
    dialect: DialectCase, http: HttpClient
) -> None:
    endless = StreamedReply(*[Text(LONG)] * ENDLESS)
    answer, following = await _answers(dialect, http, endless, text_reply("ok"))
    _require_ended(answer, "text")
    assert len(answer.text) == MAX_PART_BYTES
    assert answer.text.startswith(LONG)
    assert (following.text, following.stop, following.bound) == ("ok", "end", "")


async def test_what_is_shown_is_what_is_kept(dialect: DialectCase, http: HttpClient) -> None:
    reply = StreamedReply(*[Text(LONG)] * 20)
    async with ChatServer(replies_in_order(reply), wire_format=dialect.wire_format) as server:
        arrivals = await collect_stream(
            dialect.model(server, http, SleepRecorder().retry_policy, INFO), QUESTION
        )
    *deltas, answer = arrivals
    assert isinstance(answer, ModelResponse)
    shown = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    is_same = shown == answer.text
    assert is_same


async def test_a_long_answer_below_the_bound_is_whole(dialect: DialectCase, http: HttpClient) -> None:
    pieces = [Text(LONG)] * 5
    (answer,) = await _answers(dialect, http, StreamedReply(*pieces))
    assert (answer.stop, answer.bound) == ("end", "")
    assert len(answer.text) == 5 * len(LONG)


async def test_reasoning_ends_behind_a_text(dialect: DialectCase, http: HttpClient) -> None:
    (answer,) = await _answers(
        dialect, http, StreamedReply(Text("First."), *[Reasoning(LONG)] * ENDLESS, Text("Never."))
    )
    _require_ended(answer, "reasoning")
    assert answer.text == "First."
    assert len(answer.reasoning) == MAX_PART_BYTES


async def test_endless_reasoning_alone_is_an_error_that_says_so(
    dialect: DialectCase, http: HttpClient
) -> None:
    with pytest.raises(InvalidModelResponse, match=r"too long.*reasoning has more than 8\.0 MB"):
        await _answers(dialect, http, StreamedReply(*[Reasoning(LONG)] * ENDLESS))


async def test_a_call_with_cut_arguments_is_named_and_those_before_are_whole(
    dialect: DialectCase, http: HttpClient
) -> None:
    small = Call("read_file", '{"path":"a.txt"}', "c1")
    arguments = json.dumps({"path": "b.txt", "content": LONG * 70})
    large = Call("write_file", arguments, "c2", piece_length=MB)
    (answer,) = await _answers(dialect, http, StreamedReply(small, large, Text("Never.")))
    _require_ended(answer, "arguments")
    assert [call.id for call in answer.calls] == ["c1", "c2"]
    assert answer.cut_calls == ("c2",)
    assert answer.calls[0].arguments == small.arguments
    assert sum(len(call.arguments) for call in answer.calls) == MAX_PART_BYTES
    is_beginning = arguments.startswith(answer.calls[1].arguments)
    assert is_beginning


async def test_an_answer_has_so_many_calls_and_no_more(dialect: DialectCase, http: HttpClient) -> None:
    def calls(count: int) -> Sequence[Call]:
        return [Call("read_file", f'{{"path":"{number}.txt"}}', f"c{number}") for number in range(count)]

    whole, cut = await _answers(
        dialect, http, StreamedReply(*calls(MAX_CALLS)), StreamedReply(*calls(10_000))
    )
    assert (whole.stop, whole.bound, len(whole.calls)) == ("calls", "", MAX_CALLS)
    _require_ended(cut, "calls")
    assert len(cut.calls) == MAX_CALLS
    assert cut.cut_calls == ()
    assert cut.calls == whole.calls


async def test_a_line_that_never_ends_ends_the_answer(dialect: DialectCase, http: HttpClient) -> None:
    line = Raw(b'data: {"x": "' + b"x" * MB)
    more = Raw(b"x" * MB)
    (answer,) = await _answers(dialect, http, StreamedReply(Text("First."), line, *[more] * 10_000))
    _require_ended(answer, "other")
    assert answer.text == "First."
