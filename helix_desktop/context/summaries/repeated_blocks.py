"""Blocks that the user repeats: what was pasted into several messages is said in full once, in the newest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

MIN_CHARS = 400  # of a block: a shorter one costs hardly more than the line in its place
_FIRST_CHARS = 60  # of a block, quoted in its place
_LINE = re.compile(r"^(?=[ \t]*\S)[^\n]{12}", re.MULTILINE)  # how the first line of a block begins
_MARK = "[Helix Desktop:"
_MARK_TOKENS = 30  # of the line in a block's place, the quoted words included
_REMEMBERED = 256  # weights of texts: each count of what is quoted asks for the same
_WORD_CHARS = 10  # of a word or number that is about one token
_LOOKALIKE = re.compile(rf"^(?=[ \t]*{re.escape(_MARK)})", re.MULTILINE)
_TOKENS = re.compile(r"[a-zA-Z]+|[0-9]+|[^\W\d_a-zA-Z]|[^\w\s]+|_")


class RepeatedBlock(msgspec.Struct, frozen=True):
    """Whole lines of a message that stand in full in the newer message of event `seq`."""

    text: str
    seq: int

    @property
    def mark(self) -> str:
        """The line in their place: the program's, not the user's."""
        first = self.text.strip().partition("\n")[0].strip()[:_FIRST_CHARS]
        return f'{_MARK} the same {len(self.text):,} characters as in e{self.seq}, from "{first}…" on]'


class QuotedBlocks:
    """What has been said in full, newest message first."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []
        self._places: dict[int, tuple[int, int]] = {}  # of a line's next characters, by their hash
        self._indexed = 0

    def split(self, text: str) -> list[str | RepeatedBlock]:
        """Return a message's text in parts of whole lines: what it says first, and what newer ones say."""
        if len(text) < MIN_CHARS:
            return [text]
        self._index()
        if not self._places:
            return [text]
        parts: list[str | RepeatedBlock] = []
        start, line = 0, _LINE.search(text)
        while line is not None:
            at, end = line.span()
            if (repeat := self._repeat_at(text, at)) is not None:
                if start < at:
                    parts.append(text[start:at])
                parts.append(repeat)
                start = end = at + len(repeat.text)
            line = _LINE.search(text, end)
        if start < len(text) or not parts:
            parts.append(text[start:])
        return parts

    def add(self, seq: int, parts: Sequence[str | RepeatedBlock]) -> None:
        """Add the parts that a message says in full."""
        self._texts += [(seq, part) for part in parts if isinstance(part, str) and len(part) >= MIN_CHARS]

    def _index(self) -> None:
        for number in range(self._indexed, len(self._texts)):
            text = self._texts[number][1]
            for line in _LINE.finditer(text):
                self._places.setdefault(_key(text, line.start()), (number, line.start()))
        self._indexed = len(self._texts)

    def _repeat_at(self, text: str, at: int) -> RepeatedBlock | None:
        """Return the block that begins with the line at `at`, if it is long enough."""
        place = self._places.get(_key(text, at))
        if place is None:
            return None
        seq, other = self._texts[place[0]]
        end = at + _common_chars(text, at, other, place[1])
        other_end = place[1] + end - at
        if text[end - 1 : end] != "\n":
            is_line = text[end : end + 1] in ("", "\n") and other[other_end : other_end + 1] in ("", "\n")
            end = min(end + 1, len(text)) if is_line else text.rfind("\n", at, end) + 1
        return RepeatedBlock(text[at:end], seq) if end - at >= MIN_CHARS else None


def _key(text: str, at: int) -> int:
    """Return what the lines from there on are found by."""
    return hash(text[at : at + MIN_CHARS])


def _common_chars(left: str, left_at: int, right: str, right_at: int) -> int:
    """Return how many characters are the same from there on, in time by their number."""
    max_size = min(len(left) - left_at, len(right) - right_at)

    def is_same(start: int, end: int) -> bool:
        return left[left_at + start : left_at + end] == right[right_at + start : right_at + end]

    low, step = 0, MIN_CHARS
    while low < max_size and is_same(low, min(low + step, max_size)):
        low, step = min(low + step, max_size), step * 2
    high = min(low + step, max_size)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_same(low, middle) else (low, middle)
    return low


def quoted_text(parts: Sequence[str | RepeatedBlock]) -> str:
    """Return a message, each repeat as a line of the program; lines of the user that look so are marked."""
    return "".join([_marked(part) if isinstance(part, str) else _line(part) for part in parts])


def _marked(text: str) -> str:
    return _LOOKALIKE.sub("| ", text) if _MARK in text else text


def _line(repeat: RepeatedBlock) -> str:
    return repeat.mark + ("\n" if repeat.text.endswith("\n") else "")


def quoted_tokens(parts: Sequence[str | RepeatedBlock], tokens: int) -> int:
    """Return about the tokens of a message of `tokens` with its repeats said elsewhere; at most `tokens`."""
    if len(parts) == 1 and isinstance(parts[0], str):  # as nearly always
        return tokens
    repeats = [part.text for part in parts if isinstance(part, RepeatedBlock)]
    if not repeats:
        return tokens
    weights = [_weight(part) for part in parts if isinstance(part, str)]
    repeated = sum(map(_weight, repeats))
    share = sum(weights) / max(1, sum(weights) + repeated)
    return min(tokens, round(tokens * share) + _MARK_TOKENS * len(repeats))


@lru_cache(maxsize=_REMEMBERED)
def _weight(text: str) -> int:
    """Return about how many tokens a text has, to share out the count of a message among its parts."""
    words = _TOKENS.findall(text)
    return len(words) + sum(len(word) - _WORD_CHARS for word in words if len(word) > _WORD_CHARS) // 3
