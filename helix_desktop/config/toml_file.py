"""TOML files that are replaced atomically, and backed up when they are damaged."""

from __future__ import annotations

import io
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helix_desktop.domain.errors import SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import TextContext, join_sentences, system_reason, verbatim
from helix_desktop.system.files import open_regular, write_text_durably

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_text = TextContext("Settings")
_MAX_DEPTH = 50


def read_fields(path: Path, back_up: bool = True) -> dict[str, Any]:
    """Return the file's content; empty if there is no file.

    Raises SettingsDamaged if it is not TOML; `back_up` copies it first, before anything can overwrite it.
    Raises SettingsUnreadable if the system does not let it be read.
    """
    try:
        text = _read_text(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable_error(path, error) from error
    except UnicodeDecodeError as error:
        raise _damaged_error(path, str(error), back_up) from error
    try:
        fields = tomllib.loads(text)
        if _is_too_deep(fields):
            raise RecursionError
    except tomllib.TOMLDecodeError as error:
        raise _damaged_error(path, str(error), back_up) from error
    except RecursionError as error:
        raise _damaged_error(path, "Its values are nested too deeply", back_up) from error
    return fields


def write_fields(path: Path, fields: Mapping[str, Any]) -> None:
    """Replace the file, durably. Raises OSError; then the previous file is unchanged."""
    import tomlkit  # not needed to read, and too slow to import before the first frame

    write_text_durably(path, tomlkit.dumps(fields))


def update_fields(path: Path, fields: Mapping[str, Any]) -> None:
    """Replace the file's content as `write_fields` does; comments stay, and a file that can't be read."""
    import tomlkit

    document = read_document(path)
    for name in [name for name in document if name not in fields]:
        del document[name]
    for name, value in fields.items():
        if name not in document or document[name] != value:
            document[name] = value
    write_text_durably(path, tomlkit.dumps(document))


def read_document(path: Path) -> TOMLDocument:
    """Return a file as it can be edited, comments included; an empty one for what is none, or damaged.

    Raises OSError.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(_read_text(path))
        return tomlkit.document() if _is_too_deep(document) else document
    except (FileNotFoundError, UnicodeDecodeError, TOMLKitError, RecursionError):
        return tomlkit.document()


def _is_too_deep(value: object) -> bool:
    """Return True for a value in 50 others: what reads it recurses, and Helix Desktop writes four levels."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def _read_text(path: Path) -> str:
    """Return the text of a file. Raises OSError, UnicodeDecodeError."""
    with io.TextIOWrapper(open_regular(path), encoding="utf-8") as file:
        return file.read()


def _unreadable_error(path: Path, error: OSError) -> SettingsUnreadable:
    if path.is_dir():
        fix = _text("Move the folder away, then start Helix Desktop again.")
    elif path.exists() and not path.is_file():
        fix = _text("Move it away: only a file is read here. Then start Helix Desktop again.")
    else:
        fix = _text("Make it readable, then start Helix Desktop again.")
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
