"""The program's icon for Windows, in all its sizes, made of the one SVG."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from environment import SetupFailed

SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)


def write(svg: Path, target: Path) -> None:
    """Draw the SVG in every size into one .ico. Raises SetupFailed when it cannot be drawn."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QBuffer, QIODevice, QRectF
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    drawn = QSvgRenderer(str(svg))
    if not drawn.isValid():
        raise SetupFailed(f"{svg} is no picture that Qt can draw.")
    pictures = []
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        drawn.render(painter, QRectF(0, 0, size, size))
        painter.end()
        held = QBuffer()
        held.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(held, "PNG")
        pictures.append(bytes(held.data().data()))
    target.write_bytes(ico(dict(zip(SIZES, pictures, strict=True))))


def ico(pictures: dict[int, bytes]) -> bytes:
    """One .ico of PNG pictures by their width."""
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    start = len(head) + 16 * len(pictures)
    for size, picture in pictures.items():
        head += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), start + len(body))
        body += picture
    return head + body
