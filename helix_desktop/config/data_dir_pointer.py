"""The pointers that a moved data directory leaves behind: small files with the new path.

One is in the old folder; one is beside it, for when the user deletes that folder with what is left in it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from helix_desktop.system.files import read_regular, write_text_durably

POINTER_FILE = "moved.json"
WORKSPACES_FOLDER = "workspaces"
"""The folder that a data directory has, and no remains of one."""


def places_of(root: Path) -> tuple[Path, ...]:
    """Return where a data directory was, from `root` on, and where it is now."""
    places = [root]
    while (to := read_pointer(places[-1])) is not None and to not in places:
        places.append(to)
    return tuple(places)


def pointer_files(root: Path) -> tuple[Path, Path]:
    """Return the pointer in a folder, and the one beside it."""
    return root / POINTER_FILE, root.with_name(f"{root.name}.{POINTER_FILE}")


def read_pointer(root: Path) -> Path | None:
    """Return where a data directory was moved to; None if it was not, or its pointers are invalid.

    The one beside it counts where no data is in the folder.
    """
    inner_pointer, outer_pointer = pointer_files(root)
    to = _read(inner_pointer)
    return to if to is not None or os.path.isdir(root / WORKSPACES_FOLDER) else _read(outer_pointer)


def write_pointer(root: Path, target: Path) -> None:
    """Point from `root` to `target`, atomically and durably; beside it if possible. Raises OSError."""
    inner_pointer, outer_pointer = pointer_files(root)
    document = json.dumps({"to": str(target)})
    if os.path.isdir(root):
        write_text_durably(inner_pointer, document)
    if _read(outer_pointer) is not None or not os.path.lexists(outer_pointer):
        with suppress(OSError):
            write_text_durably(outer_pointer, document)


def may_be_deleted(root: Path) -> bool:
    """Return True if the data is found without the folder that it was moved from."""
    return _read(pointer_files(root)[1]) is not None


def remove_pointers(root: Path) -> None:
    """Let `root` be a data directory again. Raises OSError."""
    for path in pointer_files(root):
        if _read(path) is not None:
            path.unlink()


def _read(path: Path) -> Path | None:
    try:
        to = json.loads(read_regular(path))["to"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Path(to) if isinstance(to, str) and os.path.isabs(to) else None
