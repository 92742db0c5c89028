"""The command `move-data`: everything that Helix Desktop keeps goes to another folder."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from helix_desktop.app.desk import now_ms
from helix_desktop.app.voice import Telling, err, out
from helix_desktop.config.moving import Move, plan_move
from helix_desktop.config.paths import DataDir
from helix_desktop.config.toml_file import TomlFiles
from helix_desktop.context.digest import count_text, size_text
from helix_desktop.context.errors import StoreLocked
from helix_desktop.store.layout import Layout
from helix_desktop.store.owner import OwnerLock
from helix_desktop.workspaces.registry import Registry

_WAIT_S = 0.5  # for another process that is just ending

Progress = Callable[[int, int], None]


def move_data(given: argparse.Namespace) -> int:
    """Move the data directory; the old one stays unless it is to be removed. Raises HelixError."""
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    data.ensure()
    telling = Telling()
    move = carry(data, given.folder, telling.tell)
    left = move.remove_old() if given.remove_old else ()
    told = {"to": str(move.target), "from": str(move.source), "files": len(move.files), "size": move.size}
    if given.json:
        out(json.dumps({**told, "removed": bool(given.remove_old) and not left}))
        return 0
    out(f"{move.target}  {size_text(move.size)}")
    if left:
        err(f"helix-desktop: could not be removed: {', '.join(map(str, left))}")
    elif not given.remove_old:
        err(f"{count_text(len(move.files), 'file')}, verified. The old copy stays in {move.source}.")
    return 0


def carry(data: DataDir, target: Path, progress: Progress, wait_s: float = _WAIT_S) -> Move:
    """Copy, verify and switch, once nobody else uses the data; raises HelixError, and nothing has changed."""
    move = plan_move(data.root, target)
    with alone(data, wait_s):
        move = plan_move(data.root, target)  # nobody adds to it any more
        move.copy(progress)
        _follow_samples(move)
        move.switch()
    return move


@contextmanager
def alone(data: DataDir, wait_s: float) -> Iterator[None]:
    """Keep every other process out of the data directory. Raises StoreLocked when one stays in it."""
    from PySide6.QtCore import QLockFile

    from helix_desktop.app.single_instance import LOCK_FILE

    window = QLockFile(str(data.root / LOCK_FILE))
    window.setStaleLockTime(0)
    if not window.tryLock(int(wait_s * 1000)) and window.error() == QLockFile.LockError.LockFailedError:
        raise _in_use("The window of Helix Desktop is open.")
    try:
        with ExitStack() as locks:
            try:
                locks.enter_context(FileLock(f"{data.workspaces_dir}.lock", timeout=wait_s))
            except Timeout as error:
                raise _in_use("Another process changes the list of workspaces.") from error
            for store in sorted(data.workspaces_dir.glob("*/store")):
                locks.callback(OwnerLock.take(Layout(store).owner).release)
            yield
    finally:
        window.unlock()


def _in_use(why: str) -> StoreLocked:
    return StoreLocked("The data is in use.", None, why, "Nothing was changed. Close it and try again.")


def _follow_samples(move: Move) -> None:
    """Let workspaces whose folder lies in the data directory, the guided sample, find it in its new place."""
    registry = Registry(move.target / "workspaces", TomlFiles(), now_ms)
    for record in registry.listed(removed=True):
        if Path(record.path).is_relative_to(move.source):
            path = str(move.target / Path(record.path).relative_to(move.source))
            registry.change(record.id, path=path)
