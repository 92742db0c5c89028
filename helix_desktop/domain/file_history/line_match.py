"""What two sequences have in common, by the shortest edit with bounded effort, and which words differ.

Not `difflib`, which takes minutes for a file of equal lines and misses unique ones in long files.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

Block = tuple[int, int, int]
"""Equal items: where they begin in the old and in the new sequence, and how many there are."""

# So many steps take well under a second for hostile texts of 5,000 lines.
_BASE_STEPS = 200_000
_STEPS_PER_ITEM = 20
_MAX_DEPTH = 16  # how often the room between unique items is looked through for further ones
_MAX_EDITS = 256  # edits that one search of the shortest edit looks ahead
_MAX_SHIFT = 100  # lines that a group of changed lines may move to a better place


def matching_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Block]:
    """Return what is equal, in order, without overlaps; deterministic, and bounded in time on any input."""
    numbers: dict[Hashable, int] = {}
    left = [numbers.setdefault(item, len(numbers)) for item in old]
    right = [numbers.setdefault(item, len(numbers)) for item in new]
    return _joined(_Matcher(left, right).blocks())


def place_groups(blocks: list[Block], old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Move groups of lines that are only added or only removed to where they read best.

    A group whose first line equals the line behind it could as well begin one line later. It begins and ends
    where the text is indented least, and behind a blank line, if there is such a place.
    """
    ends = [(0, 0, 0), *blocks, (len(old), len(new), 0)]
    if blocks and blocks[0][:2] == (0, 0):
        del ends[0]
    if blocks and blocks[-1][0] + blocks[-1][2] == len(old) and blocks[-1][1] + blocks[-1][2] == len(new):
        del ends[-1]
    for number in range(len(ends) - 1):
        (old_at, new_at, size), (old_end, new_end, next_size) = ends[number : number + 2]
        up = min(size - bool(number), _MAX_SHIFT)
        down = min(next_size - (number + 2 < len(ends)), _MAX_SHIFT)
        if old_at + size == old_end and new_at + size < new_end:
            shift = _best_shift(new, new_at + size, new_end, up, down)
        elif new_at + size == new_end and old_at + size < old_end:
            shift = _best_shift(old, old_at + size, old_end, up, down)
        else:
            continue
        ends[number] = (old_at, new_at, size + shift)
        ends[number + 1] = (old_end + shift, new_end + shift, next_size - shift)
    return _joined([block for block in ends if block[2]])


def _best_shift(lines: Sequence[str], start: int, end: int, up: int, down: int) -> int:
    """Return by how many lines the group `start` to `end` moves; negative: toward the beginning."""
    first = start
    while start - first < up and lines[first - 1] == lines[end - 1 - (start - first)]:
        first -= 1
    last = start
    while last - start < down and lines[last] == lines[end + (last - start)]:
        last += 1
    if first == last:
        return 0
    size = end - start
    return min(range(last, first - 1, -1), key=lambda at: _edge(lines, at) + _edge(lines, at + size)) - start


def _edge(lines: Sequence[str], at: int) -> int:
    """Return how badly a group reads that begins or ends before line `at`; 0: best."""
    if at in (0, len(lines)):
        return 0
    behind = next((line for line in lines[at : at + 3] if line.strip()), "")
    indent = len(behind) - len(behind.lstrip())
    return 4 * indent + bool(lines[at - 1].strip()) + 2 * (not lines[at].strip())


