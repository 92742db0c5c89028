"""The texts of the product: all of them in the catalog, none with a forbidden word."""

from __future__ import annotations

from pathlib import Path

import pytest
from texts import ts_file
from texts.build import SOURCE_CATALOG, problems_of, product_texts, write_source_catalog
from texts.extract import extract
from texts.rules import forbidden_words, outside_the_catalog

ROOT = Path(__file__).resolve().parents[2]


def _write_module(folder: Path, code: str) -> Path:
    path = folder / "module.py"
    path.write_text(f'tr = Translator("Tests")\n{code}\n', encoding="utf-8")
    return path


def test_every_text_keeps_the_rules(tmp_path: Path) -> None:
    """Every literal that a user reads is in the catalog, whole, and in the product's own words.

    What a translator starts from has every text; `./helix texts` writes it.
    """
    entries, problems = product_texts(ROOT)
    assert problems_of(ROOT, entries, problems) == []
    catalog = tmp_path / SOURCE_CATALOG.name
    write_source_catalog(catalog, entries)
    assert (ROOT / SOURCE_CATALOG).read_text(encoding="utf-8") == catalog.read_text(encoding="utf-8")


@pytest.mark.parametrize(
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
def test_a_call_that_no_catalog_can_hold_is_found(code: str, why: str, tmp_path: Path) -> None:
    """Sums, f-strings, missing facts and plurals without a number cannot be translated."""
    _, problems = extract(tmp_path, [_write_module(tmp_path, code)])
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
def test_a_text_outside_the_catalog_is_found(code: str, tmp_path: Path) -> None:
    """Wherever a literal that a user may read stands, it is seen."""
    assert len(outside_the_catalog(tmp_path, [_write_module(tmp_path, code)])) == 1


@pytest.mark.parametrize(
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
def test_what_no_user_reads_is_left_alone(code: str, tmp_path: Path) -> None:
    """Logs, docstrings, programmers' errors, names, style sheets and texts of the catalog are no findings."""
    assert outside_the_catalog(tmp_path, [_write_module(tmp_path, code)]) == []


def test_forbidden_words_are_found(tmp_path: Path) -> None:
    """With the word to write instead."""
    entries, _ = extract(tmp_path, [_write_module(tmp_path, 'tr("The store was mended.")')])
    assert [problem.why for problem in forbidden_words(entries)] == [
        "'mended' in 'The store was mended.': write 'repair'"
    ]


def test_a_catalog_keeps_translations_and_drops_what_is_gone(tmp_path: Path) -> None:
    """Reading a catalog and writing it again loses nothing that the code still has."""
    entries, _ = extract(
        tmp_path, [_write_module(tmp_path, 'tr("Restore")\ntr.plural(n, "%n entry", "%n entries")')]
    )
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
