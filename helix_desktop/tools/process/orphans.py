"""Processes that a command leaves behind, found by a tag in their environment, whatever their group.

Only Linux shows the environment of other processes; elsewhere nothing is found, and ending the process group
has to be enough.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from helix_desktop.domain.unicode_safety import escape_hidden_name

VARIABLE = "HELIX_RUN"
_MAX_ROUNDS = 10  # a process may start another one while it is being ended
_NAME_CAP = 60  # characters
_SANDBOX_PROGRAMS = ("bwrap",)


def find_orphans(env_tag: str) -> tuple[str, ...]:
    """Return the names of the processes with this tag but the sandbox's own; blocks for some milliseconds."""
    names = map(_name, _marked(env_tag))
    return tuple(name for name in names if name.split(" ")[0] not in _SANDBOX_PROGRAMS)


def kill_orphans(env_tag: str) -> None:
    """Kill every process with this tag, also those started meanwhile."""
    for _ in range(_MAX_ROUNDS):
        pids = list(_marked(env_tag))
        if not pids:
            return
        for pid in pids:
            _kill(pid, env_tag)


def _marked(env_tag: str) -> Iterator[int]:
    if sys.platform != "linux" or not env_tag:
        return
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _carries(int(entry), env_tag):
            yield int(entry)


def _carries(pid: int, env_tag: str) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or somebody else's
        return False
    return f"{VARIABLE}={env_tag}".encode() in variables


def _name(pid: int) -> str:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return "a process that has ended since"
    program = os.path.basename(argv[0].decode(errors="replace"))
    args = [arg.decode(errors="replace") for arg in argv[1:]]
    return escape_hidden_name(" ".join([program, *args]))[:_NAME_CAP]


def _kill(pid: int, env_tag: str) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError):
        pid_fd = os.pidfd_open(pid)
        try:
            if _carries(pid, env_tag):  # by now the pid may belong to another process
                signal.pidfd_send_signal(pid_fd, signal.SIGKILL)
        finally:
            os.close(pid_fd)
