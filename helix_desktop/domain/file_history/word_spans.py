"""Which words differ between lines that were changed: pairs of similar lines, and the spans in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from helix_desktop.domain.file_history.line_match import matching_blocks

Span = tuple[int, int]
"""Characters of a line: the first one, and the one behind the last."""

_TOKEN = re.compile(r"\w+|\s+|[-+*/%&|^~<>=!:.]+|[^\w\s]")
_MAX_LINE = 2_000  # characters; of longer lines only the beginning and the end that are the same are found
_MAX_PAIRS = 900  # pairs of lines of one group that are compared; about 1 ms
_MIN_SIMILAR = 0.4  # of the characters of both lines; below it, words that are the same are chance


class SpanBudget:
    """How many pairs of lines and characters may be compared for one file."""

    def __init__(self) -> None:
        self.pairs, self.characters = 30_000, 300_000


class _Line(NamedTuple):
    words: frozenset[str]
    weight: int


class ComparedLines(NamedTuple):
    """A removed and an added line that are similar, by their numbers from 0, and what differs in each."""

    old: int
    new: int
    old_spans: tuple[Span, ...]
    new_spans: tuple[Span, ...]


def compare_words(removed: Sequence[str], added: Sequence[str], budget: SpanBudget) -> list[ComparedLines]:
    """Return which removed lines became which added ones, in order, and the words that differ."""
    compared: list[ComparedLines] = []
    for old, new in _pairs(removed, added, budget):
        size = len(removed[old]) + len(added[new])
        if budget.characters < size:
            break
        budget.characters -= size
        spans = _differences(removed[old], added[new])
        if spans is not None:
            compared.append(ComparedLines(old, new, *spans))
    return compared


def _pairs(removed: Sequence[str], added: Sequence[str], budget: SpanBudget) -> list[tuple[int, int]]:
    """Return which removed line became which added one, in order."""
    count = len(removed) * len(added)
    if not count or count > min(_MAX_PAIRS, budget.pairs):
        return list(enumerate(range(len(added)))) if len(removed) == len(added) else []
    budget.pairs -= count
    old, new = [_line(text) for text in removed], [_line(text) for text in added]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for at in range(len(old) - 1, -1, -1):
        for to in range(len(new) - 1, -1, -1):
            paired = _similarity(old[at], new[to]) + best[at + 1][to + 1]
            best[at][to] = max(paired, best[at + 1][to], best[at][to + 1])
    pairs = []
    at = to = 0
    while at < len(old) and to < len(new):
        if best[at][to] == best[at + 1][to]:
            at += 1
        elif best[at][to] == best[at][to + 1]:
            to += 1
        else:
            pairs.append((at, to))
            at, to = at + 1, to + 1
    return pairs


def _line(text: str) -> _Line:
    words = frozenset(token for token in _TOKEN.findall(text[:_MAX_LINE]) if not token.isspace())
    return _Line(words, sum(map(len, words)))


def _similarity(old: _Line, new: _Line) -> float:
    """Return 0 for lines that are not similar, up to 1 for the same words."""
    if not old.weight or not new.weight:
        return 0.01 if old.weight == new.weight else 0.0
    same = 2 * sum(map(len, old.words & new.words)) / (old.weight + new.weight)
    return same if same >= _MIN_SIMILAR else 0.0


def _differences(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]] | None:
    if max(len(old), len(new)) > _MAX_LINE:
        return _middle(old, new)
    old_tokens, new_tokens = _TOKEN.findall(old), _TOKEN.findall(new)
    blocks = matching_blocks(old_tokens, new_tokens)
    same = sum(len("".join(old_tokens[at : at + size]).strip()) for at, _, size in blocks)
    weight = len("".join(old.split())) + len("".join(new.split()))
    if weight and 2 * same / weight < _MIN_SIMILAR:
        return None
    old_spans = _spans(old_tokens, [(at, size) for at, _, size in blocks])
    return old_spans, _spans(new_tokens, [(at, size) for _, at, size in blocks])


def _spans(tokens: list[str], same: list[tuple[int, int]]) -> tuple[Span, ...]:
    """Return where the tokens are that are not the same; spans with only blanks between are one."""
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, size in [*same, (len(tokens), 0)]:
        if at < start:
            joins = bool(ranges) and not "".join(tokens[ranges[-1][1] : at]).strip()
            ranges.append((ranges.pop()[0] if joins else at, start))
        at = start + size
    places = [0, *accumulate(map(len, tokens))]
    return tuple((places[start], places[end]) for start, end in ranges)


def _middle(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]] | None:
    """Return the one span of each between what both begin and end with; None if that is little."""
    begin = _common_start(old, new)
    end = _common_start(old[begin:][::-1], new[begin:][::-1])
    if 2 * (begin + end) < _MIN_SIMILAR * (len(old) + len(new)):
        return None
    spans = ((begin, len(old) - end), (begin, len(new) - end))
    first, second = (((start, stop),) if start < stop else () for start, stop in spans)
    return first, second


def _common_start(old: str, new: str) -> int:
    """Return how many characters both begin with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
