"""The pseudo-languages for tests: compiled once, spoken for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from texts.build import SOURCE_CATALOG, write_pseudo
from texts.ts_file import read_entries
from update_texts import LRELEASE

from helix_desktop.app.qt_language import load_language
from helix_desktop.words.english import English
from helix_desktop.words.translation import use_language

ROOT = Path(__file__).resolve().parents[2]


@cache
def _catalogs() -> Path:
    folder = Path(mkdtemp(prefix="helix-languages-"))
    # Another test holds the catalog to the code; to read all of that again takes seconds of every process.
    write_pseudo(folder, read_entries(ROOT / SOURCE_CATALOG), LRELEASE)
    return folder


def pseudo_catalog(code: str) -> Path:
    """Return the compiled catalog of a pseudo-language, with every text of the product."""
    return _catalogs() / f"helix_{code}.qm"


@contextmanager
def pseudo_language(code: str) -> Iterator[None]:
    """Show every text in a pseudo-language for a while."""
    use_language(load_language(pseudo_catalog(code)))
    try:
        yield
    finally:
        use_language(English())
