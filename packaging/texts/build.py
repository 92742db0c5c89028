"""Brings the catalogs up to date with the code, compiles them, and lists every text by screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from source_files import SourceFile, read_sources

from texts import pseudo, rules, ts_file
from texts.extract import Entry, Problem, extract
from texts.ts_file import Key, Translation

CATALOGS = Path("packaging", "languages")
"""What translators edit, a catalog for each language; English needs none."""
COMPILED = Path("resources", "languages")
"""The compiled catalogs, which the app reads; they are not in the repository."""
PSEUDO = Path("build", "languages")
SOURCE_CATALOG = PSEUDO / "helix_en.ts"
"""Every text with its English forms: what a new language starts from."""
LISTING = Path("build", "texts.md")


def product_files(root: Path) -> Iterator[SourceFile]:
    return read_sources(root, sorted((root / "helix_desktop").rglob("*.py")))


def text_problems(file: SourceFile) -> list[Problem]:
    """Return the literals of a file that users read and that are not in the catalog."""
    package = file.name.removeprefix("helix_desktop/").split("/")[0]
    is_shown = file.name.startswith("helix_desktop/") and package in rules.SHOWN_BY
    return rules.outside_the_catalog([file]) if is_shown else []


def catalog_problems(root: Path, entries: Sequence[Entry]) -> list[Problem]:
    """Return the forbidden words of all texts, and exceptions without a use."""
    unused = [Problem(line, 0, "no longer needed") for line in rules.unused_exceptions(root)]
    return [*rules.forbidden_words(entries), *unused]


def update(root: Path, lrelease: Path) -> int:
    """Write the catalogs, their pseudo-languages and the list by screen; return 1 if a text breaks a rule."""
    files = list(product_files(root))
    entries, problems = extract(files)
    write_catalogs(root, entries)
    compile_catalogs(root, lrelease)
    write_pseudo(root / PSEUDO, entries, lrelease)
    write_listing(root / LISTING, entries)
    problems += [problem for file in files for problem in text_problems(file)]
    found = problems + catalog_problems(root, entries)
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(
        f"{len({entry.key for entry in entries})} texts, listed by screen in {LISTING.as_posix()}\n"
    )
    return 1 if found else 0


def check(root: Path, places: Sequence[Path]) -> int:
    """Print what is wrong with the texts of some files or folders; return 1 if anything is."""
    paths = sorted(
        {file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])}
    )
    files = list(read_sources(root, paths))
    entries, problems = extract(files)
    found = [*problems, *rules.forbidden_words(entries), *rules.outside_the_catalog(files)]
    sys.stdout.write("".join(f"{problem}\n" for problem in found))
    return 1 if found else 0


def write_catalogs(root: Path, entries: Sequence[Entry]) -> None:
    """Put every text into every catalog; a translation stays, and one whose text is gone goes."""
    write_source_catalog(root / SOURCE_CATALOG, entries)
    for path in _translated_catalogs(root):
        translations = ts_file.read(path)
        language = path.stem.removeprefix("helix_")
        ts_file.write(path, language, entries, partial(_translation_of, translations))


def _translated_catalogs(root: Path) -> list[Path]:
    return sorted((root / CATALOGS).glob("helix_*.ts"))


def _translation_of(translations: Mapping[Key, Translation], entry: Entry) -> Translation | None:
    return translations.get(entry.key)


def write_source_catalog(path: Path, entries: Sequence[Entry]) -> None:
    """Write the catalog of the English texts."""
    ts_file.write(
        path,
        "en_US",
        entries,
        lambda entry: Translation((entry.singular, entry.source)) if entry.singular else None,
    )


def build_source_catalog(root: Path) -> Path:
    """Write the catalog of the English texts if the code has changed since; return its path."""
    path = root / SOURCE_CATALOG
    sources = list((root / "helix_desktop").rglob("*.py"))
    if _changed_at(path) < max(map(_changed_at, sources)):
        entries, _ = extract(product_files(root))
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")  # the tests' processes build it at once
        write_source_catalog(unfinished, entries)
        unfinished.replace(path)
    return path


def stale_catalogs(root: Path) -> list[Path]:
    """Return the catalogs that were changed after they were compiled."""
    catalogs = _translated_catalogs(root)
    return [path for path in catalogs if _changed_at(path) > _changed_at(_compiled_path(root, path))]


def _compiled_path(root: Path, catalog: Path) -> Path:
    return root / COMPILED / f"{catalog.stem}.qm"


def _changed_at(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def compile_catalogs(root: Path, lrelease: Path) -> None:
    """Compile the catalogs that have changed into the resources. Raises CatalogUnusable."""
    for path in stale_catalogs(root):
        ts_file.compile_catalog(lrelease, path, _compiled_path(root, path))


def write_pseudo(folder: Path, entries: Sequence[Entry], lrelease: Path) -> None:
    """Write and compile the pseudo-languages. Raises CatalogUnusable."""
    for code, translate in pseudo.LANGUAGES.items():
        path = folder / f"helix_{code}.ts"
        ts_file.write(path, code, entries, translate)
        ts_file.compile_catalog(lrelease, path, path.with_suffix(".qm"))


def write_listing(path: Path, entries: Sequence[Entry]) -> None:
    """List every text by screen, for somebody who reads them line by line."""
    lines = ["# Every text of the product, by screen"]
    for context, of_context in groupby(entries, key=lambda entry: entry.context):
        lines += ["", f"## {context}", ""]
        for (_, source, comment, _), same in groupby(
            sorted(of_context, key=lambda entry: entry.key), lambda e: e.key
        ):
            first = next(same)
            note = f" ({comment})" if comment else ""
            singular = f"{first.singular} / " if first.singular else ""
            lines.append(
                f"- {singular}{source}{note}    `{first.path.removeprefix('helix_desktop/')}:{first.line}`"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
