"""Finding paths by a few of their letters, in order: which match, how well, and where the letters are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

_CANDIDATES = 160  # paths, best by a quick look, that are scored letter by letter
MAX_QUERY = 200  # characters that are looked for
_SEPARATORS = frozenset("/_-. ")
_NEXT, _WORD, _NAME, _NAME_START, _WHOLE_NAME = 8, 8, 4, 10, 40
_RECENT = 12  # points for the path used last, one less for each before it: less than for a name's start
_FOLDER = 3  # points taken from a folder: a file of the same name is meant more often
_GAP, _MAX_GAP = 1, 6  # points taken for each letter between two of the query


class PathMatch(NamedTuple):
    """A path that has the letters of a query, and at which positions."""

    path: str
    positions: tuple[int, ...] = ()


class FuzzyPaths:
    """Paths, prepared so that they can be searched on every key; folders end with a slash."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(_by_length_of_name(paths))
        self._folded = tuple(fold_case(path) for path in self.paths)
        self._names = tuple(folded[name_start(folded) :] for folded in self._folded)
        self._index: Mapping[str, int] = {path: at for at, path in enumerate(self.paths)}
        self._found: tuple[str, Sequence[int]] = "", range(len(self.paths))
        depths: dict[int, list[str]] = {}
        for path in self.paths:
            depths.setdefault(path.count("/", 0, -1), []).append(path)
        self._top: list[str] = []
        for depth in sorted(depths):
            if len(self._top) < _CANDIDATES:
                self._top += sorted(depths[depth])

    def __contains__(self, path: str) -> bool:
        return path in self._index

    def search(self, query: str, limit: int, recent: Sequence[str] = ()) -> list[PathMatch]:
        """Return the best matches, best first; with an empty query what is `recent`, then what lies on top.

        `recent` are paths used lately, the newest first.
        """
        folded = fold_case(query[:MAX_QUERY])
        ranks = {self._index[path]: rank for rank, path in enumerate(recent) if path in self._index}
        if not folded:
            paths = dict.fromkeys([path for path in recent if path in self._index] + self._top)
            return [PathMatch(path) for path in islice(paths, limit)]
        scored = [
            (self._score(at, folded, positions) + _recency(ranks.get(at)), positions, self.paths[at])
            for at in self._candidates(folded, ranks)
            if (positions := align(folded, self.paths[at], self._folded[at]))
        ]
        scored.sort(key=lambda match: (-match[0], len(match[2]), match[2]))
        return [PathMatch(path, positions) for _, positions, path in scored[:limit]]

    def _candidates(self, query: str, recent: Iterable[int]) -> Iterable[int]:
        """Return the paths that have the letters in order; if there are many, those that promise most.

        These are what is recent, then, shortest names first, names that begin with the query, names and paths
        that hold it, and names that have its letters.
        """
        names, paths, matches = self._names, self._folded, _subsequence(query)
        candidates = dict.fromkeys(at for at in recent if matches(paths[at]))
        _fill(candidates, (at for at, name in enumerate(names) if name.startswith(query)))
        _fill(candidates, (at for at, name in enumerate(names) if query in name))
        if len(candidates) >= _CANDIDATES:
            return candidates
        before, narrowed = self._found
        found = [
            at for at in (narrowed if query.startswith(before) else range(len(paths))) if matches(paths[at])
        ]
        self._found = query, found  # what is typed next is most often one letter more
        if len(found) > _CANDIDATES:
            _fill(candidates, (at for at in found if query in paths[at]))
            _fill(candidates, (at for at in found if matches(names[at])))
        _fill(candidates, found)
        return candidates

    def _score(self, at: int, query: str, positions: Sequence[int]) -> int:
        points = score(self.paths[at], positions) - (_FOLDER if self.paths[at].endswith("/") else 0)
        return points + (_WHOLE_NAME if _is_whole_name(query, self._names[at]) else 0)


