"""Count the tokens of texts that differ in few lines: each line is counted once."""

from __future__ import annotations

import re
from collections.abc import Callable

from helix_desktop.providers.tiktoken_counter import MAX_CHUNK_CHARS
from helix_desktop.replay.message_tokens import MessageTokenCounter

MAX_LINES = 200_000
"""Number of counts that are remembered."""

_LINE_START = re.compile(r"(?<=\n)(?=[^\s/])")
"""Where a text can be cut without changing its tokens: no piece of the vocabulary's pattern goes on behind a
line break but with further white space, or with a slash behind punctuation."""


class LineTokenCounter(MessageTokenCounter):
    """A counter for the notes of many replays, which repeat the lines of each other."""

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__(count)
        self._of_lines: dict[str, int] = {}

    def text_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        if len(text) > MAX_CHUNK_CHARS:  # is cut elsewhere
            return self._count(text)
        return sum(map(self._line_tokens, _LINE_START.split(text)))

    def _line_tokens(self, line: str) -> int:
        tokens = self._of_lines.get(line)
        if tokens is None:
            if len(self._of_lines) >= MAX_LINES:
                self._of_lines.clear()
            tokens = self._of_lines[line] = self._count(line)
        return tokens
