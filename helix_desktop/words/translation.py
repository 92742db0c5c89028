"""The language of this process: English without a catalog, every other through Qt's.

A process speaks one language, chosen as it starts, as it has one locale. What a model reads, what is stored
and what `--json` prints never comes through here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import (
    TextContext,
    TranslatableText,
    english_fact,
    fill,
    join_sentences,
)
from helix_desktop.words.english import English


class Language(Protocol):
    """Texts, numbers and dates as one language writes them."""

    @property
    def code(self) -> str:
        """Return the language's code, such as `en` or `zh_CN`."""
        ...

    def find(self, text: TranslatableText) -> str:
        """Return the template of a text in the form for its count; the English one if none is there."""
        ...

    def show_fact(self, fact: object) -> str:
        """Return a fact as a text has it: numbers in groups of digits, several things as a list."""
        ...

    def show_decimal(self, number: float, digits: int) -> str:
        """Return a number with `digits` digits after the decimal point."""
        ...

    def read_decimal(self, text: str) -> float:
        """Return a number that a user typed. Raises ValueError."""
        ...

    def show_day(self, moment: datetime, *, with_year: bool) -> str:
        """Return a day: `3 Nov`, `3 Nov 2026`."""
        ...

    def show_weekday(self, moment: datetime) -> str:
        """Return a day of the week: `Tue`."""
        ...

    def show_clock(self, moment: datetime) -> str:
        """Return a time of day: `14:02`."""
        ...

    def sort_key(self, name: str) -> Any:
        """Return what names are sorted by, as its readers expect them in a list."""
        ...


class Translator:
    """Translates the texts of one context of the catalog, at once."""

    def __init__(self, name: str) -> None:
        """`name` is the screen that the texts belong to."""
        self._text = TextContext(name)

    def __call__(self, source: str, comment: str = "", /, **facts: object) -> str:
        """Return a text in the user's language; `{name}` stands for the fact `name`.

        Raises KeyError if a fact is missing.
        """
        if isinstance(_language, English):  # every cell of a table asks in every frame
            return fill(source, facts, 0, english_fact)
        return translate(self._text(source, comment, **facts))

    def plural(self, count: int, singular: str, source: str, comment: str = "", /, **facts: object) -> str:
        """Return a text about `count` things in the user's language; `%n` stands for `count`.

        Raises KeyError if a fact is missing.
        """
        return translate(self._text.plural(count, singular, source, comment, **facts))


_language: Language = English()


def use_language(language: Language) -> None:
    global _language  # noqa: PLW0603 - a process has one language, as it has one locale
    _language = language


def current_language() -> Language:
    return _language


def translate(text: str) -> str:
    """Return a text in the user's language; one without an entry in the catalog stays as it is."""
    if not isinstance(text, TranslatableText) or isinstance(_language, English):
        return text
    return fill(_language.find(text), text.facts, text.number, _show)


def _show(fact: object) -> str:
    if isinstance(fact, TranslatableText):
        return translate(fact)
    if isinstance(fact, tuple):
        return _language.show_fact(tuple(_show(part) for part in fact))
    return _language.show_fact(fact)


def error_text(error: HelixError) -> str:
    """Return an error as the user reads it: what happened, why, and what to do."""
    return translate(join_sentences(error.what, error.why, error.fix))
