"""The text of PDFs: page by page, and within bounds."""

from __future__ import annotations

import itertools

import pytest

from helix_desktop.domain.files.pdf import PdfRefused
from helix_desktop.tools.files.pdf_text import DEADLINE_S, MAX_PAGES, pdf_text
from tests.support.pdf_bytes import bomb_pdf, pdf, protected_pdf


def test_each_page_with_text_says_which_it_is() -> None:
    text = pdf_text(pdf("Hello\nworld", "", "The end"))
    assert (text.text, text.pages) == ("[Page 1]\nHello\nworld\n\n[Page 3]\nThe end\n", 3)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf("", ""), "pictures"),
        (protected_pdf("xyzzy"), "password"),
        (b"%PDF-1.7\nnothing else", "damaged"),
        (bomb_pdf(), "slow"),
    ],
    ids=["pictures", "password", "damaged", "bomb"],
)
def test_one_without_readable_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(PdfRefused) as caught:
        pdf_text(data)
    assert caught.value.reason == reason


def test_what_lies_behind_the_limits_is_named() -> None:
    """Too many pages, and too much time: the clock of the second goes by a page in no time."""
    many = pdf_text(pdf(*(f"page {number}" for number in range(MAX_PAGES + 3))))
    assert many.text.endswith(f"[Pages {MAX_PAGES + 1}-{MAX_PAGES + 3} were not read.]\n")
    ticks = itertools.chain([0.0] * 8, itertools.repeat(DEADLINE_S + 1))
    slow = pdf_text(pdf("one", "two", "three"), lambda: next(ticks))
    assert slow.pages == 1
    assert slow.text.endswith("[Pages 2-3 were not read.]\n")
