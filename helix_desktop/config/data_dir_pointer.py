"""The pointer that a moved data directory leaves behind: a small file with the new path."""

from __future__ import annotations

import json
import os
from pathlib import Path

from helix_desktop.system.files import write_text_durably

POINTER_FILE = "moved.json"
_MAX_HOPS = 8


def resolve_data_dir(root: Path) -> Path:
    """Return the current path of the data of `root`: `root` itself unless it was moved."""
    for _ in range(_MAX_HOPS):
        to = read_pointer(root)
        if to is None:
            break
        root = to
    return root


def read_pointer(root: Path) -> Path | None:
    """Return where a data directory was moved to; None if it was not, or its pointer is invalid."""
    try:
        to = json.loads((root / POINTER_FILE).read_text(encoding="utf-8"))["to"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(to) if isinstance(to, str) and os.path.isabs(to) else None


def write_pointer(root: Path, target: Path) -> None:
    """Point from `root` to `target`, atomically and durably. Raises OSError."""
    write_text_durably(root / POINTER_FILE, json.dumps({"to": str(target)}))
