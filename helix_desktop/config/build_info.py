"""The build's origin, which the builder wrote into `resources/build.toml`; a checkout has none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from helix_desktop import __version__
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, verbatim

_text = TextContext("Settings")

BUILD_FILE = "build.toml"
_SHORT_COMMIT_CHARS = 12  # digits of a commit that are displayed
_DATE_CHARS = 10  # characters of a date before its hour
_BUILD_FIELDS = ("version", "commit", "date", "target", "python", "releases")


class Build(msgspec.Struct, frozen=True):
    """Version and origin; unknown fields are empty. `releases` is where to look for a newer one."""

    version: str = __version__
    commit: str = ""
    date: str = ""
    target: str = ""
    python: str = ""
    releases: str = ""

    @property
    def origin(self) -> TranslatableText:
        """Return the origin for display: `deb, commit 0123456789ab, 2026-11-20`."""
        sha, changed, _ = self.commit.partition("+")
        commit: OptionalText = ""
        if sha:
            short = sha[:_SHORT_COMMIT_CHARS]
            commit = (
                _text("commit {id} with changes", id=short) if changed else _text("commit {id}", id=short)
            )
        parts = [part for part in (self.target, commit, self.date[:_DATE_CHARS]) if part]
        origin = verbatim(parts[0]) if parts else _source_origin()
        for part in parts[1:]:
            origin = _text("{parts}, {part}", parts=origin, part=part)
        return origin

    @property
    def text(self) -> TranslatableText:
        return _text("Helix Desktop {version} ({origin})", version=self.version, origin=self.origin)


def current_build(resources: Path | None = None) -> Build:
    """Return the running build. Raises SettingsDamaged if its file is invalid."""
    path = (resources or resources_dir()) / BUILD_FILE
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Build()
    except (OSError, ValueError) as error:
        raise _unusable_error(path, verbatim(f"{error}.")) from error
    values = {name: fields[name] for name in _BUILD_FIELDS if name in fields}
    invalid = [name for name, text in values.items() if not isinstance(text, str) or not text.isprintable()]
    if invalid:
        raise _unusable_error(path, _text("{names} must be a line of text.", names=", ".join(invalid)))
    if values.get("version", __version__) != __version__:
        why = _text(
            "It has version {actual}; the app has {expected}.", actual=values["version"], expected=__version__
        )
        raise _unusable_error(path, why)
    return Build(**values)


def _unusable_error(path: Path, why: TranslatableText) -> SettingsDamaged:
    return SettingsDamaged(_text("{file} can't be used.", file=path), why, _text("Reinstall Helix Desktop."))


def _source_origin() -> TranslatableText:
    checkout = Path(__file__).resolve().parents[2] / "pyproject.toml"
    return _text("from source") if checkout.is_file() else _text("from a Python package")
