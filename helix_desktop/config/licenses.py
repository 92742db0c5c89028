"""The components of Helix Desktop and their licenses: the texts are bundled, nothing is fetched."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageMetadata
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop import __version__
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.translatable_text import TextContext, verbatim

_text = TextContext("Settings")

LICENSES_FOLDER = "licenses"
PARTS_FILE = "parts.toml"
_SYSTEM = "system"
"""The folder of packages that the builder took from its own system; a checkout has none."""
_PACKAGES = "packages.json"
"""Lists these packages, with their copyright files."""
_COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])")
_TEXT = re.compile(r"(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|UNLICENSE)[^/]*", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_NAME_CHARS = 60  # some distributions put the full text where the name of the license belongs
_CLASSIFIER = "License :: OSI Approved :: "
_LICENSE_IDS = {"BSD License": "BSD-3-Clause", "MIT License": "MIT"}
"""License identifiers for names in old metadata; the texts that come with them agree."""


_LICENSE_ALIASES = {"GPL": "GPL-3", "LGPL": "LGPL-3", "GPL-1": "GPL-2"}
"""Names without a version mean the newest one; version 1 allows any later one."""
_IGNORED_LICENSES = frozenset(
    {"Artistic", "BSD", "CC0-1.0", "GFDL", "GFDL-1.2", "GFDL-1.3", "MPL-1.1", "MPL-2.0"}
)
"""Licenses of documents and scripts that are not shipped, or alternatives to a bundled license."""


class LicensedComponent(msgspec.Struct, frozen=True):
    """A shipped component: its license by name, and in full as pairs of file name and text."""

    name: str
    version: str
    license_name: str
    texts: tuple[tuple[str, str], ...]
    location: str = ""
    notice: str = ""

    @property
    def is_complete(self) -> bool:
        return bool(self.license_name and self.texts and all(text.strip() for _, text in self.texts))

    @property
    def text(self) -> str:
        paragraphs = [" ".join(part.split()) for part in self.notice.split("\n\n") if part.strip()]
        return "\n\n".join(
            [*paragraphs, *(f"{name}\n{'=' * len(name)}\n\n{text.strip()}" for name, text in self.texts)]
        )


def all_components(resources: Path | None = None) -> list[LicensedComponent]:
    """Return everything that is shipped, Helix Desktop first, the rest by name. Raises SettingsDamaged.

    A component whose license or texts are missing is in the list with `is_complete` false.
    """
    folder = (resources or resources_dir()) / LICENSES_FOLDER
    try:
        listed = tomllib.loads((folder / PARTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable_error(folder / PARTS_FILE, error) from error
    bundled = [_bundled_component(fields, folder) for fields in listed["part"]]
    covered = {canonical_name(name) for fields in listed["part"] for name in fields.get("covers", ())}
    distributions = [
        component
        for name, component in _closure(tuple(listed["distributions"])).items()
        if name not in covered
    ]
    components = [*bundled, *distributions, *_system_components(folder)]
    others = sorted(components[1:], key=lambda component: component.name.casefold())
    return [components[0], *others]


def _system_components(folder: Path) -> list[LicensedComponent]:
    """Return the packages that a frozen app contains from its build system. Raises SettingsDamaged."""
    path = folder / _SYSTEM / _PACKAGES
    if not path.parent.is_dir():
        return []
    try:
        listed: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        packages = [
            (name, str(fields["version"]), ", ".join(fields["files"])) for name, fields in listed.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unusable_error(path, error) from error
    return [_package_component(path.parent, *package) for package in packages]


def _package_component(folder: Path, name: str, version: str, files: str) -> LicensedComponent:
    text = _read(folder / f"{name}.txt")
    common = [
        (f"{license_id}.txt", _read(folder.parent / "common" / f"{license_id}.txt"))
        for license_id in _referenced_licenses(text)
    ]
    return LicensedComponent(name, version, _text("see its text"), ((f"{name}.txt", text), *common), files)


def _referenced_licenses(text: str) -> list[str]:
    """Return the names of licenses that a text references in the system's own copies."""
    names = (name.removesuffix(".txt") for name in _COMMON.findall(text))
    return sorted({_LICENSE_ALIASES.get(name, name) for name in names if name not in _IGNORED_LICENSES})


