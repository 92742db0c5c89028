"""What the workspaces need of files: TOML, read and written whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from helix_desktop.domain.errors import HelixError


class TomlStorage(Protocol):
    """Reads and writes TOML files: durably, atomically, a damaged file kept aside."""

    def read(self, path: Path, back_up: bool = True) -> dict[str, Any]:
        """The file's content; empty when there is none. Raises SettingsDamaged.

        Of a damaged file a copy is kept beside it, unless nothing is going to overwrite it.
        """
        ...

    def update(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file's content; comments that people wrote stay. Raises OSError."""
        ...

    def backup_damaged(self, path: Path) -> None:
        """Copy a damaged file to a free name beside it, as far as that is possible."""
        ...

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file. Raises OSError."""
        ...


def save_error(item: str, folder: Path, error: OSError) -> HelixError:
    """Return the error for something that could not be written and is as it was."""
    return HelixError(
        f"{item} was not saved; it is as it was.",
        f"{error.strerror or error}.",
        f"Free some room on the disk, or make {folder} writable, and try again.",
    )
