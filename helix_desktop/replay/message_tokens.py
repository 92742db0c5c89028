"""Count the tokens of a replay: of texts as live, of messages as the publishers of the recordings do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Self

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.messages import Message
from helix_desktop.providers.tiktoken_counter import count_text, load_encoding

if TYPE_CHECKING:
    import tiktoken

FRAMING_TOKENS = 4
"""Tokens per message in addition to its text; each of its calls adds the same number again."""

VOCABULARY = "o200k_base"


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
        """Return the number of tokens of a text."""
        tokens = self._counts.get(text)
        if tokens is None:
            tokens = self._counts[text] = self._count(text)
        return tokens

    def message_tokens(self, message: Message) -> int:
        """Return the number of tokens of a message."""
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
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]
