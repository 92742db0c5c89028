"""Count the tokens of a replay, of texts and messages, and sum up what it sends, request by request."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Self

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.messages import Message
from helix_desktop.domain.text_format import MAX_CHUNK_CHARS
from helix_desktop.providers.tiktoken_counter import VOCABULARY, count_text, load_encoding

if TYPE_CHECKING:
    import tiktoken


FRAMING_TOKENS = 4
"""Tokens per message in addition to its text; each of its calls adds the same number again."""


class MessageTokenCounter:
    """A counter for one recording: texts, and messages with names and arguments of calls, and framing.

    Each text is counted once, however often it is sent.
    """

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count = count_tokens
        self._counts: dict[str, int] = {}

    @classmethod
    def bundled(cls) -> Self:
        """Create a counter with the bundled vocabulary. Raises HelixError if the vocabulary is damaged."""
        encoding = _encoding()
        return cls(lambda text: count_text(encoding, text))

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, computed on the calling thread."""
        return [self.text_tokens(text) for text in texts]

    def text_tokens(self, text: str) -> int:
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._counts[text] = self._count(text)
        return tokens

    def message_tokens(self, message: Message) -> int:
        calls = sum(
            FRAMING_TOKENS + self.text_tokens(call.name) + self.text_tokens(call.arguments)
            for call in message.calls
        )
        return FRAMING_TOKENS + self.text_tokens(message.text) + calls

    def shared_tokens(self, previous: Message, message: Message) -> int:
        """Return the tokens of the common text prefix of two messages; 0 if their roles or calls differ."""
        if (previous.role, previous.call_id, previous.name) != (message.role, message.call_id, message.name):
            return 0
        if previous.text == message.text:
            return self.text_tokens(message.text)
        # Not through the cache: each such text is seen once.
        return min(self._count(_common_prefix(previous.text, message.text)), self.text_tokens(message.text))


@cache
def _encoding() -> tiktoken.Encoding:
    """Load the vocabulary; building its tables takes about 0.4 s, once per process."""
    return load_encoding(resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken")


def _common_prefix(first: str, second: str) -> str:
    """Return the common prefix by binary search: comparing slices runs at memory speed."""
    low = 0
    high = min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


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
    words = line.split()
    end = line[len(line.rstrip("\n")) :]
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
        if len(self) >= MAX_WORDS:
            self.clear()
        tokens = self[word] = self._count(f" {word}")
        return tokens
