"""A language other than English: Qt reads its catalog, and Qt's locale writes its numbers and dates."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import (
    QCollator,
    QCollatorSortKey,
    QCoreApplication,
    QDate,
    QLibraryInfo,
    QLocale,
    Qt,
    QTime,
    QTranslator,
)
from PySide6.QtGui import QGuiApplication

from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.translatable_text import ByteSize, TextContext, TranslatableText, english_fact
from helix_desktop.words.numbers import format_size

text = TextContext("Start")


class QtLanguage:
    """Texts of a compiled catalog, and numbers as its locale writes them."""

    def __init__(self, code: str, translator: QTranslator) -> None:
        self.code = code
        self._translator = translator
        self._locale = QLocale(code)
        self._collator = QCollator(self._locale)
        self._day_format = _without_year(self._locale.dateFormat(QLocale.FormatType.ShortFormat))

    def find(self, text: TranslatableText) -> str:
        count = text.number if text.singular else -1
        found = self._translator.translate(text.context, text.source, text.comment or None, count)
        return found or (text.singular if text.singular and text.number == 1 else text.source)

    def show_fact(self, fact: object) -> str:
        if type(fact) is int:
            return self._locale.toString(fact)
        if isinstance(fact, tuple):
            return self._locale.createSeparatedList(list(fact))
        if isinstance(fact, ByteSize):
            return format_size(fact)
        return english_fact(fact)

    def show_decimal(self, number: float, digits: int) -> str:
        return self._locale.toString(float(number), "f", digits)  # a whole one is an int to Python

    def read_decimal(self, text: str) -> float:
        """Return a number that a user typed, as the locale or as English writes it. Raises ValueError."""
        number, is_valid = self._locale.toDouble(text)
        return number if is_valid else float(text)

    def show_day(self, moment: datetime, *, with_year: bool) -> str:
        """Return a day in the short form of the locale; without its year as day and month."""
        date = QDate(moment.year, moment.month, moment.day)
        if with_year:
            return self._locale.toString(date, QLocale.FormatType.ShortFormat)
        return self._locale.toString(date, self._day_format)

    def show_weekday(self, moment: datetime) -> str:
        return self._locale.standaloneDayName(moment.isoweekday(), QLocale.FormatType.ShortFormat)

    def show_clock(self, moment: datetime) -> str:
        return self._locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)

    def sort_key(self, name: str) -> QCollatorSortKey:
        return self._collator.sortKey(name)


def _without_year(date_format: str) -> str:
    """Return a locale's format of dates without the year: `dd.MM.yy` becomes `dd.MM.`."""
    return re.sub(r"^y+\W+|[^\w.]*y+\W*$", "", date_format)


def load_language(catalog: Path) -> QtLanguage:
    """Read the compiled catalog of a language, named `helix_<code>.qm`. Raises SettingsDamaged."""
    translator = QTranslator()
    if not translator.load(str(catalog)):
        raise SettingsDamaged(
            text("The language file {name} can't be read.", name=catalog.name),
            fix=text("Reinstall Helix Desktop, or unset HELIX_LANGUAGE."),
        )
    return QtLanguage(catalog.stem.removeprefix("helix_"), translator)


def translate_qt(app: QCoreApplication, language: QtLanguage) -> None:
    """Show a language in windows: in Qt's own dialogs too, if Qt has it.

    The window reads from left to right in every language; Qt would mirror it in Arabic or Hebrew.
    """
    QGuiApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    translator = QTranslator(app)
    if translator.load(
        QLocale(language.code), "qtbase", "_", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    ):
        app.installTranslator(translator)
