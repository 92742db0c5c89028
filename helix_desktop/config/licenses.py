"""What Helix Desktop is made of, and under which terms: the texts come with it, nothing is fetched."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from helix_desktop import __version__
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import SettingsDamaged

LICENSES_FOLDER, PARTS_FILE = "licences", "parts.toml"
_SYSTEM, _PACKAGES = "system", "packages.json"
"""What the builder took from its own system, with that system's word on each; a checkout has none."""
_COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])")
_TEXT = re.compile(r"(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|UNLICENSE)[^/]*", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_NAME_CHARS = (
    60  # characters; some distributions put the whole text where the name of the licence belongs
)
_CLASSIFIER = "License :: OSI Approved :: "
_LICENSE_IDS = {"BSD License": "BSD-3-Clause", "MIT License": "MIT"}
"""What old metadata says in words, by its name of today; the text beside it says the same."""


_LICENSE_ALIASES = {"GPL": "GPL-3", "LGPL": "LGPL-3", "GPL-1": "GPL-2"}
"""Names without a version stand for the newest one; version 1 is offered in any later one."""
_IGNORED_LICENSES = frozenset(
    {"Artistic", "BSD", "CC0-1.0", "GFDL", "GFDL-1.2", "GFDL-1.3", "MPL-1.1", "MPL-2.0"}
)
"""Of documents and scripts that are not shipped, or an alternative to a licence whose text is here."""


@dataclass(frozen=True, slots=True)
class LicensedComponent:
    """One thing that is shipped: its terms by name, and in full as pairs of a file's name and its text."""

    name: str
    version: str
    license_name: str
    texts: tuple[tuple[str, str], ...]
    location: str = ""
    notice: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether its terms are known and all of their text is here."""
        return bool(self.license_name and self.texts and all(text.strip() for _, text in self.texts))

    @property
    def text(self) -> str:
        """Notice and terms, in full."""
        said = [" ".join(part.split()) for part in self.notice.split("\n\n") if part.strip()]
        return "\n\n".join(
            [*said, *(f"{name}\n{'=' * len(name)}\n\n{text.strip()}" for name, text in self.texts)]
        )


def all_components(resources: Path | None = None) -> list[LicensedComponent]:
    """Everything that is shipped, Helix Desktop first, the rest by name. Raises SettingsDamaged.

    A part whose terms or texts are missing is in the list, not `whole`.
    """
    folder = (resources or resources_dir()) / LICENSES_FOLDER
    try:
        listed = tomllib.loads((folder / PARTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable_error(folder / PARTS_FILE, error) from error
    bundled = [_bundled_component(fields, folder) for fields in listed["part"]]
    covered = {canonical_name(name) for fields in listed["part"] for name in fields.get("covers", ())}
    found = [one for name, one in _closure(tuple(listed["distributions"])).items() if name not in covered]
    own, *others = [*bundled, *found, *_system_components(folder)]
    return [own, *sorted(others, key=lambda one: one.name.casefold())]


def _system_components(folder: Path) -> list[LicensedComponent]:
    """What a frozen app carries of the system it was built on. Raises SettingsDamaged."""
    path = folder / _SYSTEM / _PACKAGES
    if not path.parent.is_dir():
        return []
    try:
        listed: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        named = [(name, str(one["version"]), ", ".join(one["files"])) for name, one in listed.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsDamaged(
            f"{path} cannot be used.", f"{error}.", "Install Helix Desktop again."
        ) from error
    return [_package_component(path.parent, *one) for one in named]


def _package_component(folder: Path, name: str, version: str, files: str) -> LicensedComponent:
    said = _read(folder / f"{name}.txt")
    common = [
        (f"{one}.txt", _read(folder.parent / "common" / f"{one}.txt")) for one in _referenced_licenses(said)
    ]
    return LicensedComponent(name, version, "as its text says", ((f"{name}.txt", said), *common), files)


def _referenced_licenses(text: str) -> list[str]:
    """The licences that a text leaves to the system's own copies, by the names they have there."""
    found = (name.removesuffix(".txt") for name in _COMMON.findall(text))
    return sorted({_LICENSE_ALIASES.get(name, name) for name in found if name not in _IGNORED_LICENSES})


def _unusable_error(path: Path, error: Exception) -> SettingsDamaged:
    return SettingsDamaged(f"{path} cannot be used.", f"{error}.", "Install Helix Desktop again.")


def canonical_name(name: str) -> str:
    """A distribution's name in the one form in which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _bundled_component(fields: Mapping[str, Any], folder: Path) -> LicensedComponent:
    texts = tuple((Path(name).name, _read(folder / name)) for name in fields["texts"])
    version = str(fields.get("version", ""))
    known = _VERSION_PROBES[version.removeprefix("@")]() if version.startswith("@") else version
    return LicensedComponent(
        fields["name"], known, fields["licence"], texts, fields.get("where", ""), fields.get("notice", "")
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@cache
def _closure(roots: tuple[str, ...]) -> dict[str, LicensedComponent]:
    """The distributions that are asked for, and those that these ask for, as far as they are here.

    A requirement that holds on other systems only is none; one without such a condition must be met. Read
    once: what is installed does not change meanwhile, and some hundred files are read for it.
    """
    found: dict[str, LicensedComponent] = {}
    open_: list[tuple[tuple[str, ...], bool]] = [(tuple(_NAME.findall(root)), True) for root in roots]
    while open_:
        names, needed = open_.pop()
        if any(canonical_name(name) in found for name in names):
            continue
        here = next((one for one in map(_distribution, names) if one is not None), None)
        if here is not None:
            found[canonical_name(here.name)] = _distribution_component(here)
            open_ += _requirements(here)
        elif needed:
            found[canonical_name(names[0])] = LicensedComponent(names[0], "", "", ())
    return found


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _requirements(distribution: importlib.metadata.Distribution) -> Iterator[tuple[tuple[str, ...], bool]]:
    for requirement in distribution.requires or ():
        asked, _, condition = requirement.partition(";")
        name = _NAME.match(asked.strip())
        if name and "extra" not in condition:
            yield (name[0],), not condition.strip()


def _distribution_component(distribution: importlib.metadata.Distribution) -> LicensedComponent:
    texts = [
        (file.name, _read(file))
        for file in _metadata_folder(distribution).rglob("*")
        if _TEXT.fullmatch(file.name) and file.is_file()
    ]
    return LicensedComponent(
        distribution.name,
        distribution.version,
        _license_name(distribution),
        tuple(sorted(texts)),
        f"the Python distribution {distribution.name}",
    )


def _metadata_folder(distribution: importlib.metadata.Distribution) -> Path:
    """Where a distribution's metadata lies, found by name: an installed app carries no lists of files."""
    site = Path(str(distribution.locate_file("")))
    named = canonical_name(f"{distribution.name}-{distribution.version}")
    found = (place for place in site.glob("*.dist-info") if canonical_name(place.stem) == named)
    return next(found, site / f"{distribution.name}-{distribution.version}.dist-info")


def _license_name(distribution: importlib.metadata.Distribution) -> str:
    """The licence by name: the new field, else the old one if it is short, else a classifier."""

    def said(field: str) -> list[str]:
        return [str(text).strip() for text in distribution.metadata.get_all(field) or ()]

    old = "".join(said("License")[:1])
    classified = [
        text.removeprefix(_CLASSIFIER) for text in said("Classifier") if text.startswith(_CLASSIFIER)
    ]
    short = [old] if len(old) <= _MAX_NAME_CHARS and "\n" not in old else []
    names = [*said("License-Expression"), *short, *classified, *old.splitlines()[:1]]
    name = next(filter(None, names), "")
    return _LICENSE_IDS.get(name, name)


def _openssl() -> str:
    import ssl

    return ssl.OPENSSL_VERSION.removeprefix("OpenSSL ").partition(" ")[0]


def _sqlite() -> str:
    import sqlite3

    return sqlite3.sqlite_version


def _leveldb() -> str:
    import plyvel

    return str(plyvel.__leveldb_version__)


def _zstd() -> str:
    import zstandard

    return ".".join(map(str, zstandard.ZSTD_VERSION))


def _zlib() -> str:
    import zlib

    return zlib.ZLIB_RUNTIME_VERSION


def _expat() -> str:
    import pyexpat

    return pyexpat.EXPAT_VERSION.removeprefix("expat_")


def _qt() -> str:
    here = _distribution("PySide6-Essentials")
    return here.version if here else ""


_VERSION_PROBES: Mapping[str, Callable[[], str]] = {
    "helix": lambda: __version__,
    "python": platform.python_version,
    "qt": _qt,
    "openssl": _openssl,
    "sqlite": _sqlite,
    "leveldb": _leveldb,
    "zstd": _zstd,
    "zlib": _zlib,
    "expat": _expat,
}
