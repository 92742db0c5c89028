"""Draws the source of a formula as SVG, where all of it can be drawn in a short time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ziamath.mathfont import MathFont

_EM = 48.0  # pixels of the font's size in a drawing
_LONGEST = 400  # characters: drawing them takes about 0.3 s, and making an image of that 15 ms
_MOST_NESTED = 300  # by `_nesting`: what takes about 0.3 s

_EDGE = re.compile(r"\\[{}\\]|[{}]|\\(?:left|right)(?![a-z])|\\(?:begin|end)\{[^{}]*\}")  # of a group
_ENVIRONMENT = re.compile(r"\\begin\{([^{}]*)\}")
_DRAWN_ENVIRONMENT = re.compile(r"(?:[pbBvV]|small)?matrix|array|cases|split|aligned|align\*|equation\*")
_LEFT_OUT = re.compile(
    r"(?<!\\)%|\\begin\{array\}\{[^}]*\||"
    r"\\(?:hline|tag|label|ref|eqref|color|textcolor|colorbox|href|def|newcommand|renewcommand)(?![A-Za-z])"
)
"""What the library leaves out or shows in another way than it is meant."""
_REWRITTEN = (
    (re.compile(r"\\(begin|end)\{(align|equation)\}"), r"\\\1{\2*}"),  # else it numbers the lines
    (re.compile(r"\\(begin|end)\{gather(?:\*|ed)?\}"), r"\\\1{matrix}"),
    (re.compile(r"\\operatorname\*"), r"\\operatorname"),
    (re.compile(r"\\bmod(?![A-Za-z])"), r"\\;\\mathrm{mod}\\;"),
    (re.compile(r"(\\begin\{(\w*matrix)\}(?:(?!\\begin).)*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL), r"{\1}"),
)
"""What the library reads in another way than TeX, and what it reads as TeX does."""


class FormulaDrawing(NamedTuple):
    """A formula as SVG in black; its measures are in em, `depth` is what lies below the baseline."""

    svg: str
    width: float
    height: float
    depth: float


def draw_formula(source: str, *, displayed: bool) -> FormulaDrawing | None:
    """Draw LaTeX math, alone on its line or within words; None for what can't be drawn as it is meant."""
    for pattern, replacement in _REWRITTEN:
        source = pattern.sub(replacement, source)
    if not _is_drawable(source):
        return None
    from ziamath.config import config  # a fifth of a second, and most sessions have no formula
    from ziamath.zmath import Latex

    config.svg2 = False  # paths in their places: Qt draws no symbols of SVG 2
    try:
        formula = Latex(source, size=_EM, inline=not displayed, margin=0.0)
        if not _has_all_signs(formula.mathml, formula.font):
            return None
        root, svg = formula.svgxml(), formula.svg()
    except Exception:  # noqa: BLE001 - a model wrote the source, and the library raises whatever fails in it
        return None
    _, top, width, height = (float(number) / _EM for number in root.attrib["viewBox"].split())
    return FormulaDrawing(svg, width, height, max(0.0, top + height)) if width > 0 < height else None


def _is_drawable(source: str) -> bool:
    return (
        len(source) <= _LONGEST
        and _nesting(source) <= _MOST_NESTED
        and not _LEFT_OUT.search(source)
        and all(_DRAWN_ENVIRONMENT.fullmatch(name) for name in _ENVIRONMENT.findall(source))
    )


def _nesting(source: str) -> int:
    """Return what reading the groups costs: each level of them doubles the library's work (measured).

    Groups that don't close, which the library closes somewhere, cost too much.
    """
    cost = depth = 0
    for match in _EDGE.finditer(source):
        sign = match.group()
        if sign.startswith(("{", "\\left", "\\begin")):
            depth += 1
            cost += 1 << min(depth, _MOST_NESTED)
        elif sign.startswith(("}", "\\right", "\\end")):
            depth -= 1
        if depth < 0:
            return _MOST_NESTED + 1
    return _MOST_NESTED + 1 if depth else cost


def _has_all_signs(formula: Element, font: MathFont) -> bool:
    """Return True if no command is left as its name, and the font has every sign."""
    texts = (element.text for element in formula.iter() if element.text)
    signs = {sign for text in texts for sign in text if not sign.isspace()}
    return "\\" not in signs and all(font.glyphindex(sign) for sign in signs)
