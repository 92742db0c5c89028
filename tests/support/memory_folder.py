"""A folder in memory, where the system has one: a store syncs each write, and a disk makes tests wait."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_SHARED_MEMORY = Path("/dev/shm")  # no place to test a sandbox in: programs may write below /dev
_MIN_FREE_BYTES = 2**30  # in a container it may be too small for a single test


@contextmanager
def memory_folder(disk_folder: Path) -> Iterator[Path]:
    """A folder in memory that is gone afterwards; `disk_folder` where there is no room for one."""
    if not os.access(_SHARED_MEMORY, os.W_OK) or shutil.disk_usage(_SHARED_MEMORY).free < _MIN_FREE_BYTES:
        yield disk_folder
        return
    # What a killed process left running may still write.
    with TemporaryDirectory(dir=_SHARED_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
