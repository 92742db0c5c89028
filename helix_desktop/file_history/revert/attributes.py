"""What a file has besides content and permissions: its owner, and extended attributes."""

from __future__ import annotations

import os
from contextlib import suppress

from helix_desktop.file_history.revert.folders import Folder


def copy_attributes(replaced: tuple[Folder, str] | None, folder: Folder, name: str) -> None:
    """Give a new file what the file has that it replaces, as far as its user may; then make it durable.

    Its content stays, and its permissions are set later. None: it replaces no file.
    """
    descriptor = folder.open_to_write(name)
    try:
        if replaced is not None:
            with suppress(OSError):  # not readable: nothing of it is known
                origin = replaced[0].open_file(replaced[1])
                try:
                    _copy(origin, descriptor)
                finally:
                    os.close(origin)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(origin: int, descriptor: int) -> None:
    found, own = os.fstat(origin), os.fstat(descriptor)
    if hasattr(os, "fchown") and (found.st_uid, found.st_gid) != (own.st_uid, own.st_gid):
        try:
            os.fchown(descriptor, found.st_uid, found.st_gid)
        except OSError:
            with suppress(OSError):
                os.fchown(descriptor, -1, found.st_gid)
    if hasattr(os, "listxattr"):
        for attribute in os.listxattr(origin):
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(origin, attribute))
