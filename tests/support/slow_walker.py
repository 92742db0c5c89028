"""What stands in a folder, found without stamps, descriptors or a memory: by reading all of it."""

from __future__ import annotations

import os
from pathlib import Path

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.file_history.changes import FileChange, FileState

States = dict[str, FileState]


def walk(root: Path) -> States:
    states: States = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode & 0o7777
            if path.is_symlink():
                state = FileState("link", target=os.readlink(path))
            elif path.is_dir():
                state = FileState("folder", mode=mode)
            else:
                data = path.read_bytes()
                state = FileState("file", digest_of(data), len(data), mode)
            states[path.relative_to(root).as_posix()] = state
    return states


def difference(before: States, after: States) -> dict[str, FileChange]:
    """Return the changes that lead from one to the other, by path."""
    return {
        path: FileChange(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    }
