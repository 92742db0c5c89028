"""Which lines of an output report an error or a result: test runners, compilers, build tools, tracebacks.

A word in a name is no report: a passed test called `test_error_handling`, a package `errors`, `0 failed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

RESULT, REPORT, MENTION = 0, 1, 2
"""Ranks of a line, the most informative first: the result of a run that failed, an error, what may be one."""

_SEARCHED = 65_536  # characters of a line to search: a regex search blocks all other threads
_MAX_TEST_LINE = 1_000  # characters; a line about one test, or the result of all, is never longer
_MAX_SHAPES = 10_000
_NUMBER = re.compile(r"[1-9]\d*")  # that there are none of something matters, not how many there are
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_WORDS = (
    *("err", "fail", "exception", "fatal", "traceback", "panic", "denied", "not found", "exit "),
    *("warn", "undefined reference", "xpass", "short test summary", "passed", "✕", "✗", "✘", "✖", "×", "●"),
)
_SAME_DIGITS = str.maketrans("23456789", "1" * 8)  # not of 0, which may say that there are none
_PYTEST_ERROR = "E   "
_PLACE = re.compile(r"[^\s:]+:\d+:\d+: (?!note)\S")
_PASSED_START = re.compile(
    r"(?:\[gw\d+\]\s*)?(?:\[ *\d+%\]\s*)?(?:PASSED|SKIPPED)\b"  # pytest -rA, with xdist
    r"|\s*--- (?:PASS|SKIP): |=== (?:RUN|PAUSE|CONT|NAME)\b|(?:ok|\?) +\t?\S+\s|(?:ok|\?)\s+\S+$"  # go test
    r"|\s*[✓✔√]|PASS\b|\s*ok \d+\b"  # jest, mocha, TAP
    r"|\s*\d+/\d+ Test +#\d+:.*\bPassed\b"  # ctest
    r"|\[INFO\] (?:Running|Building|Compiling|Copying|Including|Installing|Downloaded|Downloading) "  # maven
)
_PASSED_MARKS = ("PASSED", "SKIPPED", "... ")
_PASSED_END = re.compile(
    r"\b(?:PASSED|SKIPPED)\b(?: \(.*\))?\s*(?:\[ *\d+%\])?\s*$"  # pytest -v, gradle
    r"| \.\.\. (?:ok|ignored|skipped\b.*)\s*$"  # unittest -v, cargo test
)
_NOTHING_WRONG = re.compile(
    r"\b(?:0|no|zero|without)(?: (?:\w+ ){0,2})(?:errors?|fail(?:ed|ing|ures?)|exceptions?)\b"
    r"|\b(?:errors?|fail(?:ed|ures?))(?: ?[:=] ?)0\b",
    re.IGNORECASE,
)
_FAILED_RESULT = re.compile(
    r"\b[1-9][\d,]*\s+(?:\w+ ){0,2}(?:failed|failures?|failing|errors?|xpassed)\b"
    r"|\b(?:[Ee]rrors?|[Ff]ail(?:ed|ures?)) ?[:=] ?[1-9]"
    r"|\bBUILD FAIL(?:ED|URE)\b|\btest result: FAILED|^FAILED \(|^FAIL\s+\S+\s+(?:[\d.]+s|\[)"
    r"|\bshort test summary\b|\baborting due to\b"
)
_REPORT = re.compile(
    r"\b(?:Traceback|FATAL|Segmentation fault|FAILED|FAIL|FAILURES?|XPASS|ERROR|Error|Exception)\b"
    r"|\b[A-Z]\w*(?:Error|Exception)\b|\bfatal(?: error)?:|\berror(?: ?\[\w+\]| TS\d+)?:|\berror:"
    r"|\bpanic: |\bpanicked at|\bexit (?:code|status) [1-9]|\breturned [1-9]\d* exit status"
    r"|\bundefined reference\b|\bnpm ERR!|^E {3}|^\s*[✕✗✘✖×] |● .+ \u203a "
)
_MENTION = re.compile(
    r"(?<![\w/\\.-])(?:errors?|fail(?:s|ed|ing|ures?)?|exceptions?|fatal|traceback|panic(?:ked)?|denied|xfail)"
    r"(?![\w/\\-]|\.\w|::)|\bnot found\b|\bexit (?:code|status)\b|\b\d+ passed\b"
    r"|(?-i:\bWARN(?:ING)?\b)|\bwarning: ",
    re.IGNORECASE,
)
_PATTERNS = ((RESULT, _FAILED_RESULT), (REPORT, _REPORT), (MENTION, _MENTION))


class ErrorMatch(msgspec.Struct, frozen=True):
    """Where a line reports something: the character it begins at, and its rank."""

    index: int
    rank: int


def find_error(line: str) -> ErrorMatch | None:
    """Return what a line of an output reports; None if it reports no error and no result."""
    line = line[:_SEARCHED]
    return _judge(line) if _has_word(line) else _place_in_file(line)


def _judge(line: str) -> ErrorMatch | None:
    """Return what a line with one of the words reports."""
    lower = line.lower()
    if len(line) <= _MAX_TEST_LINE and _is_passed_test(_COLOR.sub("", line) if "\x1b" in line else line):
        return None
    if "0" in line or "no" in lower or "zero" in lower or "without" in lower:
        line = _NOTHING_WRONG.sub(_blank, line)
    for rank, pattern in _PATTERNS:
        match = pattern.search(line)
        if match is not None:
            return ErrorMatch(match.start(), rank)
    return None


class ErrorFinder:
    """Finds errors in the lines of one output; lines that differ in numbers only are judged once."""

    def __init__(self) -> None:
        self._by_shape: dict[str, ErrorMatch | None] = {}
        self._by_digits: dict[str, ErrorMatch | None] = {}  # one shape for each number of digits

    def find(self, line: str) -> ErrorMatch | None:
        """Return what a line reports, as `find_error` does; its index may be that of a line alike."""
        if len(line) > _MAX_TEST_LINE:
            return find_error(line)
        key = line.translate(_SAME_DIGITS)
        if key not in self._by_digits:
            if len(self._by_digits) >= _MAX_SHAPES:
                self._by_digits.clear()
            self._by_digits[key] = self._find(line)
        return self._by_digits[key]

    def _find(self, line: str) -> ErrorMatch | None:
        if not _has_word(line):
            return _place_in_file(line)
        shape = _NUMBER.sub("#", line)
        if shape not in self._by_shape:
            if len(self._by_shape) >= _MAX_SHAPES:
                self._by_shape.clear()
            self._by_shape[shape] = _judge(line)
        return self._by_shape[shape]


def lines_worth_reading(lines: Sequence[str], most: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with their places; of more than `most` the first and last, and those with a word.

    The words are looked for in all of the text at once: line by line, 30 MB of short lines take minutes.
    """
    if len(lines) <= most:
        yield from enumerate(lines)
        return
    side = most // 4
    yield from enumerate(lines[:side])
    middle = "\n".join(lines[side:-side]).lower()
    place = position = 0
    for start in _word_places(middle, most):
        if start < position:
            continue  # in a line that was yielded
        place += middle.count("\n", position, start)
        yield side + place, lines[side + place]
        position = middle.find("\n", start) + 1
        if not position:
            break
        place += 1
    yield from ((len(lines) - back, lines[-back]) for back in range(side, 0, -1))


def _word_places(text: str, most: int) -> list[int]:
    """Return where the words stand in a text in lower case, in order; of each the first ones."""
    places: list[int] = []
    for word in _WORDS:
        start, count = text.find(word), 0
        while start >= 0 and count < most:
            places.append(start)
            count += 1
            start = text.find(word, start + 1)
    return sorted(places)


def _place_in_file(line: str) -> ErrorMatch | None:
    """Return a mention if the line is about a place in a file, as compilers write it."""
    return ErrorMatch(0, MENTION) if _PLACE.match(line) is not None else None


def _has_word(line: str) -> bool:
    lower = line.lower()
    for word in _WORDS:  # `any` with a generator takes half as long again, for each line of an output
        if word in lower:
            return True
    return line.startswith(_PYTEST_ERROR)


def _is_passed_test(line: str) -> bool:
    """Return True for a line on one test, or one file of tests, that passed or did not run."""
    return _PASSED_START.match(line) is not None or (
        any(mark in line for mark in _PASSED_MARKS) and _PASSED_END.search(line) is not None
    )


def _blank(match: re.Match[str]) -> str:
    """Return as many spaces, so that what follows keeps its place."""
    return " " * len(match[0])
