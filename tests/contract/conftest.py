"""The folders of the contracts: in memory, for nothing here is about the disk or about time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_SHARED_MEMORY = Path("/dev/shm")  # no place to test a sandbox in: programs may write below /dev
_MIN_FREE_BYTES = 2**30  # in a container it may be too small for a single test


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """The test's own folder, in memory if there is room."""
    if not os.access(_SHARED_MEMORY, os.W_OK) or shutil.disk_usage(_SHARED_MEMORY).free < _MIN_FREE_BYTES:
        yield tmp_path
        return
    # What a killed process left running may still write.
    with TemporaryDirectory(dir=_SHARED_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
