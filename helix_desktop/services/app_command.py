"""The command that starts this program again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def is_frozen() -> bool:
    """Return True for a built app, False for a Python with the package."""
    return bool(getattr(sys, "frozen", False))


def app_command(*args: str) -> tuple[str, ...]:
    """Return the program with its arguments: the built app, its AppImage, or Python with the package."""
    if not is_frozen():
        return (sys.executable, "-m", "helix_desktop", *args)
    image = os.environ.get("APPIMAGE", "")
    mounted = os.environ.get("APPDIR", "")
    # What an AppImage mounts goes with its process. Another one that started us leaves these, too.
    ours = bool(image and mounted) and Path(sys.executable).is_relative_to(mounted)
    return (image if ours else sys.executable, *args)
