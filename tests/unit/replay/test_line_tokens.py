"""Texts counted by lines have the tokens of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.replay import token_counters
from helix_desktop.replay.token_counters import LineTokenCounter, MessageTokenCounter

BREAKS = ["\n", "\r\n", "\n\n", " ", "\t", "\x1c", "\u2028", "\u00a0"]
PIECES = st.sampled_from([*BREAKS, "/", "./a", "word", "Wort's", "'s", "12345", ")", "#!", "é", "漢"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_lines_add_up_to_the_text(text: str) -> None:
    by_lines, whole = LineTokenCounter.bundled(), MessageTokenCounter.bundled()
    with pytest.MonkeyPatch.context() as patch:
        for long_line in (0, token_counters.LONG_LINE):
            patch.setattr(token_counters, "LONG_LINE", long_line)
            assert by_lines.text_tokens(text) == whole.text_tokens(text)
