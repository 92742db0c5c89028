"""The text of a PDF, and why there is none."""

from __future__ import annotations

from typing import Literal

import msgspec

PdfFailure = Literal["password", "damaged", "slow", "pictures"]
"""Why a PDF gives no text: it needs a password, is damaged, takes too long, or has only pictures."""


class PdfText(msgspec.Struct, frozen=True):
    """The text of the pages that were read, and how many there are."""

    text: str
    pages: int
    page_count: int


class PdfRefused(Exception):
    """A PDF gives no text."""

    def __init__(self, reason: PdfFailure, page_count: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.page_count = reason, page_count
