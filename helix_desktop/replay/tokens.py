"""The tokens of recorded messages, counted as their publishers count them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from helix_desktop.config.paths import resources_dir
from helix_desktop.context.message import Message
from helix_desktop.providers.token_counter import count_text, load_encoding

if TYPE_CHECKING:
    import tiktoken

FRAMING = 4
"""Tokens a message takes beside its text; each of its calls takes as many again."""

VOCABULARY = "o200k_base"


class MessageTokens:
    """Counts the messages of one recording: text, the calls' names and arguments, and framing.

    Each text is counted once, however often it is sent.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._counts: dict[str, int] = {}

    @classmethod
    def bundled(cls) -> MessageTokens:
        """With the bundled vocabulary. Raises HelixError when it is damaged."""
        encoding = _encoding()
        return cls(lambda text: count_text(encoding, text))

    def text(self, text: str) -> int:
        """The tokens of a text."""
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self._count(text)
        return found

    def message(self, message: Message) -> int:
        """The tokens of a message."""
        calls = sum(FRAMING + self.text(call.name) + self.text(call.arguments) for call in message.calls)
        return FRAMING + self.text(message.text) + calls

    def shared(self, former: Message, message: Message) -> int:
        """The tokens of the text with which both messages begin; 0 when their roles or calls differ."""
        if (former.role, former.call_id, former.name) != (message.role, message.call_id, message.name):
            return 0
        if former.text == message.text:
            return self.text(message.text)
        # Not through the cache: each such text is seen once.
        return min(self._count(_common(former.text, message.text)), self.text(message.text))


@cache
def _encoding() -> tiktoken.Encoding:
    """The vocabulary; building its tables takes about 0.4 s, once in a process."""
    return load_encoding(resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken")


def _common(one: str, other: str) -> str:
    """The text with which both begin, found by halving: comparing slices is as fast as memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]
