"""The pointer that a data directory leaves behind when it is moved: one small file with the new place."""

from __future__ import annotations

import json
import os
from pathlib import Path

POINTER = "moved.json"
_MOST_HOPS = 8


def follow(root: Path) -> Path:
    """Where the data of `root` lies now: `root` itself unless it was moved."""
    for _ in range(_MOST_HOPS):
        to = read_pointer(root)
        if to is None:
            break
        root = to
    return root


def read_pointer(root: Path) -> Path | None:
    """Where a data directory was moved to; None when it was not, or its pointer says nothing."""
    try:
        to = json.loads((root / POINTER).read_text(encoding="utf-8"))["to"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(to) if isinstance(to, str) and os.path.isabs(to) else None


def write_pointer(root: Path, to: Path) -> None:
    """Say that the data of `root` lies in `to`, from one moment to the next, durably. Raises OSError."""
    part = root / f"{POINTER}.part"
    with part.open("w", encoding="utf-8") as file:
        json.dump({"to": str(to)}, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(root / POINTER)
