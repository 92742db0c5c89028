"""File operations where systems differ: pipes and devices, code pages, files open elsewhere, what may run."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_TRIES = 20
_PAUSE_S = 0.05
SQLITE_COMPANIONS = ("-wal", "-shm", "-journal")
"""The ends of the names of files that SQLite keeps beside a database."""


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file to be read. Raises OSError, also for a pipe or a device, which would wait for ever."""
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


def read_regular(path: Path) -> bytes:
    """Return the bytes of a file. Raises OSError as `open_regular` does."""
    with open_regular(path) as file:
        return file.read()


def read_start(path: Path | str, size: int) -> bytes:
    """Return the first bytes of a file, also behind links; none of what is no readable file."""
    try:
        with open_regular(path) as file:
            return file.read(size)
    except (OSError, ValueError):  # ValueError: no path, such as one with a null
        return b""


MoveFile = Callable[[Path, Path], object]


def replace_file(
    source: Path,
    target: Path,
    windows: bool = os.name == "nt",
    move: MoveFile = lambda source, target: source.replace(target),
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Replace a file by another. Raises OSError.

    Windows refuses that while another program, such as a virus scanner, has one of the two open: there it is
    retried for a second.
    """
    for _ in range(_TRIES - 1 if windows else 0):
        try:
            move(source, target)
        except PermissionError:
            pause(_PAUSE_S)
        else:
            return
    move(source, target)


def write_text_durably(path: Path, text: str) -> None:
    """Replace a text file durably; a crash leaves the former or the new one. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        replace_file(Path(name), path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def delete_database(path: Path) -> None:
    """Delete a database of SQLite with its companion files, which need not exist. Raises OSError."""
    for suffix in ("", *SQLITE_COMPANIONS):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable. Raise OSError."""
    if sys.platform == "win32":
        return  # NTFS journals names by itself; folders cannot be opened for syncing there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def non_folder_in(path: Path) -> str:
    """Return the first part of a path that exists and isn't a folder, such as a file; empty for none."""
    parts = (*reversed(path.parents), path)
    return next((str(part) for part in parts if os.path.lexists(part) and not os.path.isdir(part)), "")


def ansi_path(path: Path) -> str:
    """Return a path for libraries that take names in the code page, as LevelDB does.

    On Windows this is UTF-8 for the installed program, whose manifest says so. For any other Python there, a
    folder whose name cannot be encoded gets its short (8.3) form, which most disks have.
    """
    text = str(path)
    if sys.platform != "win32" or text.isascii():
        return text
    import ctypes

    kernel = ctypes.WinDLL("kernel32")
    if kernel.GetACP() == _UTF8:
        return text
    buffer = ctypes.create_unicode_buffer(_LONGEST)
    length = kernel.GetShortPathNameW(str(path.parent), buffer, _LONGEST)
    return str(Path(buffer.value, path.name)) if length else text


_UTF8 = 65001
_LONGEST = 32768


_PROGRAMS = (".desktop", ".appimage", ".run", ".jar", ".app", ".command", ".workflow", ".terminal", ".url")
_PROGRAMS_WINDOWS = (
    ".exe", ".com", ".bat", ".cmd", ".ps1", ".vbs", ".vbe", ".js", ".jse", ".wsf", ".wsh", ".hta", ".msi",
    ".msp", ".scr", ".cpl", ".lnk", ".pif", ".reg", ".inf", ".py", ".pyw", ".pyc", ".pyz", ".msc", ".jnlp",
)  # fmt: skip


def may_run(path: Path) -> bool:
    """Return True if opening a file may run it: a program, a script that can be executed, a link to one."""
    suffix = path.suffix.lower()
    if suffix in _PROGRAMS or (sys.platform == "win32" and suffix in _PROGRAMS_WINDOWS):
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True
    can_run = sys.platform != "win32" and mode & 0o111
    return not stat.S_ISREG(mode) or bool(can_run)
