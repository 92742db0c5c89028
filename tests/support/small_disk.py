"""A file system of a few megabytes, to be filled by a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BLOCK_BYTES = 64 * 1024


@contextmanager
def mount_small_disk(path: Path, size: str = "64m") -> Iterator[None]:
    """Mount an empty file system of its own at `place`; skips the test where that is not allowed."""
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(
            ["umount", "--lazy", str(path)], check=True
        )  # also where a failed test left files open


def fill_disk(file: Path) -> None:
    with file.open("ab", buffering=0) as ballast:
        part = _BLOCK_BYTES
        while part:
            try:
                count = ballast.write(bytes(part))
            except OSError:
                count = 0
            part = part if count == part else part // 2


def remount(path: Path, mode: str) -> None:
    """Mount it again, `ro` (nothing may be written) or `rw`."""
    subprocess.run(["mount", "-o", f"remount,{mode}", str(path)], check=True)