def _joined(blocks: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for block in sorted(blocks):
        if joined:
            old, new, size = joined[-1]
            if (old + size, new + size) == block[:2]:
                joined[-1] = (old, new, size + block[2])
                continue
        joined.append(block)
    return joined


class _Matcher:
    """Finds the blocks of two lists of numbers; each distinct item has one."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old = old
        self._new = new
        self._steps = _BASE_STEPS + _STEPS_PER_ITEM * (len(old) + len(new))
        self._found: list[Block] = []

    def blocks(self) -> list[Block]:
        regions = [(0, len(self._old), 0, len(self._new), 0)]
        while regions:
            old_at, old_end, new_at, new_end, depth = regions.pop()
            old_at, old_end, new_at, new_end = self._cut(old_at, old_end, new_at, new_end)
            if old_at == old_end or new_at == new_end or self._steps <= 0:
                continue
            self._steps -= old_end - old_at + new_end - new_at
            anchors = self._anchors(old_at, old_end, new_at, new_end) if depth < _MAX_DEPTH else []
            if not anchors:
                self._match_by_edits(range(old_at, old_end), range(new_at, new_end))
                continue
            for old, new in anchors:
                self._found.append((old, new, 1))
                if old_at < old and new_at < new:
                    regions.append((old_at, old, new_at, new, depth + 1))
                old_at = old + 1
                new_at = new + 1
            regions.append((old_at, old_end, new_at, new_end, depth + 1))
        return self._found

    def _cut(self, old_at: int, old_end: int, new_at: int, new_end: int) -> tuple[int, int, int, int]:
        """Take what a region begins and ends with on both sides."""
        old = self._old
        new = self._new
        room = min(old_end - old_at, new_end - new_at)
        size = 0
        while size < room and old[old_at + size] == new[new_at + size]:
            size += 1
        if size:
            self._found.append((old_at, new_at, size))
        old_at = old_at + size
        new_at = new_at + size
        room = room - size
        size = 0
        while size < room and old[old_end - 1 - size] == new[new_end - 1 - size]:
            size += 1
        if size:
            self._found.append((old_end - size, new_end - size, size))
        return old_at, old_end - size, new_at, new_end - size

    def _anchors(self, old_at: int, old_end: int, new_at: int, new_end: int) -> list[tuple[int, int]]:
        """Return the most items that are unique on both sides and in the same order there."""
        old_places = _unique_places(self._old, old_at, old_end)
        new_places = _unique_places(self._new, new_at, new_end)
        pairs = [
            (old, new)
            for item, old in old_places.items()
            if old >= 0 and (new := new_places.get(item, -1)) >= 0
        ]
        pairs.sort()
        tails: list[int] = []  # the smallest last place of a row of each length
        rows: list[int] = []  # which pair that is
        previous: list[int] = []
        for number, (_old, new) in enumerate(pairs):
            length = bisect_left(tails, new)
            previous.append(rows[length - 1] if length else -1)
            tails[length : length + 1] = [new]
            rows[length : length + 1] = [number]
        anchors = []
        number = rows[-1] if rows else -1
        while number >= 0:
            anchors.append(pairs[number])
            number = previous[number]
        anchors.reverse()
        return anchors

    def _match_by_edits(self, old_range: range, new_range: range) -> None:
        in_old = {self._old[at] for at in old_range}
        common = in_old.intersection(self._new[at] for at in new_range)
        olds = [at for at in old_range if self._old[at] in common]
        news = [at for at in new_range if self._new[at] in common]
        old = [self._old[at] for at in olds]
        new = [self._new[at] for at in news]
        size = min(len(old), len(new))
        begin = next((at for at in range(size) if old[at] != new[at]), size)
        size -= begin
        end = next((at for at in range(size) if old[-1 - at] != new[-1 - at]), size)
        same = [(0, 0, begin), (len(old) - end, len(new) - end, end)]
        same += self._search_all(old[: len(old) - end], new[: len(new) - end], begin)
        for old_at, new_at, length in same:
            self._found += [(olds[old_at + step], news[new_at + step], 1) for step in range(length)]

    def _search_all(self, old: list[int], new: list[int], begin: int) -> Iterator[Block]:
        x = y = begin
        while x < len(old) and y < len(new) and self._steps > 0:
            blocks, x, y = self._search(old, new, x, y)
            yield from blocks

    def _search(self, old: list[int], new: list[int], x0: int, y0: int) -> tuple[list[Block], int, int]:
        """Return the blocks of the shortest edit from a place on (Myers, 1986), and where they end.

        That is the end of both lists, or the furthest place that `_MAX_EDITS` edits reach.
        """
        width = len(old) - x0
        height = len(new) - y0
        reached = {1: 0}
        trail: list[dict[int, int]] = []
        for edits in range(_MAX_EDITS):
            trail.append(reached)
            reached, steps = _advance(old, new, (x0, y0), reached, edits)
            self._steps -= steps
            if reached.get(width - height) == width or self._steps <= 0:
                break
        diagonal = max(reached, key=lambda k: (2 * reached[k] - k, k))
        x = reached[diagonal]
        y = reached[diagonal] - diagonal
        blocks = [(x0 + at, y0 + new_at, size) for at, new_at, size in _walk_back(trail, x, y)]
        return blocks, x0 + x, y0 + y


def _unique_places(items: list[int], start: int, end: int) -> dict[int, int]:
    """Return where each item is, -1 for one that is there more than once."""
    places: dict[int, int] = {}
    for at in range(start, end):
        places[items[at]] = -1 if items[at] in places else at
    return places


def _advance(
    old: list[int], new: list[int], start: tuple[int, int], reached: dict[int, int], edits: int
) -> tuple[dict[int, int], int]:
    """Return how far one more edit reaches on each diagonal, and the steps that it took."""
    x0, y0 = start
    width = len(old) - x0
    height = len(new) - y0
    further: dict[int, int] = {}
    steps = 0
    for k in range(-edits + 2 * max(0, edits - height), edits + 1 - 2 * max(0, edits - width), 2):
        x = begin = _begin(reached, k)
        if not (0 <= x <= width and x - k <= height):
            continue
        while x < width and x - k < height and old[x0 + x] == new[y0 + x - k]:
            x += 1
        further[k] = x
        steps += 1 + x - begin
    return further, steps


def _begin(reached: dict[int, int], k: int) -> int:
    return max(reached.get(k + 1, -1), reached.get(k - 1, -2) + 1)


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Iterator[Block]:
    for reached in reversed(trail):
        k = x - y
        begin = _begin(reached, k)
        if x > begin:
            yield begin, begin - k, x - begin
        is_down = reached.get(k + 1, -1) == begin
        x, y = (begin, begin - k - 1) if is_down else (begin - 1, begin - k)


Span = tuple[int, int]
"""Characters of a line: the first one, and the one behind the last."""

_TOKEN = re.compile(r"\w+|\s+|[-+*/%&|^~<>=!:.]+|[^\w\s]")
_MAX_LINE = 2_000  # characters; of longer lines only the beginning and the end that are the same are found
_MAX_PAIRS = 900  # pairs of lines of one group that are compared; about 1 ms
_MIN_SIMILAR = 0.4  # of the characters of both lines; below it, words that are the same are chance


class SpanBudget:
    """How many pairs of lines and characters may be compared for one file."""

    def __init__(self) -> None:
        self.pairs = 30_000
        self.characters = 300_000


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
    count = len(removed) * len(added)
    if not count or count > min(_MAX_PAIRS, budget.pairs):
        return list(enumerate(range(len(added)))) if len(removed) == len(added) else []
    budget.pairs -= count
    old = [_line(text) for text in removed]
    new = [_line(text) for text in added]
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
            at = at + 1
            to = to + 1
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
    old_tokens = _TOKEN.findall(old)
    new_tokens = _TOKEN.findall(new)
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
    low = 0
    high = min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
