"""Damaged rows, kept aside as files until the same content is stored again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from helix_desktop.store.core.row_codec import RowDamaged

_log = logging.getLogger(__name__)
_ROW_SUFFIX = ".row"


class Quarantine:
    """A folder with one file per damaged row; the name begins with the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Asked at every put of known content: read once, since only the store's owner writes the folder.
        self._digests: set[str] | None = None
        self._load_lock = threading.Lock()

    def holds(self, digest: str) -> bool:
        """Return True if a row of this content is known to be damaged."""
        held = self._digests
        return digest in (self._load_digests() if held is None else held)

    def save(self, digest: str, rows: Iterable[bytes]) -> str:
        """Copy the raw rows aside, once; the first file's name, or empty when the disk does not take them."""
        first = self._first_path(digest)
        self._load_digests().add(digest)
        try:
            if not first.exists():
                for number, row in enumerate(rows):
                    (self._folder / f"{digest}.{number}" if number else first).write_bytes(row)
        except OSError as error:
            _log.warning("A damaged row of %s could not be copied aside: %s", digest, error)
            return ""
        return f"{self._folder.name}/{first.name}"

    def mark_healed(self, digest: str) -> None:
        """The content is sound again, if it was damaged; its damaged rows stay, under another name."""
        if not self.holds(digest):
            return
        first = self._first_path(digest)
        try:
            self._load_digests().discard(digest)
            if first.exists():  # the disk may not have taken it
                first.replace(first.with_suffix(".healed"))
        except OSError as error:
            _log.warning("%s could not be renamed: %s", first.name, error)

    def find_suspects(
        self,
        digests: Collection[str],
        content_of: Callable[[bytes], bytes],
        holds_secret: Callable[[bytes], bool] | None,
    ) -> list[str]:
        """Return the files with a row of these contents, or with a text (None: no text is looked for).

        Of a row that cannot be read nobody knows what it holds: it counts as holding the text.
        """
        found = []
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            named = path.name.partition(".")[0] in digests
            if named or (holds_secret is not None and _may_hold_secret(path, content_of, holds_secret)):
                found.append(path.name)
        return found

    def delete(self, name: str) -> None:
        """Delete one file that `suspects` named."""
        (self._folder / name).unlink(missing_ok=True)
        self._load_digests().discard(name.removesuffix(_ROW_SUFFIX))

    def remove(self, digest: str) -> None:
        """Delete whatever is kept of a content."""
        for path in self._folder.glob(f"{digest}.*"):
            try:
                path.unlink()
            except OSError as error:
                _log.warning("%s could not be deleted: %s", path.name, error)
        self._load_digests().discard(digest)

    def _load_digests(self) -> set[str]:
        with self._load_lock:
            if self._digests is None:
                self._digests = {
                    path.name.removesuffix(_ROW_SUFFIX) for path in self._folder.glob(f"*{_ROW_SUFFIX}")
                }
            return self._digests

    def _first_path(self, digest: str) -> Path:
        return self._folder / f"{digest}{_ROW_SUFFIX}"


def _may_hold_secret(
    path: Path, content_of: Callable[[bytes], bytes], holds_secret: Callable[[bytes], bool]
) -> bool:
    try:
        row = path.read_bytes()
        return holds_secret(row) or holds_secret(content_of(row))
    except (OSError, RowDamaged):
        return True
