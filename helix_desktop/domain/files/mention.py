"""Mentions of files in a message, `@src/app.py:10-40`, and finding paths by a few of their letters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

MAX_MENTIONS = 30
"""Mentions of one message that count; more is a list of names, not of files to read."""
_QUOTED = r'"(?P<quoted>(?:[^"\\\n]|\\.)+)"'
_FULL_WIDTH = r"\u3000-\u303f\uff00-\uff20\uff3b-\uff40\uff5b-\uff65"  # East Asian punctuation
_BARE = rf"(?P<bare>[^\s\"'`<>()\[\]{{}}|*@#{_FULL_WIDTH}]+)"
_LINES = r"(?P<lines>:(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?)"
_MENTION = re.compile(rf"@(?<![\w.+\-/@\\]@)(?:{_QUOTED}{_LINES}?|{_BARE})")
_BARE_LINES = re.compile(rf"{_LINES}$", re.ASCII)
_UNFINISHED_LINES = re.compile(r":$|(?<=\d)-$")
_TYPED_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"?(.*)')
_PUNCTUATION = ".,;:!?…"
_PLAIN = re.compile(r"[\w./+~%=,&$-]*[\w/+~%=&$-]", re.ASCII)
_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?<!`)(?P<ticks>`++)[^\n]{0,999}?(?P=ticks)(?!`)",
    re.S | re.M,
)


class Mention(NamedTuple):
    """A path in a message, from `start` to `end`; lines count from 1, with 0 for the whole file."""

    path: str
    first_line: int = 0
    last_line: int = 0
    start: int = 0
    end: int = 0

    @property
    def is_reversed(self) -> bool:
        """Return True if its lines end before they begin, so that it names none."""
        return self.last_line < self.first_line

    @property
    def looks_like_path(self) -> bool:
        """Return True if hardly anything else is meant: an `@` also begins names and decorators."""
        return bool(self.first_line) or "/" in self.path or "." in self.path or " " in self.path


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return what a message mentions first, in order; nothing inside Markdown code, and no mail address."""
    return tuple(islice(_mentions(text), MAX_MENTIONS))


def _mentions(text: str) -> Iterator[Mention]:
    if "@" not in text:
        return
    code = [match.span() for match in _CODE.finditer(text)]
    outside = (match for match in _MENTION.finditer(text) if not _is_inside(match.start(), code))
    yield from filter(None, map(_read, outside))


def escape_mentions(text: str, typed_words: Sequence[str]) -> str:
    """Return a text that mentions only what `typed_words` do; any other `@` follows a backslash."""
    named = {mention[:3] for words in typed_words for mention in _mentions(words)}
    parts = list[str]()
    at = 0
    for mention in _mentions(text):
        if mention[:3] not in named:
            parts += [text[at : mention.start], "\\"]
            at = mention.start
    return "".join([*parts, text[at:]])


def parse_line_range(text: str) -> tuple[str, int, int]:
    """Return a path that may end with `:10` or `:10-40`, and its first and last line; 0, 0 for none.

    The last line may be before the first: whoever wrote that is told so.
    """
    match = _BARE_LINES.search(text)
    if match is None or not match.start():
        return text, 0, 0
    first = int(match["first"])
    return text[: match.start()], first, int(match["last"] or first)


def format_mention(path: str, first_line: int = 0, last_line: int = 0) -> str:
    """Return the mention of a path and its lines; in quotes unless it consists of plain characters."""
    name = path
    if not _PLAIN.fullmatch(path) or _BARE_LINES.search(path):
        name = '"' + re.sub(r'["\\]', r"\\\g<0>", path) + '"'
    return f"@{name}{format_lines(first_line, last_line)}"


def format_lines(first_line: int, last_line: int = 0) -> str:
    """Return lines as they stand behind a path: `:10-40`, or nothing for the whole file."""
    if not first_line:
        return ""
    return f":{first_line}" if last_line <= first_line else f":{first_line}-{last_line}"


def parse_typed(query: str) -> tuple[str, int, int]:
    """Return path and lines of what stands behind the `@` so far; what ends it may be missing yet."""
    if not query.startswith('"'):
        return parse_line_range(_UNFINISHED_LINES.sub("", query))
    quoted = _TYPED_QUOTED.match(query)
    if quoted is None:
        return query, 0, 0
    _, first, last = parse_line_range("x" + _UNFINISHED_LINES.sub("", quoted[2]))
    return _unescape(quoted[1]), first, last


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _is_inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(spans, at, key=lambda span: span[0])
    return before > 0 and at < spans[before - 1][1]


def _read(match: re.Match[str]) -> Mention | None:
    if match["quoted"]:
        path = _unescape(match["quoted"])
        first = int(match["first"] or 0)
        return Mention(path, first, int(match["last"] or first), match.start(), match.end())
    bare = match["bare"].rstrip(_PUNCTUATION)
    path, first, last = parse_line_range(bare)
    end = match.start() + 1 + len(bare)
    return Mention(path, first, last, match.start(), end) if path else None


_CANDIDATES = 160  # paths, best by a quick look, that are scored letter by letter
MAX_QUERY = 200  # characters that are looked for
_SEPARATORS = frozenset("/_-. ")
_NEXT = 8
_WORD = 8
_NAME = 4
_NAME_START = 10
_WHOLE_NAME = 40
_RECENT = 12  # points for the path used last, one less for each before it: less than for a name's start
_FOLDER = 3  # points taken from a folder: a file of the same name is meant more often
_GAP = 1  # points taken for each letter between two of the query
_MAX_GAP = 6  # the most points taken between two of these


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
        names = self._names
        paths = self._folded
        matches = _subsequence(query)
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
        return points + (_WHOLE_NAME if is_whole_name(query, self._names[at]) else 0)


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
    return path.rfind("/", 0, len(path) - 1) + 1


def is_whole_name(query: str, name: str) -> bool:
    """Return True if a query is a name, with or without its ending."""
    return name in (query, f"{query}/") or name.partition(".")[0] == query


def _recency(rank: int | None) -> int:
    return 0 if rank is None else max(2, _RECENT - rank)


def score(path: str, positions: Sequence[int]) -> int:
    """Return how good these positions are: letters side by side, at the starts of words, in the name."""
    start = name_start(path)
    total = 0
    before = -1
    for at in positions:
        total += _NAME if at >= start else 0
        if at == start:
            total += _NAME_START
        elif _is_word_start(path, at):
            total += _WORD
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
