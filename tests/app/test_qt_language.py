"""Languages other than English: catalogs compiled by Qt's own tool, numbers and dates of Qt's locale."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTranslator
from PySide6.QtWidgets import QApplication
from texts import pseudo, ts_file
from texts.build import CATALOGS, COMPILED, compile_catalogs, stale_catalogs
from texts.extract import Entry
from texts.ts_file import CatalogUnusable, Translation
from update_texts import LRELEASE

from helix_desktop.app.qt_language import QtLanguage, load_language, translate_qt
from helix_desktop.config.languages import find_catalog, unknown_language
from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.words.costs import parse_tokens, parse_usd
from helix_desktop.words.english import English
from helix_desktop.words.numbers import format_percent, format_size, format_tokens, format_usd
from helix_desktop.words.times import format_date_and_time, local_time
from helix_desktop.words.translation import Translator, translate, use_language

tr = Translator("Tests")
text = TextContext("Tests")

GERMAN = {
    "%n entries": ("%n Eintrag", "%n Einträge"),
    "Model {model} not found.": ("{model}: kein solches Modell.",),
    "Cause: {cause}": ("Ursache: {cause}",),
    "{size} of {parts}": ("{parts} mit {size}",),
}


def _entry(source: str, singular: str = "") -> Entry:
    return Entry("Tests", source, "", singular, "tests/app/test_qt_language.py", 1)


def _compile(folder: Path, code: str, entries: list[Entry], translate_entry: ts_file.Translate) -> Path:
    source = folder / f"helix_{code}.ts"
    ts_file.write(source, code, entries, translate_entry)
    ts_file.compile_catalog(LRELEASE, source, source.with_suffix(".qm"))
    return source.with_suffix(".qm")


@pytest.fixture
def german(tmp_path: Path) -> Iterator[QtLanguage]:
    entries = [_entry(source, "%n entry" if "%n" in source else "") for source in GERMAN]
    language = load_language(
        _compile(tmp_path, "de", entries, lambda entry: Translation(GERMAN[entry.source]))
    )
    use_language(language)
    yield language
    use_language(English())


def test_the_window_is_not_mirrored_in_a_language_from_right_to_left(qapp: QApplication) -> None:
    """Qt's own catalog of Hebrew asks for it as soon as it is installed."""
    translate_qt(qapp, QtLanguage("he", QTranslator()))
    assert qapp.layoutDirection() == Qt.LayoutDirection.LeftToRight
    qtbase = qapp.findChildren(QTranslator)[-1]
    assert qtbase.translate("QGuiApplication", "QT_LAYOUT_DIRECTION") == "RTL"
    qapp.removeTranslator(qtbase)
    qtbase.setParent(None)


def test_texts_are_translated_with_their_facts(german: QtLanguage) -> None:
    assert tr("Model {model} not found.", model="m-1") == "m-1: kein solches Modell."
    cause = text("Model {model} not found.", model="m-1")
    assert tr("Cause: {cause}", cause=cause) == "Ursache: m-1: kein solches Modell."
    assert tr.plural(1, "%n entry", "%n entries") == "1 Eintrag"
    assert tr.plural(1_200, "%n entry", "%n entries") == "1.200 Einträge"
    assert translate(cause) == "m-1: kein solches Modell."
    assert cause == "Model m-1 not found."


def test_a_text_that_the_catalog_lacks_stays_english(german: QtLanguage) -> None:
    assert tr("Restore") == "Restore"
    assert tr.plural(1, "%n file", "%n files") == "1 file"
    assert translate("typed by the user") == "typed by the user"


def test_numbers_and_dates_follow_the_locale(german: QtLanguage) -> None:
    assert format_tokens(14_600) == "14,6k"
    assert format_percent(0.375) == "37,5 %"
    assert format_size(2_516_582) == "2,4 MB"
    assert translate(text("{size} or more", size=ByteSize(2_516_582))) == "2,4 MB or more"
    assert german.show_decimal(1, 2) == "1,00"
    assert format_usd(1_200.5) == "$1.200,50"
    at = int(datetime(2026, 11, 3, 14, 2).timestamp() * 1000)
    assert format_date_and_time(at) == "03.11.26, 14:02"
    assert german.show_day(local_time(at), with_year=False) == "03.11."
    assert german.show_weekday(local_time(at)) == "Di"
    assert german.show_fact(("a", "b", "c")) == "a, b und c"


