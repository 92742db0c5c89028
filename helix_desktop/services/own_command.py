"""The command that starts this program again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def is_frozen() -> bool:
    """Whether this is a built app, and no Python with the package."""
    return bool(getattr(sys, "frozen", False))


def own_command(*args: str) -> tuple[str, ...]:
    """The program with its arguments: a frozen app, the AppImage it is in, or Python with the package."""
    if not is_frozen():
        return (sys.executable, "-m", "helix_desktop", *args)
    image, mounted = os.environ.get("APPIMAGE", ""), os.environ.get("APPDIR", "")
    # What an AppImage mounts goes with its process. Another one that started us leaves these, too.
    ours = bool(image and mounted) and Path(sys.executable).is_relative_to(mounted)
    return (image if ours else sys.executable, *args)
