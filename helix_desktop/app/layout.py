"""Where the window keeps sizes between two runs: one small TOML file beside the settings."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from helix_desktop.config.toml_file import TomlFiles
from helix_desktop.context.errors import HelixError


class LayoutFile:
    """Bytes by name. A damaged file means default sizes, no more."""

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, TomlFiles()
        try:
            self._fields: dict[str, Any] = self._files.read(path)
        except HelixError:
            self._fields = {}

    def recall(self, name: str) -> bytes:
        """What was remembered under a name; empty when nothing was."""
        try:
            return base64.b64decode(str(self._fields.get(name, "")), validate=True)
        except binascii.Error:
            return b""

    def remember(self, name: str, value: bytes) -> None:
        """Keep bytes under a name until `save`."""
        self._fields[name] = base64.b64encode(value).decode("ascii")

    def save(self) -> None:
        """Write the file; a full disk costs the sizes, nothing else."""
        try:
            self._files.write(self._path, self._fields)
        except OSError:
            return
