"""What is at a path of a workspace: read, and written at once."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from helix_desktop.system.files import read_start
from helix_desktop.system.folders import NEW_FILE, Handle, OpenFolders, link_in, open_in, stat_in

_FILE_CAP = 16 * 1024 * 1024  # bytes that are read of one file
_Form = Literal["", "file", "link", "hard link", "special"]


class Content(msgspec.Struct, frozen=True):
    """What is at a path: nothing (``), the bytes of a file, where a link leads, or another kind of file.

    Of a hard link to a file with keys, `data` is the name of that file in the same folder.
    """

    form: _Form = ""
    data: bytes = b""
    mode: int = 0
    stamp: tuple[int, ...] = ()
    """Of a file that is not copied, without `data`: a digest if it may hold keys, else it is too large."""

    @property
    def is_executable(self) -> bool:
        return self.form == "link" or bool(self.mode & 0o111)


NOTHING = Content()


def read_through(path: str) -> bytes:
    """Return the bytes of a file, also behind links; none of what is no file."""
    return read_start(path, _FILE_CAP)


def read_content(path: str) -> Content:
    """Return what is at a path; a link is not followed."""
    folder, name = os.path.split(path)
    try:
        with OpenFolders(folder) as folders:
            return read_content_at(folders.folder, name)
    except OSError:
        return NOTHING


def read_content_at(parent: Handle, name: str) -> Content:
    """Return what has a name in a folder that is held open; a link is not followed."""
    try:
        status = stat_in(parent, name)
        if stat.S_ISLNK(status.st_mode):
            return Content("link", os.fsencode(link_in(parent, name)))
        if not stat.S_ISREG(status.st_mode):
            return Content("special", mode=stat.S_IFMT(status.st_mode))
        mode = stat.S_IMODE(status.st_mode)
        if status.st_size > _FILE_CAP:
            return Content(
                "file",
                mode=mode,
                stamp=(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
            )
        with os.fdopen(open_in(parent, name), "rb") as file:
            return Content("file", file.read(_FILE_CAP), mode)
    except OSError:
        return NOTHING


@contextmanager
def held_parent(root: Path, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Hold the folder of a path of the workspace open, never through a link. Raises OSError."""
    *parts, name = path.split("/")
    with OpenFolders(root, follows_link=False) as folders:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folders.descriptor)
            folders.enter(part)
        yield folders.descriptor, name


def is_link_to(parent: int, name: str, content: Content) -> bool:
    """Return True if a name still leads to the hidden file: its bytes are copied nowhere."""
    with suppress(FileNotFoundError):
        there, key = (stat_in(parent, each) for each in (name, os.fsdecode(content.data)))
        return os.path.samestat(there, key)
    return False


def write_content(parent: int, name: str, content: Content) -> None:
    """Make a name in a folder what a content says, at once; nothing if it is not copied. Raises OSError."""
    if not content.form or content.stamp:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        return
    temporary = f".{name[:100]}.{secrets.token_hex(4)}"
    if content.form == "link":
        os.symlink(os.fsdecode(content.data), temporary, dir_fd=parent)
    elif content.form == "hard link":
        os.link(
            os.fsdecode(content.data), temporary, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False
        )
    elif content.form == "special":
        os.mkfifo(temporary, dir_fd=parent)  # of other kinds only root could make one
    else:
        fd = os.open(temporary, NEW_FILE, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb") as file:
            file.write(content.data)
            file.flush()
            os.fchmod(fd, content.mode)
            os.fsync(fd)
    os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
