"""Damaged rows, kept aside as files until the same content is stored again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from helix_desktop.store.codec import RowDamaged

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
        """The content is sound again, if it was damaged; its damaged rows stay, under another name."""
        if not self.holds(digest):
            return
        first = self._first(digest)
        try:
            first.replace(first.with_suffix(".healed"))
        except OSError as error:
            _log.warning("%s could not be renamed: %s", first.name, error)

    def suspects(
        self,
        digests: Collection[str],
        content_of: Callable[[bytes], bytes],
        stands_in: Callable[[bytes], bool] | None,
    ) -> list[str]:
        """The files with a row of these contents, or with a text (None: no text is looked for).

        Of a row that cannot be read nobody knows what it holds: it counts as holding the text.
        """
        found = []
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            named = path.name.partition(".")[0] in digests
            if named or (stands_in is not None and _may_hold(path, content_of, stands_in)):
                found.append(path.name)
        return found

    def delete(self, name: str) -> None:
        """Delete one file that `suspects` named."""
        (self._folder / name).unlink(missing_ok=True)

    def remove(self, digest: str) -> None:
        """Delete whatever is kept of a content."""
        for path in self._folder.glob(f"{digest}.*"):
            try:
                path.unlink()
            except OSError as error:
                _log.warning("%s could not be deleted: %s", path.name, error)

    def _first(self, digest: str) -> Path:
        return self._folder / f"{digest}.row"


def _may_hold(path: Path, content_of: Callable[[bytes], bytes], stands_in: Callable[[bytes], bool]) -> bool:
    try:
        row = path.read_bytes()
        return stands_in(row) or stands_in(content_of(row))
    except (OSError, RowDamaged):
        return True
