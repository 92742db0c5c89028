"""Moves a data directory: copy, verify, switch by a pointer, and only then let go of the old one.

Until the pointer is written the old folder is whole and used; from then on the new one is. A mark in the new
folder says that it is being filled, so that a move that was cut off can be begun again there, and nothing
else is ever cleared away.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from helix_desktop.config.moved import POINTER, read_pointer, write_pointer
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import DataDirUnusable, HelixError, InputUnusable

Progress = Callable[[int, int], None]
"""Bytes done and bytes in all; may raise to stop the move, which then has changed nothing."""

MARK = "being-moved-here"
_LOCKS = frozenset(
    {"window.lock", "window.open", "workspaces.lock", "owner.lock", "owner.address", POINTER, MARK}
)
"""Names that say something of running processes, or of a move: they stay where they are."""
_SPARE = 32 * 1024 * 1024  # bytes that stay free in the new place
_PART = 1024 * 1024


@dataclass(frozen=True)
class Move:
    """One move, as planned: what is to be copied, and its size in bytes."""

    source: Path
    target: Path
    files: tuple[Path, ...]
    size: int
    digests: dict[Path, bytes] = field(default_factory=dict)

    def copy(self, progress: Progress) -> None:
        """Fill the new folder, and read it again. Raises DataDirUnusable; then the old one is used on."""
        try:
            self._clear()
            done = 0
            for path in self.files:
                done = self._copy(path, done, progress)
            for path, digest in self.digests.items():
                found, done = _digest(self.target / path, done, lambda now: progress(now, 2 * self.size))
                if found != digest:
                    raise OSError(f"{path} reads otherwise than it was written")
        except OSError as error:
            raise _failed(self.target, error) from error

    def switch(self) -> None:
        """Let the new folder be used from now on. Raises DataDirUnusable; then the old one is used on."""
        try:
            _sync_folders(self.target)
            if read_pointer(self.target) is not None:  # the data comes back to where it once was
                (self.target / POINTER).unlink()
            write_pointer(self.source, self.target)
            (self.target / MARK).unlink(missing_ok=True)
        except OSError as error:
            raise _failed(self.target, error) from error

    def remove_old(self) -> tuple[Path, ...]:
        """Remove what was moved from the old folder, but for the pointer; what could not be removed."""
        left = []
        for path in sorted(self.source.iterdir()):
            if path.name == POINTER:
                continue
            try:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            except OSError:
                left.append(path)
        return tuple(left)

    def _clear(self) -> None:
        """Make the new folder, or empty it of a move that was cut off."""
        self.target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self.target / MARK).is_file():
            for path in self.target.iterdir():
                if path.name not in (MARK, POINTER):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.target / MARK).write_text(str(self.source), encoding="utf-8")

    def _copy(self, path: Path, done: int, progress: Progress) -> int:
        here, there = self.source / path, self.target / path
        there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if here.is_symlink():
            there.symlink_to(os.readlink(here))
            return done
        digest = hashlib.sha256()
        with here.open("rb") as source, there.open("xb") as target:
            while part := source.read(_PART):
                digest.update(part)
                target.write(part)
                done += len(part)
                progress(done, 2 * self.size)
            target.flush()
            os.fsync(target.fileno())
        shutil.copystat(here, there)
        self.digests[path] = digest.digest()
        return done


def plan_move(source: Path, target: Path) -> Move:
    """Look at everything that can be known before. Raises InputUnusable, DataDirUnusable; changes nothing."""
    source, target = source.resolve(), Path(os.path.abspath(target.expanduser())).resolve()
    if source == target or target.is_relative_to(source) or source.is_relative_to(target):
        raise InputUnusable(
            f"The data cannot be moved to {target}.",
            f"It lies in {source}; the two may not be the same, nor one inside the other.",
            "Choose another folder.",
        )
    try:
        _check_target(source, target)
        files = tuple(sorted(_files(source)))
        size = sum((source / path).lstat().st_size for path in files)
        free = shutil.disk_usage(_existing(target)).free
    except OSError as error:
        raise _failed(target, error) from error
    if free < size + _SPARE:
        raise InputUnusable(
            f"There is not enough room in {target}.",
            f"{size_text(size + _SPARE)} are needed, {size_text(free)} are free.",
            "Nothing was changed. Free some room there, or choose another folder.",
        )
    return Move(source, target, files, size)


def _check_target(source: Path, target: Path) -> None:
    (source / MARK).unlink(missing_ok=True)  # of the move that brought the data here
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {str(target)}
    ours = (target / MARK).is_file() and (target / MARK).read_text(encoding="utf-8") == str(source)
    if not ours and names - {POINTER}:
        raise InputUnusable(
            f"{target} is not empty.",
            "What is there would get mixed up with the data of Helix Desktop.",
            "Choose an empty folder, or one that does not exist yet.",
        )


def _files(source: Path) -> Iterator[Path]:
    """Every file and link below a folder, relative to it, but those of running processes."""
    for folder, folders, names in os.walk(source):
        here = Path(folder)
        for name in [*names, *(one for one in folders if (here / one).is_symlink())]:
            if name not in _LOCKS and not name.startswith(".probe-"):
                yield (here / name).relative_to(source)


def _digest(path: Path, done: int, tell: Callable[[int], None]) -> tuple[bytes, int]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
            done += len(part)
            tell(done)
    return digest.digest(), done


def _sync_folders(root: Path) -> None:
    """Make the names of the new files durable, where the system does not do so by itself."""
    if os.name == "nt":
        return
    for folder, _, _ in os.walk(root):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _existing(path: Path) -> Path:
    """The nearest folder above that is there."""
    while not path.is_dir():
        path = path.parent
    return path


def _failed(target: Path, error: OSError) -> HelixError:
    return DataDirUnusable(
        f"The data could not be moved to {target}.",
        f"{error.strerror or error}.",
        "It is used where it was. Make the new folder writable, or choose another one.",
    )
