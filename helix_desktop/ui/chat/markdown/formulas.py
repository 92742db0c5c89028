"""Formulas in Markdown: their source is shown as code, with all its backslashes and signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_LONGEST = 2_000  # characters of a formula
_ENDS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]", "$": "$"}
_SIGNS = re.compile(r"[\\^_={}+<>*|]")  # without any of these, brackets are text, dollars prices
_VARIABLE = re.compile(r"\w{1,2}")
_DISPLAYED = ("$$", "\\[")  # what begins a formula that stands alone
_LINES = "formula"


def enable_formulas(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser take `$x$`, `$$x$$`, `\\(x\\)` and `\\[x\\]` as code."""
    parser.inline.ruler.before("escape", "formula", _take_formula)
    return parser


def lines_of_formula(tokens: Sequence[Token]) -> str:
    """Return the lines of a paragraph that is one formula of several lines; empty if it is anything else."""
    lines = str(tokens[0].meta.get(_LINES, "")) if len(tokens) == 1 else ""
    return lines if "\n" in lines else ""


def _take_formula(state: StateInline, silent: bool) -> bool:
    begin = next((sign for sign in _ENDS if state.src.startswith(sign, state.pos)), "")
    if not begin:
        return False
    start = state.pos + len(begin)
    end = state.src.find(_ENDS[begin], start, min(state.posMax, start + _LONGEST))
    if end < 0 or not _is_formula(state.src, begin, start, end):
        return False
    if not silent:
        token = state.push("code_inline", "code", 0)
        token.content = " ".join(state.src[start:end].split())
        token.meta = (
            {_LINES: dedent(state.src[start:end].strip("\n")).rstrip()} if begin in _DISPLAYED else {}
        )
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
