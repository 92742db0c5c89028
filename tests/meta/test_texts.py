"""The texts of the product: all of them in the catalog, none with a forbidden word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from source_files import SourceFile
from texts import ts_file
from texts.build import build_source_catalog
from texts.extract import extract
from texts.rules import forbidden_words, outside_the_catalog

from tests.support.tables import for_each


def _module(code: str) -> SourceFile:
    return SourceFile("module.py", f'tr = Translator("Tests")\n{code}\n')


def test_the_source_catalog_follows_the_code(tmp_path: Path) -> None:
    """It is built when a file is newer, and holds every text with its English forms."""
    module = tmp_path / "helix_desktop" / "module.py"
    module.parent.mkdir()
    module.write_text(_module('tr("Restore from trash")').text)
    catalog = build_source_catalog(tmp_path)
    assert [entry.source for entry in ts_file.read_entries(catalog)] == ["Restore from trash"]
    built = catalog.stat()
    assert build_source_catalog(tmp_path).stat().st_ino == built.st_ino
    module.write_text(_module('tr("Restore from the trash")').text)
    os.utime(module, (built.st_mtime + 1, built.st_mtime + 1))
    build_source_catalog(tmp_path)
    assert [entry.source for entry in ts_file.read_entries(catalog)] == ["Restore from the trash"]


@for_each(
    ("code", "why"),
    [
        ('tr(f"{n} entries")', "one literal"),
        ('tr("a" + name)', "one literal"),
        ('tr("Model {model} not found.", model=name)', ""),
        ('tr("Model {model} not found.")', "facts"),
        ('tr("Model {model} not found.", provider="x")', "facts"),
        ('tr("Model {model} not found.", **facts)', "name each fact"),
        ('tr.plural(n, "one entry", "many entries")', "%n"),
        ('tr.plural(n, "%n entries")', "give one text"),
        ('tr("Open", "verb", "more")', "give one text"),
        ('tr("{ alone", name="x")', "expected"),
    ],
)
def test_a_call_that_no_catalog_can_hold_is_found(code: str, why: str) -> None:
    _, problems = extract([_module(code)])
    assert [why in problem.why for problem in problems] == ([True] if why else [])


@pytest.mark.parametrize(
    "code",
    [
        'button.setText("Restore")',
        'label = "No matching commands"',
        'label = f"{count} entries left"',
        'raise InvalidInput("The name is empty.")',
        'names = {"a": "Cached outputs"}',
        'print_out("2 items " + name)',
    ],
)
def test_a_text_outside_the_catalog_is_found(code: str) -> None:
    assert len(outside_the_catalog([_module(code)])) == 1


@for_each(
    "code",
    [
        'tr("Restore from trash")',
        'tr.plural(n, "%n entry left", "%n entries left")',
        '"""A docstring of words."""',
        'log.warning("could not write the file %s", name)',
        'raise ValueError("not a number of tokens")',
        'actions.start(open_folder(), "open folder")',
        'label.setStyleSheet("color: red")',
        'path = "window.open"',
        'kind: Literal["not shown"] = kinds[0]',
        'field.setStyleSheet(f"QLineEdit {{ background: {color}; border: 1px solid {edge}; }}")',
        'label.setStyleSheet("background: transparent; border: 1px solid red;")',
        'async_actions.start(save(), "save draft")',
    ],
)
def test_what_no_user_reads_is_left_alone(code: str) -> None:
    """Logs, docstrings, programmers' errors, names, style sheets and texts of the catalog are no findings."""
    assert outside_the_catalog([_module(code)]) == []


def test_forbidden_words_are_found() -> None:
    entries, _ = extract([_module('tr("The store was mended.")')])
    assert [problem.why for problem in forbidden_words(entries)] == [
        "'mended' in 'The store was mended.': write 'repair'"
    ]


def test_a_catalog_keeps_translations_and_drops_what_is_gone(tmp_path: Path) -> None:
    entries, _ = extract([_module('tr("Restore")\ntr.plural(n, "%n entry", "%n entries")')])
    path = tmp_path / "helix_de.ts"
    forms = {"Restore": ("Wiederherstellen",), "%n entries": ("%n Eintrag", "%n Einträge")}
    ts_file.write(path, "de", entries, lambda entry: ts_file.Translation(forms[entry.source]))
    translations = ts_file.read(path)
    assert {key[1]: translation.forms for key, translation in translations.items()} == forms
    first = path.read_bytes()
    ts_file.write(path, "de", entries, lambda entry: translations.get(entry.key))
    assert path.read_bytes() == first
    ts_file.write(path, "de", entries[:1], lambda entry: translations.get(entry.key))
    assert len(ts_file.read(path)) == 1
