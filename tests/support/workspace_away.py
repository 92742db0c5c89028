"""A workspace's folder that is away for a moment, as when a network drive is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

HowAway = Literal["renamed", "behind another drive"]
HOW_AWAY: tuple[HowAway, ...] = ("renamed", "behind another drive")
_DRIVES = (Path("/dev/shm"), Path(tempfile.gettempdir()))  # the tests lie in one of them


@contextmanager
def away(root: Path, how: HowAway) -> Iterator[Path]:
    """Have a folder away for a block; yield what is in its place. Behind another drive that is empty."""
    moved = root.rename(root.with_name("moved"))
    try:
        if how == "renamed":
            yield root
            return
        device = moved.stat().st_dev
        drive = next((drive for drive in _DRIVES if drive.is_dir() and drive.stat().st_dev != device), None)
        if drive is None:
            pytest.skip("no second file system to write to")
        with tempfile.TemporaryDirectory(dir=drive) as other:
            root.symlink_to(other)
            try:
                yield Path(other)
            finally:
                root.unlink()
    finally:
        moved.rename(root)