def _by_length_of_name(paths: Iterable[str]) -> Iterator[str]:
    """Yield each path once, those with the shortest names first; in small sorts, which hold up no thread."""
    lengths: dict[int, list[str]] = {}
    for path in set(paths):
        lengths.setdefault(len(path) - name_start(path), []).append(path)
    for length in sorted(lengths):
        yield from sorted(lengths[length])


def _fill(candidates: dict[int, None], more: Iterable[int]) -> None:
    """Add to the candidates until they are as many as are scored."""
    for at in more:
        if len(candidates) >= _CANDIDATES:
            return
        candidates[at] = None


def fold_case(text: str) -> str:
    """Return the text without differences of case, character by character."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def name_start(path: str) -> int:
    """Return where the last part of a path begins."""
    return path.rfind("/", 0, len(path) - 1) + 1


def _is_whole_name(query: str, name: str) -> bool:
    """Return True if a query is a name, with or without its ending."""
    return name in (query, f"{query}/") or name.partition(".")[0] == query


def _recency(rank: int | None) -> int:
    """Return the points for having been used lately."""
    return 0 if rank is None else max(2, _RECENT - rank)


def score(path: str, positions: Sequence[int]) -> int:
    """Return how good these positions are: letters side by side, at the starts of words, in the name."""
    start, total, before = name_start(path), 0, -1
    for at in positions:
        total += _NAME if at >= start else 0
        total += _NAME_START if at == start else _WORD if _is_word_start(path, at) else 0
        if before >= 0:
            total += _NEXT if at == before + 1 else -min(_MAX_GAP, _GAP * (at - before - 1))
        before = at
    return total


def _is_word_start(path: str, at: int) -> bool:
    """Return True if a word begins at a position: after a separator, or with a capital."""
    if at == 0 or path[at - 1] in _SEPARATORS:
        return True
    return path[at].isupper() and not path[at - 1].isupper()


def align(query: str, path: str, folded: str) -> tuple[int, ...]:
    """Return the best positions of the letters of a folded query in a path; empty if it has none."""
    ways = {
        _together(query, folded),
        _from_start(query, folded, name_start(path)),
        _by_words(query, path, folded),
        _from_start(query, folded, 0),
    }
    return max(ways, key=lambda way: (bool(way), score(path, way), way))


def _together(query: str, folded: str) -> tuple[int, ...]:
    """Return the last place where all letters stand side by side, at the start of a word if there is one."""
    at = last = folded.rfind(query)
    while at > 0 and folded[at - 1] not in _SEPARATORS:
        at = folded.rfind(query, 0, at + len(query) - 1)
    at = at if at >= 0 else last
    return tuple(range(at, at + len(query))) if at >= 0 else ()


def _from_start(query: str, folded: str, start: int) -> tuple[int, ...]:
    """Return the first letters from `start` on, drawn together from behind."""
    at = start - 1
    for letter in query:
        at = folded.find(letter, at + 1)
        if at < 0:
            return ()
    positions = [at]
    for letter in reversed(query[:-1]):
        at = folded.rfind(letter, start, at)
        positions.append(at)
    return tuple(reversed(positions))


def _by_words(query: str, path: str, folded: str) -> tuple[int, ...]:
    """Return each letter next to the one before it, or else at the next start of a word that has it."""
    positions: list[int] = []
    at = -1
    for letter in query:
        if not (positions and folded.startswith(letter, at + 1)):
            at = folded.find(letter, at + 1)
            first = at
            while at >= 0 and not _is_word_start(path, at):
                at = folded.find(letter, at + 1)
            at = at if at >= 0 else first
        else:
            at += 1
        if at < 0:
            return ()
        positions.append(at)
    return tuple(positions)


def _subsequence(query: str) -> Callable[[str], re.Match[str] | None]:
    """Return a test for texts that have all letters of the query in order, in time linear in the text."""
    # Possessive: a text that lacks a letter is refused without going back over it.
    letters = (re.escape(letter) for letter in query)
    return re.compile("".join(f"[^{letter}]*+{letter}" for letter in letters), re.DOTALL).match
