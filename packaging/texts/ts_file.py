"""Writes Qt's catalogs: .ts files, which translators edit, and the .qm files that lrelease makes of them."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from texts.extract import Entry

Key = tuple[str, str, str, bool]
_UP = "../../"
"""From the folder of the catalogs to that of the product."""


@dataclass(frozen=True)
class Translation:
    """What a catalog has for a text: one form, or one for each number that the language tells apart."""

    forms: tuple[str, ...]
    is_finished: bool = True


Translate = Callable[[Entry], Translation | None]


class CatalogUnusable(Exception):
    """A catalog that lrelease refuses."""


def write(path: Path, language: str, entries: Sequence[Entry], translate: Translate) -> None:
    """Write a catalog of every text, each once, with the files that it stands in.

    A text without a translation is unfinished. Lines are left out: they would change with every edit.
    """
    root = ET.Element("TS", version="2.1", language=language, sourcelanguage="en_US")
    for name, of_context in groupby(entries, key=lambda entry: entry.context):
        context = ET.SubElement(root, "context")
        ET.SubElement(context, "name").text = name
        for _, same in groupby(sorted(of_context, key=lambda entry: entry.key), key=lambda entry: entry.key):
            _add(context, list(same), translate)
    ET.indent(root, "    ")
    text = ET.tostring(root, encoding="unicode")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{text}\n', encoding="utf-8", newline="\n"
    )


def _add(context: ET.Element, same: list[Entry], translate: Translate) -> None:
    entry = same[0]
    message = ET.SubElement(context, "message", {"numerus": "yes"} if entry.singular else {})
    for path in sorted({found.path for found in same}):
        ET.SubElement(message, "location", filename=f"{_UP}{path}")
    ET.SubElement(message, "source").text = entry.source
    if entry.comment:
        ET.SubElement(message, "comment").text = entry.comment
    found = translate(entry)
    unfinished = {} if found is not None and found.is_finished else {"type": "unfinished"}
    translation = ET.SubElement(message, "translation", unfinished)
    forms = found.forms if found is not None else ()
    if not entry.singular:
        translation.text = "".join(forms)
    for form in forms if entry.singular else ():
        ET.SubElement(translation, "numerusform").text = form


def read(path: Path) -> Mapping[Key, Translation]:
    """Return what a catalog has for each text."""
    found: dict[Key, Translation] = {}
    for context in ET.parse(path).getroot().iter("context"):
        name = context.findtext("name", "")
        for message in context.iter("message"):
            translation = message.find("translation")
            if translation is None:
                continue
            is_plural = message.get("numerus") == "yes"
            forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
            key = (name, message.findtext("source", ""), message.findtext("comment", ""), is_plural)
            if any(forms):
                found[key] = Translation(tuple(forms), translation.get("type") is None)
    return found


def read_entries(path: Path) -> list[Entry]:
    """Return the texts of the English catalog; it does not tell their lines."""
    return [
        Entry(
            context.findtext("name", ""),
            message.findtext("source", ""),
            message.findtext("comment", ""),
            message.findtext("translation/numerusform", ""),
            location.get("filename", "").removeprefix(_UP),
            line=0,
        )
        for context in ET.parse(path).getroot().iter("context")
        for message in context.iter("message")
        for location in message.iter("location")
    ]


def compile_catalog(lrelease: Path, source: Path, target: Path) -> None:
    """Compile a .ts file into a .qm file. Raises CatalogUnusable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(lrelease), "-silent", str(source), "-qm", str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not target.is_file():
        raise CatalogUnusable(f"{source.name} cannot be compiled: {done.stdout}{done.stderr}")