def test_names_are_sorted_as_the_locale_sorts_them(german: QtLanguage) -> None:
    assert sorted(["Zoo", "apfel", "Öl", "Rad"], key=german.sort_key) == ["apfel", "Öl", "Rad", "Zoo"]
    assert sorted(["Zoo", "apple", "Rad"], key=English().sort_key) == ["apple", "Rad", "Zoo"]


def test_typed_amounts_follow_the_locale_and_english(german: QtLanguage) -> None:
    """A comma is a decimal point in German, and a price that was copied in English is read as such."""
    assert [parse_usd(text) for text in ("2,50", "$1.200,5", "2.50", "")] == [2.5, 1200.5, 2.5, 0]
    assert [parse_tokens(text) for text in ("200.000", "1,5k", "2 M")] == [200_000, 1_500, 2_000_000]
    with pytest.raises(ValueError, match="Enter a number"):
        parse_usd("2,5,0")


def test_an_unreadable_catalog_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "helix_de.qm").write_bytes(b"no catalog")
    with pytest.raises(SettingsDamaged, match=r"helix_de\.qm can't be read"):
        load_language(tmp_path / "helix_de.qm")
    broken = tmp_path / "helix_fr.ts"
    broken.write_text("<TS>", encoding="utf-8")
    with pytest.raises(CatalogUnusable, match="helix_fr"):
        ts_file.compile_catalog(LRELEASE, broken, broken.with_suffix(".qm"))


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"LANG": "de_AT.UTF-8"}, "helix_de.qm"),
        ({"LANG": "en_US.UTF-8"}, None),
        ({"LANG": "C.UTF-8"}, None),
        ({"LANG": "pt_BR.UTF-8"}, None),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, None),
        ({"LANGUAGE": "fr:de:en", "LANG": "en_US.UTF-8"}, "helix_de.qm"),
        ({"LANGUAGE": "en:de"}, None),
        ({"LANG": "zh_TW@radical"}, "helix_zh_TW.qm"),
        ({"HELIX_LANGUAGE": "en", "LANG": "de_DE.UTF-8"}, None),
        ({"HELIX_LANGUAGE": "zh-TW"}, "helix_zh_TW.qm"),
    ],
)
def test_the_system_chooses_among_the_languages_that_there_are(
    environ: dict[str, str], name: str | None, tmp_path: Path
) -> None:
    for code in ("de", "zh_TW"):
        (tmp_path / f"helix_{code}.qm").touch()
    found = find_catalog(environ, tmp_path)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("choice", "unknown"),
    [("", ""), ("en_GB.UTF-8", ""), ("C", ""), ("de-AT", ""), ("fr:de", ""), ("fr:en", ""), ("fr", "fr")],
)
def test_a_choice_of_no_language_is_known_as_such(choice: str, unknown: str, tmp_path: Path) -> None:
    """What the system is set to is no choice: many of its languages have no catalog."""
    (tmp_path / "helix_de.qm").touch()
    assert unknown_language({"HELIX_LANGUAGE": choice, "LANG": "fr_FR.UTF-8"}, tmp_path) == unknown


def test_the_pseudo_languages_keep_facts_and_change_every_word(tmp_path: Path) -> None:
    """No English letter is left but in facts; the long one is half as long again."""
    entries = [_entry("Model {model} not found."), _entry("%n entries", "%n entry")]
    try:
        for code, change in pseudo.LANGUAGES.items():
            language = load_language(_compile(tmp_path, code, entries, change))
            use_language(language)
            result = [
                tr("Model {model} not found.", model="42"),
                *(tr.plural(n, "%n entry", "%n entries") for n in (1, 2)),
            ]
            assert not any("a" <= letter.lower() <= "z" for letter in "".join(result))
            assert "42" in result[0]
            assert [language.show_fact(n) in result[n] for n in (1, 2)] == [True, True]
            if code == pseudo.LONG:
                assert len(result[0]) >= 1.5 * len("Model 42 not found.")
    finally:
        use_language(English())


def test_changed_catalogs_are_compiled_into_the_resources(tmp_path: Path) -> None:
    """A language in the repository is compiled once, and again when its catalog changes."""
    catalogs = tmp_path / CATALOGS
    compiled = tmp_path / COMPILED
    ts_file.write(
        catalogs / "helix_de.ts", "de", [_entry("Restore")], lambda _: Translation(("Wiederherstellen",))
    )
    compile_catalogs(tmp_path, LRELEASE)
    assert [path.name for path in compiled.glob("*.qm")] == ["helix_de.qm"]
    assert stale_catalogs(tmp_path) == []
    os.utime(compiled / "helix_de.qm", (0, 0))
    assert [path.name for path in stale_catalogs(tmp_path)] == ["helix_de.ts"]
