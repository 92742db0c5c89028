"""The pseudo-languages for tests: in memory for this process, compiled for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from PySide6.QtCore import QTranslator
from texts import pseudo
from texts.build import build_source_catalog, write_pseudo
from texts.extract import Entry
from texts.ts_file import Key, read_entries
from update_texts import LRELEASE

from helix_desktop.app.qt_language import QtLanguage
from helix_desktop.words.english import English
from helix_desktop.words.translation import use_language

ROOT = Path(__file__).resolve().parents[2]


@cache
def _entries() -> dict[Key, Entry]:
    # To find them in the code takes seconds of every process.
    return {entry.key: entry for entry in read_entries(build_source_catalog(ROOT))}


@cache
def _catalogs() -> Path:
    folder = Path(mkdtemp(prefix="helix-languages-"))
    write_pseudo(folder, list(_entries().values()), LRELEASE)
    return folder


def pseudo_catalog(code: str) -> Path:
    """Return the compiled catalog of a pseudo-language, with every text of the product."""
    return _catalogs() / f"helix_{code}.qm"


class _PseudoTranslator(QTranslator):
    """The catalog of a pseudo-language without a file: to compile it takes seconds of every process."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self._forms = cache(lambda key: pseudo.LANGUAGES[code](_entries()[key]).forms)

    def translate(self, context: str, source: str, comment: str | None = None, count: int = -1) -> str:
        """Return the form of a text for its count; nothing for one that the catalog does not have."""
        key = context, source, comment or "", count >= 0
        if key not in _entries():
            return ""
        forms = self._forms(key)
        return forms[0] if count == 1 else forms[-1]


@contextmanager
def pseudo_language(code: str) -> Iterator[None]:
    """Show every text in a pseudo-language for a while, as windows do."""
    use_language(QtLanguage(code, _PseudoTranslator(code)))
    try:
        yield
    finally:
        use_language(English())
