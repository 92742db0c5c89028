"""How much one answer of a model may hold; what is over ends it. Text that grows by very many pieces."""

from __future__ import annotations

from typing import Literal

AnswerPart = Literal["text", "reasoning", "arguments", "calls", "other"]
"""`other`: what belongs to none of the first four, as signatures and fields that only its server knows."""
AnswerBound = AnswerPart | Literal[""]
"""The bound of ours that ended an answer; empty: none did."""

MAX_PART_BYTES = 8 * 1024 * 1024
"""The most bytes of an answer's text, of its reasoning, of all its calls' arguments, and of the rest of it.

Two million tokens, more than any window holds. An event with all of it, and with the same once more as its
server wants it back, is still smaller than the store's limit.
"""
MAX_CALLS = 256
"""The most tool calls of one answer."""


class AnswerBounds:
    """Counts the parts of one answer as they arrive. `reached` is the first bound that was passed."""

    def __init__(self) -> None:
        self.reached: AnswerBound = ""
        self._bytes: dict[AnswerPart, int] = {}
        self._calls = 0

    def take(self, part: AnswerPart, text: str) -> str:
        """Return what still fits of more text of a part; nothing once a bound was reached."""
        if self.reached:
            return ""
        left = MAX_PART_BYTES - self._bytes.get(part, 0)
        size = byte_size(text)
        if size > left:
            self.reached = part
            text = text.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
        self._bytes[part] = self._bytes.get(part, 0) + size
        return text

    def take_other(self, size: int) -> bool:
        """Count so many bytes of what is no text of the answer. Return False if they are too many."""
        self._bytes["other"] = self._bytes.get("other", 0) + max(0, size)
        if not self.reached and self._bytes["other"] > MAX_PART_BYTES:
            self.reached = "other"
        return not self.reached

    def take_call(self) -> bool:
        """Count one more call. Return False if it is too many."""
        self._calls += 1
        if not self.reached and self._calls > MAX_CALLS:
            self.reached = "calls"
        return not self.reached


def byte_size(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_MAX_PIECES = 1024


class TextBuffer:
    """A text that grows by pieces. To add one costs the same however long the text is.

    Pieces are joined a thousand at a time: as strings of their own, those of a long answer would take ten
    times the memory of its text.
    """

    def __init__(self, text: str = "") -> None:
        self._joined = [text] if text else []
        self._pieces: list[str] = []
        self._chars = len(text)

    def __len__(self) -> int:
        return self._chars

    def __bool__(self) -> bool:
        return bool(self._joined or self._pieces)

    def __str__(self) -> str:
        if self._pieces or len(self._joined) > 1:
            self._joined = ["".join([*self._joined, *self._pieces])]
            self._pieces = []
        return self._joined[0] if self._joined else ""

    def add(self, text: str) -> None:
        if not text:
            return
        self._chars += len(text)
        self._pieces.append(text)
        if len(self._pieces) >= _MAX_PIECES:
            self._joined.append("".join(self._pieces))
            self._pieces = []

    def clear(self) -> None:
        self._joined = []
        self._pieces = []
        self._chars = 0
