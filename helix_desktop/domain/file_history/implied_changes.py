"""Which changes of a list are worth a line, and count: not the folders that only came or went with files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.domain.file_history.state import FileChange


def without_implied(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return changes without what others imply: where moved files were, folders of new or removed files."""
    folders = folders_of(change.path for change in changes)
    moved = {change.moved_from for change in changes}

    def is_implied(change: FileChange) -> bool:
        if change.after is None and change.path in moved:
            return True
        return change.path in folders and (change.before is None or change.after is None)

    return [change for change in changes if not is_implied(change)]


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return all folders that paths are in."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
