"""Which processes run, by their command lines: inside a sandbox their numbers are others than outside."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

_TIMEOUT_S = 300.0  # only a test that fails waits for it

UNIQUE_SLEEP_S = f"86400.{os.getpid()}"  # seconds that no other run of the tests on this machine sleeps


def is_process_running(*argv: str) -> bool:
    """Whether a process with exactly this command line runs."""
    command_line = "".join(f"{word}\0" for word in argv).encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == command_line:
                return True
        except OSError:
            continue
    return False


async def wait_for_exit(*argv: str) -> None:
    """Wait until no process with exactly this command line runs: a killed one takes a moment to end."""
    deadline = time.monotonic() + _TIMEOUT_S
    while is_process_running(*argv):
        assert time.monotonic() < deadline, f"still running: {argv}"
        await asyncio.sleep(0.01)
