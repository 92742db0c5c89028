"""The screen of a run without a display."""

from __future__ import annotations

import json
import os
from pathlib import Path

_FILE = "screen.json"
_LARGE_PX = (1920, 1200)


def use_offscreen_platform(folder: Path, size: tuple[int, int] | None = None, scale: int = 1) -> None:
    """Have Qt draw without a display, on a screen as large as a window of `size`; before QApplication.

    Qt's own such screen has 800 x 800 pixels, and every dialog stays within its screen. The size and `scale`
    (1 or 2) are in pixels; Qt reads them from a file that is written to `folder`.
    """
    width, height = size or _LARGE_PX
    screen = {"name": "offscreen", "x": 0, "y": 0, "width": width * scale, "height": height * scale}
    path = folder / _FILE
    path.write_text(json.dumps({"screens": [screen | {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}]}))
    platform = "offscreen"
    if ":" not in str(path):  # which would end the argument: Qt separates a plugin's arguments by colons
        platform += f":configfile={path}"
    os.environ["QT_QPA_PLATFORM"] = platform
