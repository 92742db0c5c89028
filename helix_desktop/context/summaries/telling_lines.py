"""Telling lines: the lines of an output that carry its facts, found without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SEARCHED = 2_000  # characters of a line that are searched
_TAIL_CHARS = 20_000  # characters of an output in which an error line is looked for, from its end
_GAP = "…"
_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception|Warning)\b|^E\s{2,}\S|\b(?:Traceback|FATAL|panic(?:ked)?)\b"
    r"|\b(?:fatal|error|failed|failure|cannot|denied)\b[:\s]|\b(?:ERROR|FAILED|XPASS|XFAIL)\b"
    r"|\b(?:no such file|not found|segmentation fault)\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^E\s{2,}\S|\b[A-Z]\w*(?:Error|Exception)\b:?|^(?:fatal|error|ERROR|FATAL)\b|\berror(?:\[\w+\])?:"
)
_PASSED = re.compile(r"\bPASSED\b|\bpassed\b(?!.*\b[1-9]\d* (?:failed|errors?)\b)|\.{3} ok\b")
_FIGURE = re.compile(
    r"#\d{1,7}\b|\b\d[\d.,]*\s?(?:%|ms|s|seconds|min|h|[KMGT]i?B|bytes|tokens|lines|passed|failed|skipped|errors?)(?!\w)"
    r"|[=:]\s*-?\d[\d.,]*\b"
)
_NOISE = re.compile(r"^(?:\[CACHED\]|\[…|exit (?:code|status) \d|[-=_*~#.\s]*$)", re.IGNORECASE)


def last_telling_line(text: str) -> str:
    """Return the last line of an output that says something; empty if none does."""
    end = len(text)
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if line and not _NOISE.match(line):
            return line[:_SEARCHED]
        end = start - 1
    return ""


def error_line(text: str) -> str:
    """Return the last line of an output that names an error; empty if none does."""
    lines = [line.strip()[:_SEARCHED] for line in text[-_TAIL_CHARS:].splitlines()]
    lines = [line for line in lines if line and not _NOISE.match(line)]
    for pattern in (_STRONG, _ERROR):
        for line in reversed(lines):
            if pattern.search(line) and not _PASSED.search(line):
                return line
    return ""


def shorten_output(text: str, cap: int) -> str:
    """Return an output in about `cap` characters: head, tail, and between them the lines that carry facts.

    Errors come before figures; what is left out is marked by an ellipsis.
    """
    if len(text) <= cap:
        return text
    head, tail = text[: cap * 2 // 5], text[-cap // 5 :]
    between = text[len(head) : len(text) - len(tail)].splitlines()
    lines = _fit_lines(between, cap - len(head) - len(tail))
    return "\n".join([head, _GAP, *lines, tail]) if lines else f"{head} {_GAP} {tail}"


def _fit_lines(between: Sequence[str], max_chars: int) -> list[str]:
    """Return the lines that carry facts and fit, in their order; of two kinds the errors first."""
    ranked: list[tuple[int, int, str]] = []
    for number, line in enumerate(between):
        part = " ".join(line[:_SEARCHED].split())
        if not part or _NOISE.match(part):
            continue
        if _ERROR.search(part) and not _PASSED.search(part):
            ranked.append((0, number, part))
        elif _FIGURE.search(part):
            ranked.append((1, number, part))
    fitting: dict[int, str] = {}
    shapes: set[str] = set()
    for _, number, part in sorted(ranked):
        shape = re.sub(r"\d+", "#", part)
        if shape in shapes or len(part) + 1 > max_chars:
            continue
        shapes.add(shape)
        fitting[number] = part
        max_chars -= len(part) + 1
    return [fitting[number] for number in sorted(fitting)]
