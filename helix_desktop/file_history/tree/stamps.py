"""Stamps: what a stat says of a path, by which a later one shows whether it may have changed."""

from __future__ import annotations

import os
import stat
import struct

_FILE = struct.Struct("<qqqQQI")
_FOLDER = struct.Struct("<I")
_SECOND_NS = 1_000_000_000
_COARSE_NS = 2 * _SECOND_NS  # the step of the times of FAT, the coarsest file system in use
_FINE_NS = 50_000_000  # three ticks of the slowest system clock, that of Windows: 15.6 ms
_U64 = (1 << 64) - 1


def file_stamp(found: os.stat_result) -> bytes:
    """Return the stamp of anything but a folder: size, times, inode, device, mode."""
    return _FILE.pack(
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino & _U64,
        found.st_dev & _U64,
        found.st_mode,
    )


def folder_stamp(mode: int) -> bytes:
    """Return the stamp of a folder: what is in it has stamps of its own."""
    return _FOLDER.pack(stat.S_IMODE(mode))


def is_fresh(found: os.stat_result, read_ns: int) -> bool:
    """Return True if a file may have changed after it was read from `read_ns` on, without another stamp.

    A time that is a whole second may be of a file system that knows no finer ones. Times that lie ahead are
    of another clock, of which nothing is certain.
    """
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    step = _FINE_NS if newest % _SECOND_NS else _COARSE_NS
    return newest > read_ns - step
