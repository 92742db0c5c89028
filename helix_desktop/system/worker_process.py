"""Processes of our own that do long work, so that the window's thread need not share its interpreter."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

_STOP_WAIT_S = 2.0


def start_process(serve: Callable[[Connection], None], name: str) -> tuple[SpawnProcess, Connection]:
    """Start a process that answers what comes through its connection. Raises OSError."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), name=name, daemon=True)
    process.start()
    theirs.close()
    return process, ours


def run_in_background(niceness: int) -> None:
    """Let this process work behind those that the user waits for, and be ended by the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal reaches every process of it
    if hasattr(os, "nice"):
        os.nice(niceness)


def end_process(process: SpawnProcess) -> None:
    process.terminate()  # its end of the pipe closes, so that nobody waits for a reply any more
    process.join(_STOP_WAIT_S)
    if process.is_alive():
        process.kill()
        process.join()
    process.close()
