"""Wherever the network cuts a stream, the answer is the same."""

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
from helix_desktop.providers.retry import RetryPolicy
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
    """Return the streamed items, and the answer."""
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
    assert "<Thought>a plan</thought>" in model.wire_request(request).body.decode()
