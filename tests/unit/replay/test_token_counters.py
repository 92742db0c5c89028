"""Tokens of lines, and what a replay sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.window.provider_cache import CachePrices
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay import token_counters
from helix_desktop.replay.billing import RequestTotals, SharedTokens
from helix_desktop.replay.token_counters import LineTokenCounter, MessageTokenCounter

BREAKS = ["\n", "\r\n", "\n\n", " ", "\t", "\x1c", "\u2028", "\u00a0"]
PIECES = st.sampled_from([*BREAKS, "/", "./a", "word", "Wort's", "'s", "12345", ")", "#!", "é", "漢"])


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_lines_add_up_to_the_text(text: str) -> None:
    by_lines = LineTokenCounter.bundled()
    whole = MessageTokenCounter.bundled()
    with pytest.MonkeyPatch.context() as patch:
        for long_line in (0, token_counters.LONG_LINE):
            patch.setattr(token_counters, "LONG_LINE", long_line)
            assert by_lines.text_tokens(text) == whole.text_tokens(text)


SYSTEM = Message("system", "s" * 6)  # 10 tokens with its framing
USER_MESSAGE = Message("user", "u" * 16)  # 20
CALLED = Message("assistant", "", (ToolCall("c", "read", "{}"),))  # 4 + 4 + 4 + 2 = 14
OUTPUT = Message("tool", "o" * 96, call_id="c", name="read")  # 100
MARKED = Message("tool", "oooo" + "m" * 22, call_id="c", name="read")  # 30, of them 4 as before


def sending(window: int = 140) -> RequestTotals:
    return RequestTotals(MessageTokenCounter(len), window)


def test_a_message_counts_text_calls_and_framing() -> None:
    tokens = MessageTokenCounter(len)
    assert [tokens.message_tokens(message) for message in (SYSTEM, USER_MESSAGE, CALLED, OUTPUT, MARKED)] == [
        10,
        20,
        14,
        100,
        30,
    ]


def test_the_bundled_vocabulary_counts() -> None:
    tokens = MessageTokenCounter.bundled()
    assert tokens.message_tokens(Message("user", "hello world")) == 4 + 2
    call = ToolCall("c", "read_file", '{"path": "a"}')
    assert tokens.message_tokens(Message("assistant", "", (call,))) == 4 + 4 + 2 + 6
    assert tokens.text_tokens(" " * 300_000) > 0  # more at once than the tokenizer can handle


def test_the_growing_prefix_is_cached_and_new_text_is_written() -> None:
    sums = sending()
    sums.add([SYSTEM, USER_MESSAGE])  # 30 new
    sums.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])  # 30 known, 114 new
    sums.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])  # 144 known
    sent = sums.result([])
    assert (sent.requests, sent.input_tokens) == (3, 30 + 144 + 144)
    assert sent.billed == pytest.approx(1.25 * (30 + 114) + 0.1 * (30 + 144))
    assert sent.mean_window == 106
    assert (sent.peak_window, sent.over_window, sent.rewrites) == (144, 2, 0)
    assert sent.tool_tokens == 96 + 96


def test_the_prices_of_the_model_hold() -> None:
    """A provider that takes nothing for storing bills new input as it is."""
    sums = RequestTotals(MessageTokenCounter(len), 140, prices=CachePrices(read=0.25, write=1.0))
    sums.add([SYSTEM, USER_MESSAGE])
    sums.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])
    assert sums.result([7]).billed == pytest.approx(30 + 114 + 0.25 * 30 + 7)


def test_a_rewrite_is_paid_from_the_first_difference() -> None:
    sums = sending()
    sums.add([SYSTEM, USER_MESSAGE, CALLED, OUTPUT])  # 144 new
    # 44 known by message, 4 more by text, 94 in all
    assert sums.add([SYSTEM, USER_MESSAGE, CALLED, MARKED, USER_MESSAGE]) == SharedTokens(44, 48)
    sent = sums.result([50, 7])
    assert sent.rewrites == 1
    assert sent.billed == pytest.approx(1.25 * (144 + 46) + 0.1 * 48 + 57)
    assert sent.tool_tokens == 96 + 26


@pytest.mark.parametrize(
    ("previous", "now", "shared"),
    [
        (Message("user", "abcd"), Message("user", "abxd"), 2),
        (Message("user", "abcd"), Message("user", "abcdef"), 4),
        (Message("user", "abcd"), Message("user", ""), 0),
        (Message("user", "abcd"), Message("assistant", "abcd"), 0),
        (OUTPUT, Message("tool", OUTPUT.text, call_id="d", name="read"), 0),
        (CALLED, Message("assistant", ""), 0),
        (Message("assistant", "abc", CALLED.calls), Message("assistant", "abc"), 3),
    ],
)
def test_the_common_prefix(previous: Message, now: Message, shared: int) -> None:
    assert MessageTokenCounter(len).shared_tokens(previous, now) == shared


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_the_common_prefix_is_the_longest(first: str, other: str) -> None:
    shared = MessageTokenCounter(len).shared_tokens(Message("user", first), Message("user", other))
    assert first[:shared] == other[:shared]
    assert first[shared : shared + 1] != other[shared : shared + 1] or first == other
