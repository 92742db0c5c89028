"""TOML files that are replaced atomically, and backed up when they are damaged."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helix_desktop.domain.errors import SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import TextContext, join_sentences, system_reason, verbatim
from helix_desktop.system.files import write_text_durably

_text = TextContext("Settings")


class TomlFiles:
    """Reads and writes TOML files."""

    def read(self, path: Path, back_up: bool = True) -> dict[str, Any]:
        """Return the file's content; empty if there is no file.

        Raises SettingsDamaged if it is not TOML; `back_up` copies it first, before anything can overwrite it.
        Raises SettingsUnreadable if the system does not let it be read.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable_error(path, error) from error
        except UnicodeDecodeError as error:
            raise _damaged_error(path, str(error), back_up) from error
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _damaged_error(path, str(error), back_up) from error

    def backup_damaged(self, path: Path) -> None:
        """Copy a damaged file to the next free name, as far as that is possible."""
        backup_damaged(path)

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file, durably. Raises OSError; then the previous file is unchanged."""
        import tomlkit  # not needed to read, and too slow to import before the first frame

        write_text_durably(path, tomlkit.dumps(fields))

    def update(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file's content as `write` does; comments stay, and a file that can't be read."""
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError, TOMLKitError):
            document = tomlkit.document()
        for name in [name for name in document if name not in fields]:
            del document[name]
        for name, value in fields.items():
            if name not in document or document[name] != value:
                document[name] = value
        write_text_durably(path, tomlkit.dumps(document))


def _unreadable_error(path: Path, error: OSError) -> SettingsUnreadable:
    fix = (
        _text("Move the folder away, then start Helix Desktop again.")
        if path.is_dir()
        else _text("Make it readable, then start Helix Desktop again.")
    )
    return SettingsUnreadable(_text("The file {file} can't be read.", file=path), system_reason(error), fix)


def _damaged_error(path: Path, reason: str, back_up: bool) -> SettingsDamaged:
    backup = backup_damaged(path) if back_up else None
    return SettingsDamaged(
        _text("The file {file} is damaged.", file=path),
        join_sentences(
            verbatim(f"{reason}."), _text("A copy is kept as {copy}.", copy=backup.name) if backup else ""
        ),
        _text("Correct it, or delete it to start with defaults."),
    )


def backup_damaged(path: Path) -> Path | None:
    """Copy a damaged file to the next free name, the same bytes once; return the copy, None on failure."""
    try:
        data = path.read_bytes()
        for number in range(1, 100):
            backup = path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")
            if not backup.exists():
                shutil.copy2(path, backup)
                return backup
            if backup.read_bytes() == data:
                return backup
    except OSError:
        return None
    return None
