"""Formulas in Markdown: where they are, and which of them stand alone on their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_LONGEST = 2_000  # characters of a formula
_ENDS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]", "$": "$"}
_SIGNS = re.compile(r"[\\^_={}+<>*|]")  # without any of these, brackets are text, dollars prices
_VARIABLE = re.compile(r"\w{1,2}")
_DISPLAYED = ("$$", "\\[")  # what begins a formula that stands alone
_BREAKS = ("softbreak", "hardbreak")
FORMULA = "formula"
"""Type of a token whose content is the source of a formula."""


def enable_formulas(parser: MarkdownIt) -> MarkdownIt:
    """Let a parser take `$x$`, `$$x$$`, `\\(x\\)` and `\\[x\\]` as formulas."""
    parser.inline.ruler.before("escape", "formula", _take_formula)
    return parser


def split_displayed(tokens: Sequence[Token]) -> Iterator[str | Sequence[Token]]:
    """Yield the parts of a paragraph: formulas with lines of their own, and the tokens between them."""
    start = 0
    for at, token in enumerate(tokens):
        lines = str(token.meta.get(FORMULA, ""))
        begins = at == start or tokens[at - 1].type in _BREAKS
        ends = at + 1 == len(tokens) or tokens[at + 1].type in _BREAKS
        if lines and begins and ends:
            if at - 1 > start:
                yield tokens[start : at - 1]
            yield lines
            start = at + 2
    if start < len(tokens):
        yield tokens[start:]


def _take_formula(state: StateInline, silent: bool) -> bool:
    begin = next((sign for sign in _ENDS if state.src.startswith(sign, state.pos)), "")
    if not begin:
        return False
    start = state.pos + len(begin)
    end = state.src.find(_ENDS[begin], start, min(state.posMax, start + _LONGEST))
    if end < 0 or not _is_formula(state.src, begin, start, end):
        return False
    if not silent:
        token = state.push(FORMULA, "", 0)
        token.content = " ".join(state.src[start:end].split())
        token.meta = (
            {FORMULA: dedent(state.src[start:end].strip("\n")).rstrip()} if begin in _DISPLAYED else {}
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
