"""Which processes run, by their command lines: inside a sandbox their numbers are others than outside."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

_PATIENCE_S = 30.0  # on a busy machine

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


async def gone(*words: str) -> None:
    """Wait until no process with exactly this command line runs: a killed one takes a moment to end."""
    deadline = time.monotonic() + _PATIENCE_S
    while alive(*words):
        assert time.monotonic() < deadline, f"still running: {words}"
        await asyncio.sleep(0.01)
