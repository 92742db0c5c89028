"""Formulas in Markdown: their source is shown as code, with all its backslashes and signs."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

_LONGEST = 2_000  # characters of a formula
_ENDS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]", "$": "$"}
_SIGNS = re.compile(r"[\\^_={}+<>*|]")  # without any of these, brackets are text, dollars prices
_VARIABLE = re.compile(r"\w{1,2}")


def enable_formulas(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser take `$x$`, `$$x$$`, `\\(x\\)` and `\\[x\\]` as code."""
    parser.inline.ruler.before("escape", "formula", _take_formula)
    return parser


def _take_formula(state: StateInline, silent: bool) -> bool:
    begin = next((sign for sign in _ENDS if state.src.startswith(sign, state.pos)), "")
    if not begin:
        return False
    start = state.pos + len(begin)
    end = state.src.find(_ENDS[begin], start, min(state.posMax, start + _LONGEST))
    if end < 0 or not _is_formula(state.src, begin, start, end):
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = " ".join(state.src[start:end].split())
    state.pos = end + len(_ENDS[begin])
    return True


def _is_formula(text: str, begin: str, start: int, end: int) -> bool:
    """Return True for what has something between its signs, and looks like math where others use them."""
    words = text[start:end]
    if begin == "\\[":
        return _SIGNS.search(words) is not None
    if begin != "$":
        return bool(words.strip())
    before, after = text[: start - 1][-1:], text[end + 1 : end + 2]
    touches_words = before.isalnum() or after.isalnum()
    has_space = not words or words[0].isspace() or words[-1].isspace()
    is_math = bool(_SIGNS.search(words) or _VARIABLE.fullmatch(words))
    return is_math and not (touches_words or has_space)
