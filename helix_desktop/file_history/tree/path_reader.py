"""Reads what stands at a path: its state, and the bytes of files that are covered."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from typing import NamedTuple

from helix_desktop.domain.file_history.state import FileState
from helix_desktop.file_history.database.tree_rows import SeenPath
from helix_desktop.file_history.tree.folder import Handle, is_folder, link_in, open_file, stat_in
from helix_desktop.file_history.tree.stamps import file_stamp, folder_stamp, is_fresh, modified_ns

_TRIES = 3  # to read a file that is written meanwhile
_PIECE = 1 << 20  # bytes


class ReadLimits(NamedTuple):
    """How much of a file is read: nothing over `size` bytes; of others the hash alone, or the bytes too."""

    size: int
    with_bytes: bool


class ReadPath(NamedTuple):
    """What was read at a path; `data` are a file's bytes where they were to be read."""

    row: SeenPath
    data: bytes | None = None


def unread(file_stat: os.stat_result) -> SeenPath:
    """Return what is known of a file that was not read."""
    state = FileState(
        "file",
        "",
        file_stat.st_size,
        stat.S_IMODE(file_stat.st_mode),
        stored=False,
        modified_ns=modified_ns(file_stat),
    )
    return SeenPath(state, file_stamp(file_stat), is_fresh=False)


def read_path(folder: Handle, name: str, limits: ReadLimits) -> ReadPath | None:
    """Return what stands under a name; None: nothing that can be covered. Raises OSError."""
    try:
        file_stat = stat_in(folder, name)
        if is_folder(file_stat):
            mode = stat.S_IMODE(file_stat.st_mode)
            return ReadPath(SeenPath(FileState("folder", mode=mode), folder_stamp(mode), is_fresh=False))
        if stat.S_ISLNK(file_stat.st_mode):
            return _read_link(folder, name, file_stat)
        if stat.S_ISREG(file_stat.st_mode):
            return (
                ReadPath(unread(file_stat))
                if file_stat.st_size > limits.size
                else _read_file(folder, name, limits)
            )
    except (FileNotFoundError, NotADirectoryError):
        pass
    return None


def _read_link(folder: Handle, name: str, file_stat: os.stat_result) -> ReadPath | None:
    started = time.time_ns()
    target = link_in(folder, name)
    if not is_unicode(target):
        return None
    return ReadPath(
        SeenPath(FileState("link", target=target), file_stamp(file_stat), is_fresh(file_stat, started))
    )


def _read_file(folder: Handle, name: str, limits: ReadLimits, tries: int = _TRIES) -> ReadPath | None:
    """Read a file; one that is written meanwhile again, then as it was read: its stamp is that of before."""
    with open_file(folder, name) as file:
        file_stat = os.fstat(file)
        if not stat.S_ISREG(file_stat.st_mode):
            return None
        started = time.time_ns()
        digest, size, data = _read_open(file, limits)
        is_same = file_stamp(os.fstat(file)) == file_stamp(file_stat)
    if not is_same and tries > 1:
        return _read_file(folder, name, limits, tries - 1)
    if size > limits.size:
        return ReadPath(unread(file_stat))
    state = FileState("file", digest, size, stat.S_IMODE(file_stat.st_mode), stored=data is not None)
    return ReadPath(SeenPath(state, file_stamp(file_stat), not is_same or is_fresh(file_stat, started)), data)


def _read_open(file: int, limits: ReadLimits) -> tuple[str, int, bytes | None]:
    """Return the digest of an open file, its size, and its bytes if they are to be read."""
    digest, size, pieces = hashlib.sha256(), 0, []
    while size <= limits.size and (piece := os.read(file, _PIECE)):
        digest.update(piece)
        size += len(piece)
        if limits.with_bytes:
            pieces.append(piece)
    return digest.hexdigest(), size, b"".join(pieces) if limits.with_bytes else None


def is_unicode(name: str) -> bool:
    """Return True if a name is text that can be stored and shown."""
    return name.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in name)
