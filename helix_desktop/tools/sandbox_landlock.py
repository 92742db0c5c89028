"""The sandbox by Landlock, where bubblewrap does not work: the kernel keeps a command to allowed paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from helix_desktop.tools.landlock_calls import READ, all_rights, allow, open_ruleset, restriction, version
from helix_desktop.tools.process import Launch
from helix_desktop.tools.sandbox import Cell, Kind, sandboxed

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
_SHARED = Path("/tmp")  # of all programs; a command has a folder of its own instead
_OPEN = (Path("/run/systemd/resolve"), Path("/run/NetworkManager"), Path("/run/resolvconf"))  # host names


def find_landlock() -> Landlock | None:
    """The Landlock of this kernel; None when it has none."""
    known = version()
    return Landlock(known) if known else None


class Landlock:
    """Runs commands under rules that they cannot shed. It cannot freeze a part of what may be written."""

    kind: Kind = "landlock"

    def __init__(self, known: int) -> None:
        """`known` is the version of the kernel's interface."""
        self._known = known

    @contextmanager
    def within(self, launch: Launch, cell: Cell, network: bool) -> Iterator[Launch]:
        """The launch under a ruleset of its own."""
        ruleset = open_ruleset(self._known, network)
        try:
            every = all_rights(self._known)
            for path in readable(cell):
                allow(ruleset, str(path), READ)
            for name in _DEVICES:
                allow(ruleset, f"/dev/{name}", every)
            for path in (cell.root, cell.scratch):
                allow(ruleset, str(path), every)
            for path in _OPEN if network else ():
                allow(ruleset, str(path), READ)
            environment = sandboxed(launch.environment, str(cell.scratch))
            yield replace(launch, environment=environment, confine=restriction(ruleset, network))
        finally:
            os.close(ruleset)


def readable(cell: Cell) -> list[Path]:
    """The widest folders, and the files beside them, that hold nothing hidden; without the workspace."""
    closed = {*cell.hidden, _SHARED}
    above = {parent for path in closed for parent in path.parents}
    found: list[Path] = []
    todo = [Path("/")]
    while todo:
        path = todo.pop()
        if path in closed or path == cell.root:
            continue
        if path not in above:
            found.append(path)
        else:
            todo += _inside(path)
    return found


def _inside(folder: Path) -> list[Path]:
    """What is in a folder but for links, which lead to paths with rights of their own."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if not entry.is_symlink()]
    except OSError:
        return []
