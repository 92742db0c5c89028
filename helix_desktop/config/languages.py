"""Which language to use: the first of the user's system that has a catalog, else English."""

from __future__ import annotations

from collections.abc import Mapping
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
    for code in value.split(":"):
        name = code.partition(".")[0].partition("@")[0].replace("-", "_")
        if is_english(name):
            return None
        for candidate in (name, name.partition("_")[0]):
            catalog = folder / f"{CATALOG_PREFIX}{candidate}.qm"
            if candidate and catalog.is_file():
                return catalog
    return None


def is_english(code: str) -> bool:
    """Return whether a language needs no catalog; `C` and `POSIX` are English too."""
    return code.replace("-", "_").partition("_")[0] in {"en", "C", "POSIX"}


def catalog_codes(folder: Path) -> tuple[str, ...]:
    """Return the languages to choose from, English first."""
    catalogs = sorted(folder.glob(f"{CATALOG_PREFIX}*.qm"))
    return ("en", *(path.stem.removeprefix(CATALOG_PREFIX) for path in catalogs))
