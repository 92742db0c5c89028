"""English: the language of the sources, which needs no catalog."""

from __future__ import annotations

import re
from datetime import datetime

from helix_desktop.domain.translatable_text import TranslatableText, english_fact

_GROUPED = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class English:
    """Shows texts as they are in the code."""

    code = "en"

    def find(self, text: TranslatableText) -> str:
        return text.singular if text.singular and text.number == 1 else text.source

    def show_fact(self, fact: object) -> str:
        return english_fact(fact)

    def show_decimal(self, number: float, digits: int) -> str:
        return f"{number:,.{digits}f}"

    def read_decimal(self, text: str) -> float:
        """Return a number that a user typed; a comma that separates no groups is the decimal point.

        Raises ValueError.
        """
        return float(text.replace(",", "") if _GROUPED.fullmatch(text) else text.replace(",", "."))

    def show_day(self, moment: datetime, *, with_year: bool) -> str:
        day = f"{moment.day} {_MONTHS[moment.month - 1]}"
        return f"{day} {moment.year}" if with_year else day

    def show_weekday(self, moment: datetime) -> str:
        return _DAYS[moment.weekday()]

    def show_clock(self, moment: datetime) -> str:
        return f"{moment:%H:%M}"

    def sort_key(self, name: str) -> str:
        """Return what names are sorted by: their letters, large or small."""
        return name.casefold()
