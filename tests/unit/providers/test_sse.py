"""Server-sent events are parsed the same however the network cut the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.streaming import EventTooLarge, SseEvent, SseParser


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
