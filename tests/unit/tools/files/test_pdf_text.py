"""The text of PDFs: page by page, and within bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from helix_desktop.domain.files.content import PdfRefused
from helix_desktop.tools.files.attach import DEADLINE_S, pdf_text
from tests.support.pdf_bytes import bomb_pdf, pdf, protected_pdf


def test_each_page_with_text_says_which_it_is() -> None:
    text = pdf_text(pdf("Hello\nworld", "", "The end"))
    assert (text.text, text.pages) == ("[Page 1]\nHello\nworld\n\n[Page 3]\nThe end\n", 3)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: pdf("", ""), "pictures"),
        (lambda: protected_pdf("xyzzy"), "password"),
        (lambda: b"%PDF-1.7\nnothing else", "damaged"),
        (bomb_pdf, "slow"),
    ],
    ids=["pictures", "password", "damaged", "bomb"],
)
def test_one_without_readable_text_says_why(build: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(PdfRefused) as caught:
        pdf_text(build())
    assert caught.value.reason == reason


def test_pages_behind_the_limit_are_named() -> None:
    many = pdf_text(pdf("one", "two", "three", "four"), max_pages=2)
    assert (many.pages, many.text.splitlines()[-1]) == (2, "[Pages 3-4 were not read.]")


def test_reading_ends_wherever_the_time_is_up() -> None:
    """With the pages read until then, or with the reason why there is none."""
    data = pdf("one", "two", "three")
    calls = itertools.count()
    assert pdf_text(data, lambda: 0.0 * next(calls)).pages == 3
    read: set[int] = set()
    for last in range(1, next(calls), 7):
        ticks = itertools.chain([0.0] * last, itertools.repeat(DEADLINE_S + 1))
        pages, end = _outcome(data, ticks.__next__)
        read.add(pages)
        assert end == {0: "slow", 1: "[Pages 2-3 were not read.]", 2: "[Pages 3-3 were not read.]"}[pages]
    assert read == {0, 1, 2}


def _outcome(data: bytes, clock: Callable[[], float]) -> tuple[int, str]:
    """Return the pages that were read and the last line, or the reason why there are none."""
    try:
        text = pdf_text(data, clock)
    except PdfRefused as error:
        return 0, error.reason
    return text.pages, text.text.splitlines()[-1]
