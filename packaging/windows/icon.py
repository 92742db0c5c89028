"""The program's icon for Windows, in all its sizes, made from the one SVG."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from environment import SetupFailed, call

SIZES = (16, 24, 32, 48, 64, 128, 256)
_NAME = "helix"


def write(root: Path, work: Path) -> Path:
    """Draw the app's SVG into one .ico, and return it. Raise SetupFailed if it cannot be drawn."""
    icons = root / "packaging" / "icons" / "draw.py"
    drawn = work / "icons"
    if call(sys.executable, str(icons), str(root / "resources" / "icons" / "helix.svg"), str(drawn), _NAME):
        raise SetupFailed("the icon could not be drawn (see above).")
    pictures = {size: (drawn / f"{size}x{size}" / "apps" / f"{_NAME}.png").read_bytes() for size in SIZES}
    target = work / "helix.ico"
    target.write_bytes(ico(pictures))
    return target


def ico(pictures: dict[int, bytes]) -> bytes:
    """One .ico of PNG pictures by their width."""
    head = struct.pack("<HHH", 0, 1, len(pictures))
    body = b""
    start = len(head) + 16 * len(pictures)
    for size, picture in pictures.items():
        head += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), start + len(body))
        body += picture
    return head + body
