"""The marker of a run: a file that exists while a window is open, and after a crash."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from helix_desktop.system.files import read_regular

_MS = 1_000


class LastRun(msgspec.Struct, frozen=True):
    """A run of the window: its start in milliseconds since 1970, its process, and the workspaces it opened.

    `stacks` is how long the file of crash stacks was then, in bytes; `workspaces` are ids.
    """

    started: int
    pid: int = 0
    stacks: int = 0
    workspaces: tuple[str, ...] = ()


class RunMarker:
    """Writes the marker of this run, and reads the one that a crashed run left."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._run = LastRun(0)

    def crashed_run(self) -> LastRun | None:
        """Return the run that crashed; None if the last one ended well. Call it before `start`."""
        try:
            data, changed = read_regular(self._path), self._path.stat().st_mtime
        except OSError:
            return None
        try:
            return msgspec.json.decode(data, type=LastRun)
        except (msgspec.DecodeError, RecursionError):  # of an older version, or cut off while it was written
            return LastRun(int(changed * _MS))

    def start(self, now_ms: int, stacks: int) -> None:
        """Write the marker of this run; `now_ms` is in milliseconds since 1970."""
        self._run = LastRun(now_ms, os.getpid(), stacks)
        self._write()

    def add_workspace(self, workspace_id: str) -> None:
        """Add a workspace that was opened in this run."""
        if workspace_id not in self._run.workspaces:
            opened = (*self._run.workspaces, workspace_id)
            self._run = msgspec.structs.replace(self._run, workspaces=opened)
            self._write()

    def clear(self) -> None:
        """Delete the marker: this run ended well."""
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            self._path.write_bytes(msgspec.json.encode(self._run))
        except OSError:  # a full disk costs the notice after a crash, nothing else
            self._path.touch()
