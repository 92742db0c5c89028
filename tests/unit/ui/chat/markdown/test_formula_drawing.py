"""Formulas are drawn as they are meant, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.ui.chat.markdown.formulas import draw_formula
from tests.support.tables import for_each

_PIECES = st.sampled_from(
    ("x", "1", "+", "=", " ", "^", "_", "{", "}", "[", "]", "\\frac", "\\sqrt", "\\left(", "\\right)", "\\\\",
     "&", "<", "$", "\\begin{matrix}", "\\end{matrix}", "\\text{", "\\sum", "\\alpha", "%", "é", "日", "\0",
     "\\x")
)  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        "E = mc^2",
        "\\frac{a}{b} \\le \\sqrt[3]{x}",
        "O(n \\log n)",
        "P(A \\mid B) > 0",
        "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}^{-1}",
        "\\begin{cases} x & x > 0 \\\\ -x & \\text{otherwise} \\end{cases}",
        "\\left\\{ \\frac{n}{2} \\right\\}",
        "\\operatorname*{arg\\,max}_\\theta \\mathcal{L}(\\theta)",
    ],
)
def test_usual_formulas_are_drawn(source: str) -> None:
    alone = draw_formula(source, displayed=True)
    within = draw_formula(source, displayed=False)
    assert alone is not None
    assert within is not None
    assert alone.height >= within.height > within.depth >= 0
    assert "<path" in alone.svg
    assert "<text" not in alone.svg, "the letters are part of it"


@pytest.mark.parametrize("environment", ["align", "equation", "gather"])
def test_no_number_is_added_to_an_equation(environment: str) -> None:
    formula = draw_formula(f"\\begin{{{environment}}} a = b \\end{{{environment}}}", displayed=True)
    plain = draw_formula("a = b", displayed=True)
    assert formula is not None
    assert plain is not None
    assert formula.width == pytest.approx(plain.width, abs=0.1)


def test_the_place_of_a_limit_depends_on_the_line() -> None:
    alone = draw_formula("\\sum_{i=1}^n i", displayed=True)
    within = draw_formula("\\sum_{i=1}^n i", displayed=False)
    assert alone is not None
    assert within is not None
    assert alone.depth > within.depth, "the limit stands below the sign"
    assert alone.width < within.width


@for_each(
    "source",
    [
        "\\unknown{x}",  # a command that would be left as its name
        "\\begin{tikzcd} A \\arrow[r] & B \\end{tikzcd}",
        "\\text{größe} = 日本",  # signs that the font lacks
        "x_{1",
        "\\frac{a",
        "x^",
        "\\color{red} x",  # what would be left out
        "a \\tag{1}",
        "\\begin{array}{c|c} a & b \\end{array}",
        "",
        " ",
        "x+" * 400,
    ],
)
def test_what_would_be_shown_otherwise_than_meant_is_not_drawn(source: str) -> None:
    assert draw_formula(source, displayed=True) is None


@pytest.mark.parametrize(
    "source",
    [
        "\\frac{" * 12 + "a" + "}{b}" * 12,
        "{" * 40 + "x" + "}" * 40,
        "x" + "^{x" * 20 + "}" * 20,
        "\\left(" * 20 + "x" + "\\right)" * 20,
        "\\begin{matrix}" * 20 + "x" + "\\end{matrix}" * 20,
    ],
)
def test_nesting_that_would_take_hours_is_not_drawn(source: str) -> None:
    """Each level doubles the time that reading takes: without a limit the test would not end."""
    assert draw_formula(source, displayed=True) is None


@given(st.lists(_PIECES, max_size=30).map("".join), st.booleans())
def test_any_source_is_drawn_or_not(source: str, displayed: bool) -> None:
    drawing = draw_formula(source, displayed=displayed)
    assert drawing is None or drawing.svg.startswith("<svg")
