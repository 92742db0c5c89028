"""Move the data directory to another folder, once nobody else uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from helix_desktop.config.data_dir import DataDirMove, plan_move
from helix_desktop.config.paths import DataDir, places_of
from helix_desktop.domain.errors import StoreLocked
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.store.files import OwnerLock, StoreFiles
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRegistry

text = TextContext("Start")

_LOCK_TIMEOUT_S = 0.5  # for another process that is just ending


def move_data_dir(
    data_dir: DataDir, target: Path, on_progress: OnProgress, timeout_s: float = _LOCK_TIMEOUT_S
) -> DataDirMove:
    """Copy, verify and switch, once nobody else uses the data. Raises HelixError before any change."""
    earlier_places = places_of(data_dir.chosen_folder)[:-1]
    plan_move(data_dir.root, target)
    _registry(data_dir.root).check_is_outside(target)
    with _exclusive_access(data_dir, timeout_s):
        move = plan_move(data_dir.root, target, earlier_places)  # nobody adds to it any more
        _registry(data_dir.root).check_is_outside(move.target)
        move.copy(on_progress)
        _relocate_samples(move)
        move.switch()
    return move


@contextmanager
def _exclusive_access(data_dir: DataDir, timeout_s: float) -> Iterator[None]:
    """Keep all other processes out of the data directory. Raises StoreLocked if one uses it."""
    from PySide6.QtCore import QLockFile

    from helix_desktop.app.single_instance import LOCK_FILE

    window = QLockFile(str(data_dir.root / LOCK_FILE))
    window.setStaleLockTime(0)
    if not window.tryLock(int(timeout_s * 1000)) and window.error() == QLockFile.LockError.LockFailedError:
        raise _in_use_error(text("The window of Helix Desktop is open."))
    try:
        with ExitStack() as locks:
            try:
                locks.enter_context(FileLock(f"{data_dir.workspaces_dir}.lock", timeout=timeout_s))
            except Timeout as error:
                raise _in_use_error(text("Another process is changing the list of workspaces.")) from error
            for store in sorted(data_dir.workspaces_dir.glob("*/store")):
                locks.callback(OwnerLock.acquire(StoreFiles(store).owner_lock).release)
            yield
    finally:
        window.unlock()


def _in_use_error(reason: TranslatableText) -> StoreLocked:
    return StoreLocked(
        text("The data directory is in use."),
        None,
        reason,
        text("Nothing was changed. Close it and try again."),
    )


def _relocate_samples(move: DataDirMove) -> None:
    """Update the paths of workspaces inside the data directory, such as the guided sample."""
    registry = _registry(move.target)
    for record in registry.list_workspaces(include_removed=True):
        folder = Path(record.path)
        if folder != move.source and folder.is_relative_to(move.source):  # the source itself is no sample
            path = str(move.target / folder.relative_to(move.source))
            registry.change(record.id, path=path)


def _registry(root: Path) -> WorkspaceRegistry:
    return WorkspaceRegistry(DataDir(root).workspaces_dir, wall_clock_ms)
