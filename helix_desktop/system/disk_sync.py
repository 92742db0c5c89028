"""Makes everything on a disk durable at once: for many files that is faster than one after the other."""

from __future__ import annotations

import ctypes
import os
import sys


def _system_call() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if function is not None:
        function.argtypes = (ctypes.c_int,)
    return function


_syncfs = _system_call()

CAN_SYNC_DISK = _syncfs is not None


def sync_disk(descriptor: int) -> None:
    """Write what the file system of an open file or folder holds back. Raises OSError."""
    if _syncfs is None:
        raise OSError("this system syncs single files only")
    if _syncfs(descriptor):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
