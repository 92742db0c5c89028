"""Count the tokens of texts that differ in few lines: each line is counted once, a long one by its words."""

from __future__ import annotations

import re
from collections.abc import Callable

from helix_desktop.domain.text_format import MAX_CHUNK_CHARS
from helix_desktop.replay.message_tokens import MessageTokenCounter

MAX_LINES = MAX_WORDS = 200_000
"""Number of counts that are remembered."""

LONG_LINE = 500
"""Characters of a line from which it is counted by its words: most are names, never again the same ones."""

_LINE_START = re.compile(r"(?<=\n)(?=[^\s/])")
"""Where a text can be cut without changing its tokens: no piece of the vocabulary's pattern goes on behind a
line break but with further white space, or with a slash behind punctuation."""


class LineTokenCounter(MessageTokenCounter):
    """A counter for the notes of many replays, which repeat the lines of each other."""

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        super().__init__(count_tokens)
        self._of_lines: dict[str, int] = {}
        self._of_words = _WordTokens(count_tokens)
        self._newest_long = "", 0  # a summary's input is counted before it is sent, and when it is

    def text_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        tokens = self._of_lines.get(text)
        if tokens is not None:
            return tokens
        if len(text) > MAX_CHUNK_CHARS:  # is cut elsewhere
            if text != self._newest_long[0]:
                self._newest_long = text, self._count(text)
            return self._newest_long[1]
        return sum(map(self._line_tokens, _LINE_START.split(text)))

    def _line_tokens(self, line: str) -> int:
        tokens = self._of_lines.get(line)
        if tokens is not None:
            return tokens
        words = _words_of_long(line) if len(line) >= LONG_LINE else []
        if words:
            return self._count(words[0]) + sum(map(self._of_words.__getitem__, words[1:]))
        if len(self._of_lines) >= MAX_LINES:
            self._of_lines.clear()
        tokens = self._of_lines[line] = self._count(line)
        return tokens


def _words_of_long(line: str) -> list[str]:
    """Return the words of a line, the last with its line break; none unless single spaces separate them.

    Such a space always begins a piece of the vocabulary's pattern, so that the words' tokens add up.
    """
    words, end = line.split(), line[len(line.rstrip("\n")) :]
    if not words or " ".join(words) + end != line:
        return []
    words[-1] += end
    return words


class _WordTokens(dict[str, int]):
    """The tokens of words, each with the space before it."""

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count_tokens

    def __missing__(self, word: str) -> int:
        """Count a word."""
        if len(self) >= MAX_WORDS:
            self.clear()
        tokens = self[word] = self._count(f" {word}")
        return tokens
