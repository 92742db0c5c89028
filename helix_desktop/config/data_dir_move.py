"""Move a data directory: copy, verify, switch by a pointer, and only then remove the old one.

Until the pointer is written the old folder is complete and in use; from then on the new one is. A mark file
in the new folder says that it is being filled, so that an interrupted move can be restarted there, and
nothing else is ever deleted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.config.paths import POINTER_FILE, remove_pointers, write_pointer
from helix_desktop.domain.errors import DataDirUnavailable, HelixError, InvalidInput
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.translatable_text import ByteSize, TextContext, folder_reason
from helix_desktop.system.files import non_folder_in, sync_folder

text = TextContext("Settings")

MARK_FILE = "being-moved-here"
_LOCKS = frozenset(
    {"window.lock", "window.open", "workspaces.lock", "owner.lock", "owner.address", POINTER_FILE, MARK_FILE}
)
"""Files that belong to running processes or to a move: they are not moved."""
_SPARE_BYTES = 32 * 1024 * 1024  # bytes that stay free at the target
_CHUNK_BYTES = 1024 * 1024


class DataDirMove(msgspec.Struct, frozen=True):
    """A planned move: the files to copy, their size in bytes, and the places that point to the old folder."""

    source: Path
    target: Path
    files: tuple[Path, ...]
    size: int
    earlier_places: tuple[Path, ...] = ()
    digests: dict[Path, bytes] = msgspec.field(default_factory=dict)

    def copy(self, on_progress: OnProgress) -> None:
        """Fill the new folder, and verify it. Raises DataDirUnavailable; then the old one stays in use."""
        try:
            self._clear()
            done = 0
            for path in self.files:
                done = self._copy_file(path, done, on_progress)
            for path, digest in self.digests.items():
                copied_digest, done = _hash_file(
                    self.target / path, done, lambda now: on_progress(now, 2 * self.size)
                )
                if copied_digest != digest:
                    raise OSError(f"{path} was not copied correctly")
        except OSError as error:
            raise _move_error(self.target, error) from error

    def switch(self) -> None:
        """Switch to the new folder. Raises DataDirUnavailable; then the old one stays in use."""
        try:
            _sync_folders(self.target)
            remove_pointers(self.target)  # where the data returns to a former place
            write_pointer(self.source, self.target)
            (self.target / MARK_FILE).unlink(missing_ok=True)
        except OSError as error:
            raise _move_error(self.target, error) from error
        for place in self.earlier_places:
            with suppress(OSError):  # it still leads there by the old folder
                if place.resolve() != self.target:
                    write_pointer(place, self.target)

    def remove_old(self) -> tuple[Path, ...]:
        """Remove what was moved from the old folder, except the pointer; return what could not be removed."""
        remaining = []
        for path in sorted(self.source.iterdir()):
            if path.name == POINTER_FILE:
                continue
            try:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            except OSError:
                remaining.append(path)
        return tuple(remaining)

    def _clear(self) -> None:
        """Create the new folder, or clear it of an interrupted move."""
        self.target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self.target / MARK_FILE).is_file():
            for path in self.target.iterdir():
                if path.name not in (MARK_FILE, POINTER_FILE):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.target / MARK_FILE).write_text(str(self.source), encoding="utf-8")

    def _copy_file(self, path: Path, done: int, on_progress: OnProgress) -> int:
        here, there = self.source / path, self.target / path
        there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if here.is_symlink():
            there.symlink_to(os.readlink(here))
            return done
        digest = hashlib.sha256()
        with here.open("rb") as source, there.open("xb") as target:
            while part := source.read(_CHUNK_BYTES):
                digest.update(part)
                target.write(part)
                done += len(part)
                on_progress(done, 2 * self.size)
            target.flush()
            os.fsync(target.fileno())
        shutil.copystat(here, there)
        self.digests[path] = digest.digest()
        return done


def plan_move(source: Path, target: Path, earlier_places: tuple[Path, ...] = ()) -> DataDirMove:
    """Check and plan a move without changing data. Raises InvalidInput, DataDirUnavailable.

    `earlier_places` are former places of the data, whose pointers will lead to the new one.
    """
    # Unlike those of a Path, these two take an unknown user's folder and a circle of links as they stand.
    source, target = source.resolve(), Path(os.path.realpath(os.path.expanduser(target)))
    if source == target or target.is_relative_to(source) or source.is_relative_to(target):
        raise InvalidInput(
            text("The data can't be moved to {folder}.", folder=target),
            text("It's in {folder}; neither folder can contain the other.", folder=source),
            text("Choose another folder."),
        )
    try:
        _check_target(source, target)
        files = tuple(sorted(_list_files(source)))
        size = sum((source / path).lstat().st_size for path in files)
        free = shutil.disk_usage(_existing_parent(target)).free
    except OSError as error:
        raise _move_error(target, error) from error
    if free < size + _SPARE_BYTES:
        raise InvalidInput(
            text("There isn't enough disk space in {folder}.", folder=target),
            text(
                "{needed} are needed; {free} are free.",
                needed=ByteSize(size + _SPARE_BYTES),
                free=ByteSize(free),
            ),
            text("Nothing was changed. Free up space there, or choose another folder."),
        )
    return DataDirMove(source, target, files, size, earlier_places)


def _check_target(source: Path, target: Path) -> None:
    (source / MARK_FILE).unlink(missing_ok=True)  # from the move that brought the data here
    if not target.exists():
        return
    fix = text("Choose an empty folder, or one that doesn't exist yet.")
    if not target.is_dir():
        raise InvalidInput(text("{path} isn't a folder.", path=target), fix=fix)
    names = {path.name for path in target.iterdir()}
    ours = (target / MARK_FILE).is_file() and (target / MARK_FILE).read_text(encoding="utf-8") == str(source)
    if not ours and names - {POINTER_FILE}:
        raise InvalidInput(
            text("{folder} isn't empty.", folder=target),
            text("Its files would mix with the data of Helix Desktop."),
            fix,
        )


def _list_files(source: Path) -> Iterator[Path]:
    """Yield every file and link below a folder, relative to it, except those of running processes."""
    for folder, folders, names in os.walk(source):
        parent = Path(folder)
        for name in [*names, *(link_name for link_name in folders if (parent / link_name).is_symlink())]:
            if name not in _LOCKS and not name.startswith(".probe-"):
                yield (parent / name).relative_to(source)


def _hash_file(path: Path, done: int, on_progress: Callable[[int], None]) -> tuple[bytes, int]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK_BYTES):
            digest.update(part)
            done += len(part)
            on_progress(done)
    return digest.digest(), done


def _sync_folders(root: Path) -> None:
    """Sync all folders to make the new file names durable, where the system needs that."""
    for folder, _, _ in os.walk(root):
        sync_folder(Path(folder))


def _existing_parent(path: Path) -> Path:
    """Return the nearest existing parent folder."""
    while not path.is_dir():
        path = path.parent
    return path


def _move_error(target: Path, error: OSError) -> HelixError:
    return DataDirUnavailable(
        text("The data couldn't be moved to {folder}.", folder=target),
        folder_reason(error, target, non_folder_in(target)),
        text("It stays where it was. Make the new folder writable, or choose another one."),
    )
