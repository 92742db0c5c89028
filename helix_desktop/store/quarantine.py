"""Damaged rows, kept aside as files until the same content is stored again."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

_log = logging.getLogger(__name__)


class Quarantine:
    """A folder with one file per damaged row; the name begins with the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, digest: str) -> bool:
        """Whether a row of this content is known to be damaged."""
        # Asked at every put of known content: Path takes three times as long.
        return os.path.exists(f"{self._folder}/{digest}.row")

    def keep(self, digest: str, rows: Iterable[bytes]) -> str:
        """Copy the raw rows aside, once; the first file's name, or empty when the disk does not take them."""
        try:
            if self.holds(digest):
                return f"{self._folder.name}/{self._first(digest).name}"
            for number, row in enumerate(rows):
                path = self._folder / f"{digest}.{number}" if number else self._first(digest)
                path.write_bytes(row)
        except OSError as error:
            _log.warning("A damaged row of %s could not be copied aside: %s", digest, error)
            return ""
        return f"{self._folder.name}/{self._first(digest).name}"

    def release(self, digest: str) -> None:
        """The content is sound again; its damaged rows stay, under another name."""
        first = self._first(digest)
        try:
            first.replace(first.with_suffix(".healed"))
        except OSError as error:
            _log.warning("%s could not be renamed: %s", first.name, error)

    def _first(self, digest: str) -> Path:
        return self._folder / f"{digest}.row"
