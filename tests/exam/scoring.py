"""Score answers by exact points, and say how far a share can be trusted.

A form of a key point counts where it stands in the answer as a whole: no letter, digit or underscore directly
before or after it but the unit of a number, and no decimal places beyond it. Normalized texts are compared:
Unicode compatibility forms, case, quotes, backticks, asterisks, kinds of dashes, white space and commas of
thousands make no difference.
"""

from __future__ import annotations

import math
import re
import unicodedata

from tests.exam.questions import KeyPoint

MAX_SCORED_CHARS = 2_000
"""Only so much of an answer is scored, so that listing everything is no way to be right."""

_Z = 1.959964  # standard score of a two-sided 95 % interval
_LEFT_OUT = "\"'`*"
_QUOTES = ("Pi", "Pf")  # Unicode categories
_DASHES = "Pd"  # a Unicode category
_MINUS = "\N{MINUS SIGN}"  # one more dash
_NUMBER = re.compile(r"[\d.]*\d")
_THOUSANDS_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def normalize_answer(text: str) -> str:
    """Return a text without what makes no difference for a score."""
    plain = "".join(map(_plain, unicodedata.normalize("NFKC", text).casefold()))
    return " ".join(_THOUSANDS_COMMA.sub("", plain).split())


def _plain(char: str) -> str:
    category = unicodedata.category(char)
    if char in _LEFT_OUT or category in _QUOTES:
        return ""
    return "-" if category == _DASHES or char == _MINUS else char


def score(answer: str, point: KeyPoint) -> bool:
    normalized_answer = normalize_answer(answer[:MAX_SCORED_CHARS])
    return any(_pattern(normalize_answer(form)).search(normalized_answer) for form in point.accept)


def is_visible(normalized_text: str, point: KeyPoint) -> bool:
    """Return True if what proves a point stands in a text, which is normalized already."""
    return normalize_answer(point.proof) in normalized_text


def _pattern(form: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if re.match(r"\w", form) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", form) else ""
    if form[:1].isdigit():
        before += r"(?<!\d\.)"
    if form[-1:].isdigit():
        after += r"(?!\.\d)"
    if _NUMBER.fullmatch(form):
        after = rf"(?:(?:m?s|h|px|[kmgt]i?b)\b|{after})"
    return re.compile(before + re.escape(form) + after)


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score; (0, 1) for a total of 0."""
    if not total:
        return 0.0, 1.0
    share = successes / total
    spread = _Z * math.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    center = share + _Z**2 / (2 * total)
    scale = 1 + _Z**2 / total
    # The ends are exact for none and for all; rounding would miss them by a hair.
    low = (center - spread) / scale if successes else 0.0
    return low, (center + spread) / scale if successes < total else 1.0
