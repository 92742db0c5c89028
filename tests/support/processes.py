"""Which processes run, by their command lines: inside a sandbox their numbers are others than outside."""

from __future__ import annotations

import os
from pathlib import Path

LONG = f"86400.{os.getpid()}"  # seconds that no other run of the tests on this machine sleeps


def alive(*words: str) -> bool:
    """Whether a process with exactly this command line runs."""
    wanted = "".join(f"{word}\0" for word in words).encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False
