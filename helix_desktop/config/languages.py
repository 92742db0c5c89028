"""Which language to use: the first of the user's system that has a catalog, else English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

CATALOG_PREFIX = "helix_"
LANGUAGE_VARIABLE = "HELIX_LANGUAGE"
"""Environment variable that chooses another language than the system's: a code, or a compiled catalog."""
_SYSTEM_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # POSIX: the first that is set wins


def find_catalog(environ: Mapping[str, str], folder: Path) -> Path | None:
    """Return the compiled catalog of the language to use; None for English, which needs none."""
    choice = environ.get(LANGUAGE_VARIABLE, "")
    if choice.endswith(".qm"):
        return Path(choice)
    value = choice or next((environ[name] for name in _SYSTEM_VARIABLES if environ.get(name)), "")
    for name in _names(value):
        if _is_english(name):
            return None
        for candidate in (name, name.partition("_")[0]):
            catalog = folder / f"{CATALOG_PREFIX}{candidate}.qm"
            if candidate and catalog.is_file():
                return catalog
    return None


def unknown_language(environ: Mapping[str, str], folder: Path) -> str:
    """Return the choice of `LANGUAGE_VARIABLE` if there is no such language; else it is empty."""
    choice = environ.get(LANGUAGE_VARIABLE, "")
    is_known = find_catalog(environ, folder) is not None or any(map(_is_english, _names(choice)))
    return "" if is_known else choice


def _names(value: str) -> Iterator[str]:
    for code in value.split(":"):
        yield code.partition(".")[0].partition("@")[0].replace("-", "_")


def _is_english(code: str) -> bool:
    """Return whether a language needs no catalog; `C` and `POSIX` are English too."""
    return code.replace("-", "_").partition("_")[0] in {"en", "C", "POSIX"}


def catalog_codes(folder: Path) -> tuple[str, ...]:
    """Return the languages to choose from, English first."""
    catalogs = sorted(folder.glob(f"{CATALOG_PREFIX}*.qm"))
    return ("en", *(path.stem.removeprefix(CATALOG_PREFIX) for path in catalogs))
