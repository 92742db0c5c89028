"""How this program is started anew: by itself, and by other programs that it is named to."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def own_command(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The words that start this program: a frozen one, the AppImage it is in, or Python with the package."""
    if not getattr(sys, "frozen", False):
        return (sys.executable, "-m", "helix_desktop")
    given = os.environ if environ is None else environ
    image, mounted = given.get("APPIMAGE", ""), given.get("APPDIR", "")
    # What an AppImage mounts goes away with its process. Another one that started us leaves these, too.
    ours = bool(image and mounted) and Path(sys.executable).is_relative_to(mounted)
    return (image if ours else sys.executable,)
