"""Damaged rows, kept aside as files until the same content is stored again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from helix_desktop.store.codec import RowDamaged

_log = logging.getLogger(__name__)
_ROW = ".row"


class Quarantine:
    """A folder with one file per damaged row; the name begins with the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Asked at every put of known content: read once, since only the store's owner writes the folder.
        self._held: set[str] | None = None
        self._reading = threading.Lock()

    def holds(self, digest: str) -> bool:
        """Whether a row of this content is known to be damaged."""
        held = self._held
        return digest in (self._read() if held is None else held)

    def keep(self, digest: str, rows: Iterable[bytes]) -> str:
        """Copy the raw rows aside, once; the first file's name, or empty when the disk does not take them."""
        first = self._first(digest)
        self._read().add(digest)
        try:
            if not first.exists():
                for number, row in enumerate(rows):
                    (self._folder / f"{digest}.{number}" if number else first).write_bytes(row)
        except OSError as error:
            _log.warning("A damaged row of %s could not be copied aside: %s", digest, error)
            return ""
        return f"{self._folder.name}/{first.name}"

    def release(self, digest: str) -> None:
        """The content is sound again, if it was damaged; its damaged rows stay, under another name."""
        if not self.holds(digest):
            return
        first = self._first(digest)
        try:
            self._read().discard(digest)
            if first.exists():  # the disk may not have taken it
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
        self._read().discard(name.removesuffix(_ROW))

    def remove(self, digest: str) -> None:
        """Delete whatever is kept of a content."""
        for path in self._folder.glob(f"{digest}.*"):
            try:
                path.unlink()
            except OSError as error:
                _log.warning("%s could not be deleted: %s", path.name, error)
        self._read().discard(digest)

    def _read(self) -> set[str]:
        with self._reading:
            if self._held is None:
                self._held = {path.name.removesuffix(_ROW) for path in self._folder.glob(f"*{_ROW}")}
            return self._held

    def _first(self, digest: str) -> Path:
        return self._folder / f"{digest}{_ROW}"


def _may_hold(path: Path, content_of: Callable[[bytes], bytes], stands_in: Callable[[bytes], bool]) -> bool:
    try:
        row = path.read_bytes()
        return stands_in(row) or stands_in(content_of(row))
    except (OSError, RowDamaged):
        return True
