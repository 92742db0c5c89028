"""System calls that Python has no function for: renames that replace nothing or exchange, syncing a disk.

Renames work by directory descriptors. Syncing a disk at once is faster than many files one after the other.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from pathlib import Path

from helix_desktop.system.files import replace_file

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_NEW, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)  # RENAME_EXCL, _SWAP; _NOREPLACE, _EXCHANGE


def _system_rename() -> ctypes._NamedFuncPointer | None:
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    if name is None:
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


_rename = _system_rename()


def exchange(source: str, source_folder: int | None, target: str, target_folder: int | None) -> bool:
    """Exchange what stands at two places in one step; return False where that cannot be. Raises OSError."""
    return _rename_by(_EXCHANGE, source, source_folder, target, target_folder)


def rename_new(source: str, source_folder: int | None, target: str, target_folder: int | None) -> None:
    """Rename to a name at which nothing stands. Raises FileExistsError, OSError.

    Where system or disk cannot do that in one step, a file gets its new name before it loses the old; a
    folder, or a file on a disk without hard links, may then replace what appears in that moment.
    """
    if sys.platform == "win32":
        replace_file(Path(source), Path(target), move=Path.rename)
        return
    if _rename_by(_NEW, source, source_folder, target, target_folder):
        return
    mode = os.stat(source, dir_fd=source_folder, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode):
        try:
            os.link(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (*_UNSUPPORTED, errno.EPERM, errno.EMLINK):
                raise
        else:
            os.unlink(source, dir_fd=source_folder)
            return
    try:
        os.stat(target, dir_fd=target_folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _rename_by(
    flag: int, source: str, source_folder: int | None, target: str, target_folder: int | None
) -> bool:
    if _rename is None or source_folder is None or target_folder is None:
        return False
    if not _rename(source_folder, os.fsencode(source), target_folder, os.fsencode(target), flag):
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), target)


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
