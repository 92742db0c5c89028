"""Texts counted by lines have the tokens of the whole text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.replay.policy.line_tokens import LineTokenCounter

BY_LINES, WHOLE = LineTokenCounter.bundled(), MessageTokenCounter.bundled()
BREAKS = ["\n", "\r\n", "\n\n", " ", "\t", "\x1c", "\u2028", "\u00a0"]
PIECES = st.sampled_from([*BREAKS, "/", "./a", "word", "Wort's", "'s", "12345", ")", "#!", "é", "漢"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_lines_add_up_to_the_text(text: str) -> None:
    assert BY_LINES.text_tokens(text) == WHOLE.text_tokens(text)
