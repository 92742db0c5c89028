"""Damaged rows, saved as files until the same content is stored again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.system.files import replace_file

_log = logging.getLogger(__name__)
_ROW_SUFFIX = ".row"


class Quarantine:
    """A folder with one file per damaged row; the name begins with the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Read at every put of known content, so cached: only the store's owner writes the folder.
        self._digests: set[str] | None = None
        self._load_lock = threading.Lock()

    def holds(self, digest: str) -> bool:
        """Return True if a row of this content is known to be damaged."""
        digests = self._digests
        return digest in (self._load_digests() if digests is None else digests)

    def save(self, digest: str, rows: Iterable[bytes]) -> str:
        """Save a copy of the raw rows, once; return the first file's name, or "" if the disk refuses."""
        first = self._first_path(digest)
        self._load_digests().add(digest)
        try:
            if not first.exists():
                self._write(digest, rows)
        except OSError as error:
            _log.warning("A damaged row of %s could not be copied aside: %s", digest, error)
            return ""
        return f"{self._folder.name}/{first.name}"

    def _write(self, digest: str, rows: Iterable[bytes]) -> None:
        """Write the rows of a content; the first file, which says that they are there, comes last."""
        paths: list[tuple[Path, Path]] = []
        for number, row in enumerate(rows):
            path = self._folder / f"{digest}.{number}" if number else self._first_path(digest)
            part = path.with_name(f"{path.name}.{threading.get_ident()}.part")
            part.write_bytes(row)
            paths.append((part, path))
        for part, path in reversed(paths):
            replace_file(part, path)

    def mark_healed(self, digest: str) -> None:
        """Mark a damaged content as intact again; its damaged rows stay, under another name."""
        if not self.holds(digest):
            return
        first = self._first_path(digest)
        try:
            self._load_digests().discard(digest)
            if first.exists():  # the disk may have refused it
                first.replace(first.with_suffix(".healed"))
        except OSError as error:
            _log.warning("%s could not be renamed: %s", first.name, error)

    def find_suspects(
        self,
        digests: Collection[str],
        content_of: Callable[[bytes], bytes],
        holds_secret: Callable[[bytes], bool] | None,
    ) -> list[str]:
        """Return the files with a row of these contents, or with a secret (None: no search for one).

        An unreadable row counts as holding the secret: its content is not known.
        """
        names = []
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            has_digest = path.name.partition(".")[0] in digests
            if has_digest or (holds_secret is not None and _may_hold_secret(path, content_of, holds_secret)):
                names.append(path.name)
        return names

    def delete(self, name: str) -> None:
        """Delete one file that `find_suspects` returned."""
        (self._folder / name).unlink(missing_ok=True)
        self._load_digests().discard(name.removesuffix(_ROW_SUFFIX))

    def remove(self, digest: str) -> None:
        """Delete all saved rows of a content."""
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
