"""The disk image: the app, a link to Applications next to it, and a window that explains what to do."""

from __future__ import annotations

import importlib
from pathlib import Path

from macos import bundle


def file_name(version: str, machine: str) -> str:
    """Name the image of a version for one architecture."""
    return f"{bundle.PROGRAM}-{version}-macos-{machine}.dmg"


def settings(app: Path) -> dict[str, object]:
    """Return the layout of the image, in dmgbuild's settings."""
    return {
        "files": [str(app)],
        "symlinks": {"Applications": "/Applications"},
        "hide_extensions": [app.name],
        "icon_locations": {app.name: (150, 160), "Applications": (410, 160)},
        "window_rect": ((200, 200), (560, 360)),
        "icon_size": 112,
        "text_size": 13,
        "default_view": "icon-view",
        "show_status_bar": False,
        "show_tab_view": False,
        "show_toolbar": False,
        "show_pathbar": False,
        "show_sidebar": False,
        # LZFSE: half as large as zlib's, and read by every macOS that runs the app.
        "format": "ULFO",
        "filesystem": "HFS+",
    }


def make(app: Path, image: Path) -> None:
    """Make the image; needs macOS, whose hdiutil writes it."""
    # Installed with the packaging tools on macOS only.
    build_dmg = importlib.import_module("dmgbuild").build_dmg

    image.parent.mkdir(parents=True, exist_ok=True)
    build_dmg(str(image), bundle.NAME, settings=settings(app))
