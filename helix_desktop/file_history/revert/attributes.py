"""What a file has besides content and permissions: its owner, and extended attributes."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from helix_desktop.file_history.revert.folders import Folder


def give_attributes(
    staging: Folder, name: str, mode: int, place: Folder | None, replaced: str, *, syncs: bool
) -> None:
    """Give a staged file its permissions and what the file has that it replaces; durable if it `syncs`.

    What its user may not give is left out. One that replaces none (an empty name) gets the group of the
    folder that it comes to, if new files there do; None: that is still to be made.
    """
    descriptor = staging.open_to_write(name)
    try:
        if place is not None and replaced:
            with suppress(OSError), place.open_file(replaced) as origin:  # else nothing of it is known
                _copy(origin, descriptor)
        elif place is not None and hasattr(os, "fchown"):
            file_stat = place.own_stat()
            if file_stat.st_mode & stat.S_ISGID:
                with suppress(OSError):
                    os.fchown(descriptor, -1, file_stat.st_gid)
        needs_mode = stat.S_IMODE(os.fstat(descriptor).st_mode) != mode  # some disks know none
        if needs_mode and hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        if syncs:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if needs_mode and not hasattr(os, "fchmod"):
        staging.set_mode(name, mode)


def _copy(origin: int, descriptor: int) -> None:
    original, own = os.fstat(origin), os.fstat(descriptor)
    if hasattr(os, "fchown") and (original.st_uid, original.st_gid) != (own.st_uid, own.st_gid):
        try:
            os.fchown(descriptor, original.st_uid, original.st_gid)
        except OSError:
            with suppress(OSError):
                os.fchown(descriptor, -1, original.st_gid)
    if hasattr(os, "listxattr"):
        for attribute in os.listxattr(origin):
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(origin, attribute))
