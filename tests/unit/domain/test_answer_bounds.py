"""What one answer may hold, and text that grows by pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.answer_bounds import (
    MAX_CALLS,
    MAX_PART_BYTES,
    AnswerBounds,
    TextBuffer,
    byte_size,
)


@given(st.lists(st.text(max_size=5), max_size=50), st.integers(0, 50))
def test_a_buffer_holds_what_was_added(pieces: list[str], read_at: int) -> None:
    """Also if it is read while it grows, and if it has many more pieces than are joined at once."""
    buffer = TextBuffer()
    for number, piece in enumerate(pieces * 60):
        buffer.add(piece)
        if number == read_at:
            assert str(buffer) == "".join((pieces * 60)[: number + 1])
    assert str(buffer) == "".join(pieces * 60)
    assert bool(buffer) == bool(str(buffer))
    assert len(buffer) == len(str(buffer))
    buffer.clear()
    assert not buffer
    assert len(buffer) == 0


@given(st.text(min_size=1, max_size=4), st.integers(1, 9))
def test_a_part_takes_as_many_bytes_as_it_may_and_whole_characters(word: str, left: int) -> None:
    bounds = AnswerBounds()
    assert bounds.take("text", "x" * (MAX_PART_BYTES - left)) == "x" * (MAX_PART_BYTES - left)
    taken = bounds.take("text", word)
    assert word.startswith(taken)
    assert byte_size(taken) <= left
    is_over = byte_size(word) > left
    assert bounds.reached == ("text" if is_over else "")
    assert (taken == word) == (not is_over)


def _reached(bounds: AnswerBounds) -> str:
    return bounds.reached


def test_each_part_has_its_own_bound_and_the_first_that_is_passed_ends_all() -> None:
    bounds = AnswerBounds()
    full = "x" * MAX_PART_BYTES
    assert bounds.take("text", full) == full
    assert bounds.take("reasoning", full) == full
    assert bounds.take_other(MAX_PART_BYTES)
    assert bounds.take("arguments", full) == full
    assert _reached(bounds) == ""
    assert bounds.take("arguments", "y") == ""
    assert _reached(bounds) == "arguments"
    assert not bounds.take_other(1)
    assert not bounds.take_call()
    assert _reached(bounds) == "arguments"


def test_calls_are_counted() -> None:
    bounds = AnswerBounds()
    assert all(bounds.take_call() for _ in range(MAX_CALLS))
    assert not bounds.take_call()
    assert bounds.reached == "calls"
