"""The window's sizes and appearance between two runs: a small TOML file next to the settings."""

from __future__ import annotations

import base64
import binascii
import threading
from pathlib import Path
from typing import Any

from helix_desktop.config.toml_file import read_fields, write_fields
from helix_desktop.domain.errors import HelixError, SettingsUnreadable
from helix_desktop.ui.design.style.fonts import BASE_PX
from helix_desktop.ui.design.style.stylesheet import TEXT_PX, THEME_MODES, ThemeMode

WINDOW_STATE_FILE = "window.toml"


def layout_name(name: str, number: int) -> str:
    """Return under which name a part of a window's layout is stored; windows are counted from 1."""
    return name if number == 1 else f"{name}-{number}"


class WindowStateFile:
    """Bytes by name. A file that is damaged, or can't be read, means default sizes, no more."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write_lock = threading.Lock()
        self._fields: dict[str, Any] = {}
        self._is_unreadable = False  # it may be intact
        try:
            self._fields = read_fields(path)
        except SettingsUnreadable:
            self._is_unreadable = True
        except HelixError:
            return

    def get(self, name: str) -> bytes:
        try:
            return base64.b64decode(str(self._fields.get(name, "")), validate=True)
        except binascii.Error:
            return b""

    def put(self, name: str, value: bytes) -> None:
        """Set the bytes of a name; `save` writes them."""
        self._fields[name] = base64.b64encode(value).decode("ascii")

    def appearance(self) -> tuple[ThemeMode, int]:
        """Return theme and text size of the last run, which the first frame needs before any settings."""
        theme = self._fields.get("theme")
        text_px = self._fields.get("text_px")
        mode = next((known_mode for known_mode in THEME_MODES if known_mode == theme), THEME_MODES[0])
        return mode, text_px if isinstance(text_px, int) and text_px in TEXT_PX else BASE_PX

    def set_appearance(self, mode: ThemeMode, text_px: int) -> None:
        self._fields |= {"theme": mode, "text_px": text_px}

    def save(self) -> None:
        """Write the file; ignore a full disk, and leave a file that could not be read as it is."""
        if self._is_unreadable:
            return
        try:
            with self._write_lock:  # from threads, while the window goes on remembering
                write_fields(self._path, dict(self._fields))
        except OSError:
            return
