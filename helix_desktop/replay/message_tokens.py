"""The tokens of recorded messages, counted as their publishers count them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.messages import Message
from helix_desktop.providers.tiktoken_counter import count_text, load_encoding

if TYPE_CHECKING:
    import tiktoken

FRAMING_TOKENS = 4
"""Tokens a message takes beside its text; each of its calls takes as many again."""

VOCABULARY = "o200k_base"


class MessageTokenCounter:
    """Counts the messages of one recording: text, the calls' names and arguments, and framing.

    Each text is counted once, however often it is sent.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._counts: dict[str, int] = {}

    @classmethod
    def bundled(cls) -> MessageTokenCounter:
        """With the bundled vocabulary. Raises HelixError when it is damaged."""
        encoding = _encoding()
        return cls(lambda text: count_text(encoding, text))

    def text_tokens(self, text: str) -> int:
        """The tokens of a text."""
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self._count(text)
        return found

    def message_tokens(self, message: Message) -> int:
        """The tokens of a message."""
        calls = sum(
            FRAMING_TOKENS + self.text_tokens(call.name) + self.text_tokens(call.arguments)
            for call in message.calls
        )
        return FRAMING_TOKENS + self.text_tokens(message.text) + calls

    def shared_tokens(self, previous: Message, message: Message) -> int:
        """The tokens of the text with which both messages begin; 0 when their roles or calls differ."""
        if (previous.role, previous.call_id, previous.name) != (message.role, message.call_id, message.name):
            return 0
        if previous.text == message.text:
            return self.text_tokens(message.text)
        # Not through the cache: each such text is seen once.
        return min(self._count(_common_prefix(previous.text, message.text)), self.text_tokens(message.text))


@cache
def _encoding() -> tiktoken.Encoding:
    """The vocabulary; building its tables takes about 0.4 s, once in a process."""
    return load_encoding(resources_dir() / "tokenizers" / f"{VOCABULARY}.tiktoken")


def _common_prefix(first: str, second: str) -> str:
    """The text with which both begin, found by halving: comparing slices is as fast as memory."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]