def _unusable_error(path: Path, error: Exception) -> SettingsDamaged:
    what = _text("{file} can't be used.", file=path)
    fix = _text("Reinstall Helix Desktop.")
    return SettingsDamaged(what, verbatim(f"{error}."), fix)


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _bundled_component(fields: Mapping[str, Any], folder: Path) -> LicensedComponent:
    texts = tuple((Path(name).name, _read(folder / name)) for name in fields["texts"])
    version = str(fields.get("version", ""))
    resolved_version = _included_version(version.removeprefix("@")) if version.startswith("@") else version
    return LicensedComponent(
        fields["name"],
        resolved_version,
        fields["license"],
        texts,
        fields.get("where", ""),
        fields.get("notice", ""),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@cache
def _closure(roots: tuple[str, ...]) -> dict[str, LicensedComponent]:
    """Return the root distributions and their installed dependencies, transitively.

    A conditional requirement may be missing; one without a condition is listed as incomplete. Cached:
    what is installed does not change meanwhile, and some hundred files are read for it.
    """
    components: dict[str, LicensedComponent] = {}
    pending: list[tuple[tuple[str, ...], bool]] = [(tuple(_NAME.findall(root)), True) for root in roots]
    while pending:
        names, needed = pending.pop()
        if any(canonical_name(name) in components for name in names):
            continue
        installed = next(
            (distribution for distribution in map(_distribution, names) if distribution is not None), None
        )
        if installed is not None:
            metadata = installed.metadata  # parsed again each time it is asked for
            components[canonical_name(metadata["Name"])] = _distribution_component(installed, metadata)
            pending += _requirements(metadata)
        elif needed:
            components[canonical_name(names[0])] = LicensedComponent(names[0], "", "", ())
    return components


def _distribution(name: str) -> Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _requirements(metadata: PackageMetadata) -> Iterator[tuple[tuple[str, ...], bool]]:
    for requirement in metadata.get_all("Requires-Dist") or ():
        specifier, _, condition = requirement.partition(";")
        name = _NAME.match(specifier.strip())
        if name and "extra" not in condition:
            yield (name[0],), not condition.strip()


def _distribution_component(distribution: Distribution, metadata: PackageMetadata) -> LicensedComponent:
    name = metadata["Name"]
    version = metadata["Version"]
    texts = [
        (file.name, _read(file))
        for file in _metadata_folder(distribution, f"{name}-{version}").rglob("*")
        if _TEXT.fullmatch(file.name) and file.is_file()
    ]
    return LicensedComponent(
        name,
        version,
        _license_name(metadata),
        tuple(sorted(texts)),
        _text("the Python package {name}", name=name),
    )


def _metadata_folder(distribution: Distribution, name: str) -> Path:
    """Return the folder of a distribution's metadata, found by name: an installed app has no file lists."""
    site = Path(str(distribution.locate_file("")))
    folder_name = canonical_name(name)
    matches = (path for path in site.glob("*.dist-info") if canonical_name(path.stem) == folder_name)
    return next(matches, site / f"{name}.dist-info")


def _license_name(metadata: PackageMetadata) -> str:
    """Return the license name: the new field, else the old one if it is short, else a classifier."""

    def field_values(field: str) -> list[str]:
        return [str(text).strip() for text in metadata.get_all(field) or ()]

    license_field = "".join(field_values("License")[:1])
    classified = [
        text.removeprefix(_CLASSIFIER) for text in field_values("Classifier") if text.startswith(_CLASSIFIER)
    ]
    short = [license_field] if len(license_field) <= _MAX_NAME_CHARS and "\n" not in license_field else []
    names = [*field_values("License-Expression"), *short, *classified, *license_field.splitlines()[:1]]
    name = next(filter(None, names), "")
    return _LICENSE_IDS.get(name, name)


def _included_version(name: str) -> str:
    """Return the version of what comes with Python or with a package; empty if that is not installed."""
    import pyexpat
    import sqlite3
    import ssl
    import zlib

    import plyvel
    import zstandard

    if name in _DISTRIBUTIONS:
        installed = _distribution(_DISTRIBUTIONS[name])
        return installed.version if installed is not None else ""
    versions = {
        "helix": __version__,
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION.removeprefix("OpenSSL ").partition(" ")[0],
        "sqlite": sqlite3.sqlite_version,
        "leveldb": str(plyvel.__leveldb_version__),
        "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "expat": pyexpat.EXPAT_VERSION.removeprefix("expat_"),
    }
    return versions[name]


_DISTRIBUTIONS = {"qt": "PySide6-Essentials", "latex2mathml": "latex2mathml"}
