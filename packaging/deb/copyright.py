"""Writes Debian's copyright file: the app, and every part that its package carries, by their metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from frozen.system_licenses import FOLDER, library_packages

_HEAD = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Helix Desktop
Upstream-Contact: The Helix Desktop authors
Source: https://helix-desktop.invalid/
Comment: The package carries its own Python, Qt and libraries. Files of each part
 are named below, with the place of the full text of its license.
"""
_OURS = "Expat"
_COMMON = {"Apache-2.0", "GPL-2", "GPL-3", "LGPL-3", "MPL-2.0"}
_DEBIAN_NAMES = {
    "MIT": "Expat",
    "MIT License": "Expat",
    "GPL-2.0-only": "GPL-2",
    "GPL-3.0-only": "GPL-3",
    "LGPL-3.0-only": "LGPL-3",
    "BSD License": "BSD-3-clause",
    "BSD-2-Clause": "BSD-2-clause",
    "BSD-3-Clause": "BSD-3-clause",
}


def copyright_text(root: Path, internal: Path, place: str) -> str:
    """The file for a frozen app's inner folder, which the package has at `place`."""
    own_text = (root / "LICENSE").read_text(encoding="utf-8")
    holder = next(line for line in own_text.splitlines() if line.startswith("Copyright")).removeprefix(
        "Copyright "
    )
    paragraphs = [_HEAD, f"Files: *\nCopyright: {holder}\nLicense: {_OURS}\n"]
    places: dict[str, list[str]] = {}
    for name, metadata, folder in _parts(internal):
        if name == "helix-desktop":
            continue
        short = _short(metadata)
        places.setdefault(short, []).append(f"/{place}/{folder.name}")
        paragraphs.append(
            f"Files: {_files(name, internal, place)}\nCopyright: {_holder(metadata)}\nLicense: {short}\n"
        )
    for package, files in library_packages(internal / "resources").items():
        text = f"/{place}/resources/{FOLDER}/{package}.txt"
        paths = " ".join(f"{place}/{file}" for file in files)
        short = f"as-{package}-in-Debian"
        paragraphs.append(
            f"Files: {paths}\nCopyright: its authors, who are named in {text}\n"
            f"License: {short}\n The text is in {text}.\n"
        )
    body = own_text.partition("\n\n")[2].partition("\n\n")[2]
    paragraphs.append(f"License: {_OURS}\n{_indented(body)}")
    paragraphs += [_license(short, where) for short, where in sorted(places.items()) if short != _OURS]
    return "\n".join(paragraphs)


def _parts(internal: Path) -> Iterator[tuple[str, Message, Path]]:
    for folder in sorted(internal.glob("*.dist-info")):
        metadata = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))
        yield metadata["Name"].lower().replace("_", "-"), metadata, folder


def _short(metadata: Message) -> str:
    license_text = metadata["License-Expression"] or metadata["License"] or ""
    if not license_text or "\n" in license_text:
        marks = [mark for mark in metadata.get_all("Classifier", []) if mark.startswith("License ::")]
        license_text = marks[0].rpartition(" :: ")[2] if marks else "unknown"
    names = re.split(r" (OR|AND) ", license_text)
    debian = [_DEBIAN_NAMES.get(name, name) if at % 2 == 0 else name.lower() for at, name in enumerate(names)]
    return " ".join(name if name in {"or", "and"} else name.replace(" ", "-") for name in debian)


def _holder(metadata: Message) -> str:
    holder = metadata["Author"] or re.sub(r"\s*<[^>]*>", "", metadata["Author-email"] or "")
    return " ".join(holder.replace('"', "").split()) or f"the authors of {metadata['Name']}"


def _files(name: str, internal: Path, place: str) -> str:
    if name.startswith("pyside6"):
        return " ".join(
            f"{place}/{pattern}" for pattern in ("PySide6/*", "libQt6*", "libicu*", "libpyside6*")
        )
    word = name.replace("-", "_")
    inner = [path.name for path in sorted(internal.iterdir()) if path.name.lower().split(".")[0] == word]
    return " ".join(
        [f"{place}/{word}*", *(f"{place}/{name}/*" for name in inner if not name.startswith(word))]
    )


def _license(short: str, places: list[str]) -> str:
    lines = [f"License: {short}"]
    common = [
        f"/usr/share/common-licenses/{name}" for name in re.split(r" or | and ", short) if name in _COMMON
    ]
    if common:
        lines.append(f" On Debian systems the full text is in {' and '.join(common)}.")
    lines.append(" The parts under it, each with its own notice and text:")
    lines += [f" {where}" for where in places]
    return "\n".join(lines) + "\n"


def _indented(text: str) -> str:
    return "".join(f" {line}\n" if line.strip() else " .\n" for line in text.rstrip().splitlines())
