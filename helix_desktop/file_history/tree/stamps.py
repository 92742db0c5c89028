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
_LARGEST = (1 << 63) - 1


def file_stamp(file_stat: os.stat_result) -> bytes:
    """Return the stamp of anything but a folder: size, times, inode, device, mode."""
    try:
        return _FILE.pack(
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
            file_stat.st_mode,
        )
    except struct.error:  # a year far from ours, or a long inode of Windows
        numbers = (
            file_stat.st_size,
            file_stat.st_mtime_ns,
            file_stat.st_ctime_ns,
            file_stat.st_ino,
            file_stat.st_dev,
        )
        return _FILE.pack(*(number % _LARGEST for number in numbers), file_stat.st_mode)


def modified_ns(file_stat: os.stat_result) -> int:
    """Return when a file was last changed, in nanoseconds since 1970 as far as they can be stored."""
    return max(-_LARGEST, min(file_stat.st_mtime_ns, _LARGEST))


def folder_stamp(mode: int) -> bytes:
    """Return the stamp of a folder: what is in it has stamps of its own."""
    return _FOLDER.pack(stat.S_IMODE(mode))


def is_fresh(file_stat: os.stat_result, read_ns: int) -> bool:
    """Return True if a file may have changed after it was read from `read_ns` on, without another stamp.

    What counts is the time that only the system sets. One that is a whole second may be of a file system that
    knows no finer ones; one that lies ahead is of another clock, of which nothing is certain.
    """
    changed = file_stat.st_mtime_ns if os.name == "nt" else file_stat.st_ctime_ns
    step = _FINE_NS if changed % _SECOND_NS else _COARSE_NS
    return changed > read_ns - step
