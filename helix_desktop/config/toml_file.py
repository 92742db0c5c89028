"""TOML files that are replaced whole or not at all, and kept aside when they are damaged."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helix_desktop.domain.errors import SettingsDamaged
from helix_desktop.system.files import replace


class TomlFiles:
    """Reads and writes TOML files."""

    def read(self, path: Path, back_up: bool = True) -> dict[str, Any]:
        """The file's content; empty when there is none.

        Raises SettingsDamaged when it is no TOML; a copy is kept beside it before anything can overwrite it,
        unless `keep_damaged` says that nothing will.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise _damaged_error(path, str(error), back_up) from error
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _damaged_error(path, str(error), back_up) from error

    def backup_damaged(self, path: Path) -> None:
        """Copy a damaged file to the next free name, as far as that is possible."""
        backup_damaged(path)

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file, durably. Raises OSError; then the former file is as it was."""
        import tomlkit  # not needed to read, and too slow for the way to the first frame

        self._write_text(path, tomlkit.dumps(fields))

    def update(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file's content as `write` does; comments that people wrote stay."""
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, TOMLKitError):
            document = tomlkit.document()
        for name in [name for name in document if name not in fields]:
            del document[name]
        for name, value in fields.items():
            if name not in document or document[name] != value:
                document[name] = value
        self._write_text(path, tomlkit.dumps(document))

    def _write_text(self, path: Path, text: str) -> None:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            replace(Path(name), path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _damaged_error(path: Path, reason: str, back_up: bool) -> SettingsDamaged:
    kept = backup_damaged(path) if back_up else None
    where = f" A copy is kept as {kept.name}." if kept else ""
    return SettingsDamaged(
        f"The file {path} is damaged.",
        f"{reason}.{where}",
        "Correct it, or delete it to begin with defaults.",
    )


def backup_damaged(path: Path) -> Path | None:
    """Copy a damaged file to the next free name, the same bytes once. None when that is not possible."""
    try:
        data = path.read_bytes()
        for number in range(1, 100):
            kept = path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")
            if not kept.exists():
                shutil.copy2(path, kept)
                return kept
            if kept.read_bytes() == data:
                return kept
    except OSError:
        return None
    return None
