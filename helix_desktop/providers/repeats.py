"""Text and arguments that a server sends more than once: they count once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from helix_desktop.domain.answer_bounds import AnswerBounds, AnswerPart, TextBuffer

_LEAST_GROWN = 3
"""Chunks in a row that must begin with all before them, until a stream counts as cumulative."""
_LEAST_CUMULATIVE_CHARS = 40
_LEAST_REPEATED_CHARS = 20
"""Characters of a last chunk that repeats a text: models say shorter ones twice, as "ha"."""
_MAX_HELD_CHUNKS = 64
_MAX_HELD_CHARS = 131_072
"""What is held back at most; a longer text comes once more only where its server says that it is whole."""


class StreamedText:
    """A text that arrives in chunks, each of which has what is new, or all that came so far.

    A chunk that begins with all before it is held back until the next ones show which of both it is. A last
    chunk that equals the whole text is left out, and so are chunks that repeat the `opening` and no more.
    The text counts for `part` of an answer's `bounds`. It is true once some of it was returned.
    """

    def __init__(
        self, part: AnswerPart = "other", bounds: AnswerBounds | None = None, opening: str = ""
    ) -> None:
        self._part = part
        self._bounds = bounds
        self._taken = TextBuffer()
        self._size = 0  # characters of `_taken`
        self._chunks = 0  # of which it consists
        self._held: list[str] = []
        self._is_cumulative = False
        self._opening = self._take(opening)
        self._repeated = 0  # characters of the opening that came again, while nothing else has come

    def __bool__(self) -> bool:
        return bool(self._taken)

    def __str__(self) -> str:
        """Return the text as if no more came."""
        return str(self._taken) + self._rest()

    def add(self, chunk: str) -> str:
        """Add a chunk; return the text that certainly follows what was returned before."""
        if not chunk:
            return ""

        if self._opening and self._opening.startswith(chunk, self._repeated):
            self._repeated += len(chunk)
            return ""

        if self._opening:
            chunk = self._opening[: self._repeated] + chunk
            self._opening = ""

        if self._is_cumulative:
            return self._take(self._new_part(chunk))

        if self._held:
            return self._add_behind_held(chunk)

        if 0 < self._size <= len(chunk) <= _MAX_HELD_CHARS and chunk.startswith(str(self._taken)):
            self._held = [chunk]
            return ""

        return self._take(chunk)

    def add_whole(self, whole: str) -> str:
        """Add what may be all of the text once more; return what is new: all of it, if it is not."""
        if whole == str(self) or whole in self._held[-1:]:
            return self.extend_to(whole)

        rest = self._rest()
        return self._release(rest) + self._take(whole)

    def extend_to(self, whole: str) -> str:
        """Take the whole text as its server says it at the end; return what was missing.

        A text that does not begin with what was returned changes nothing.
        """
        if not whole.startswith(str(self._taken)):
            return ""
        return self._release(whole[self._size :])

    def _add_behind_held(self, chunk: str) -> str:
        if not chunk.startswith(self._held[-1]) or self._is_full(chunk):
            return self._release("".join(self._held)) + self.add(chunk)

        self._held.append(chunk)
        if not self._grows():
            return ""

        self._is_cumulative = True
        return self._release(self._new_part(chunk))

    def _is_full(self, chunk: str) -> bool:
        """Return True if no more chunks are held back: too much, or the same one again and again."""
        equal = sum(former == later for former, later in zip(self._held, self._held[1:], strict=False))
        chars = sum(map(len, self._held)) + len(chunk)
        return equal > 1 or len(self._held) >= _MAX_HELD_CHUNKS or chars > _MAX_HELD_CHARS

    def _grows(self) -> bool:
        newest = self._held[-1]
        former = [str(self._taken), *self._held[:-1]]
        grown = sum(len(later) > len(before) for before, later in zip(former, self._held, strict=True))
        return grown >= _LEAST_GROWN and len(newest) >= _LEAST_CUMULATIVE_CHARS and not is_repetition(newest)

    def _new_part(self, chunk: str) -> str:
        """Return what a chunk of a cumulative stream adds; all of it if it doesn't begin as the others do."""
        return chunk.removeprefix(str(self._taken)) if len(chunk) >= self._size else chunk

    def _rest(self) -> str:
        """Return what is held back and belongs to the text if no more comes."""
        if self._opening:
            is_whole_again = self._repeated == len(self._opening)
            return "" if is_whole_again else self._opening[: self._repeated]

        if len(self._held) != 1:
            return "".join(self._held)

        last = self._held[0]
        is_long = len(last) >= _LEAST_REPEATED_CHARS and self._chunks > 1
        return "" if is_long and last == str(self._taken) and not is_repetition(last) else last

    def _release(self, text: str) -> str:
        self._held = []
        self._opening = ""
        return self._take(text)

    def _take(self, text: str) -> str:
        if not text:
            return ""

        taken = text if self._bounds is None else self._bounds.take(self._part, text)
        self._taken.add(taken)
        self._size += len(taken)
        self._chunks += 1
        return taken


class StreamedArguments(StreamedText):
    """The arguments of a call while they arrive."""

    def _rest(self) -> str:
        """Return what belongs to them: that of the newest chunk, where it has them all and they end there."""
        rest = super()._rest()
        if not self._held or single_arguments(str(self._taken) + rest):
            return rest

        newest = self._held[-1]
        return newest.removeprefix(str(self._taken)) if single_arguments(newest) else rest


def is_repetition(text: str) -> bool:
    """Return True if a text is one part that follows itself at least twice, perhaps cut at its end."""
    half = len(text) // 2
    start = text[:half]
    period = text.find(start, 1)
    while 0 < period <= half:
        if text.startswith(text[period:]):
            return True
        period = text.find(start, period + 1)
    return False


def single_arguments(text: str) -> str:
    """Return the one object of arguments that a text has, as it was written; "" if it is something else.

    Servers write `{}`, `null` or `""` before it or behind it, the same object twice, or all of it as a text.
    """
    objects: dict[str, str] = {}  # as it was written, by what it says
    try:
        for value, source in _json_values(text):
            is_text = isinstance(value, str) and value != ""
            inner = json.loads(value) if is_text else value
            if isinstance(inner, dict):
                objects.setdefault(_canonical(inner), value if is_text else source)
            elif inner not in (None, ""):
                return ""
    except (ValueError, RecursionError):
        return ""

    filled = {said: source for said, source in objects.items() if said != "{}"}
    if len(filled) > 1:
        return ""
    return next(iter(filled.values()), "{}" if text.strip() else "")


def is_same_arguments(one: str, other: str) -> bool:
    """Return True if two texts say the same arguments."""
    if one == other:
        return True
    first = single_arguments(one)
    second = single_arguments(other)
    return bool(first and second) and _canonical(json.loads(first)) == _canonical(json.loads(second))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _json_values(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the values of JSON that follow each other in a text, each with its source.

    Raises ValueError if there is anything else.
    """
    decoder = json.JSONDecoder()
    rest = text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value, rest[:end]
        rest = rest[end:].lstrip()
