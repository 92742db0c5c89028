"""The interface for TOML files that the workspaces need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import (
    TextContext,
    TranslatableText,
    join_sentences,
    system_reason,
)

text = TextContext("Workspaces")


class TomlStorage(Protocol):
    """Reads and writes TOML files: durably, atomically, with backups of damaged files."""

    def read(self, path: Path, back_up: bool = True) -> dict[str, Any]:
        """Return the file's content; empty if there is no file. Raises SettingsDamaged.

        With `back_up` a damaged file is copied next to it, because it may be overwritten. One that can't be
        read raises SettingsUnreadable, and is never overwritten.
        """
        ...

    def update(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file's content; comments stay. Raises OSError."""
        ...

    def backup_damaged(self, path: Path) -> None:
        """Copy a damaged file to a free name next to it, if possible."""
        ...

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file. Raises OSError."""
        ...


def check_replaceable(files: TomlStorage, path: Path, what: TranslatableText) -> None:
    """Raise HelixError, which says `what` was not saved, if a file can't be read: it may be intact."""
    try:
        files.read(path, back_up=False)
    except SettingsUnreadable as error:
        raise HelixError(what, join_sentences(error.what, error.why), error.fix) from error
    except SettingsDamaged:
        return


def save_error(what: TranslatableText, folder: Path, error: OSError) -> HelixError:
    """Return the error for something that could not be saved and is unchanged."""
    if isinstance(error, FileNotFoundError):
        return gone_error(what, folder)
    return HelixError(
        what,
        system_reason(error),
        text("Free up disk space or make {folder} writable, then try again.", folder=folder),
    )


def gone_error(what: TranslatableText, folder: Path) -> HelixError:
    """Return the error for something that was not saved because a folder of the app's own data is gone."""
    return HelixError(
        what,
        text("{folder} was deleted or moved, or its drive was disconnected.", folder=folder),
        text("Put it back and try again, or quit and start Helix Desktop to continue without it."),
    )
