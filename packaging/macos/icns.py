"""The app's one SVG as an icon of macOS, every size in one file: `python -m macos.icns SVG ICNS`."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

# Kind of entry -> its pixels; some sizes are listed twice, for screens of twice the density.
KINDS = {
    "icp4": 16, "icp5": 32, "icp6": 64, "ic07": 128, "ic08": 256, "ic09": 512,
    "ic10": 1024, "ic11": 32, "ic12": 64, "ic13": 256, "ic14": 512,
}  # fmt: skip
_HEAD = 8


def pack(pictures: Mapping[int, bytes]) -> bytes:
    """Put PNG files of every size of KINDS into one icon."""
    entries = b"".join(
        kind.encode("ascii") + struct.pack(">I", len(pictures[size]) + _HEAD) + pictures[size]
        for kind, size in KINDS.items()
    )
    return b"icns" + struct.pack(">I", len(entries) + _HEAD) + entries


def draw(svg: Path) -> dict[int, bytes]:
    """Draw the SVG in every size, as PNG, with the margin that icons of macOS have. Raises ValueError."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
    from PySide6.QtGui import QImage, QImageWriter, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise ValueError(f"{svg} cannot be drawn: it is no SVG that Qt reads.")
    pictures = {}
    for size in sorted(set(KINDS.values())):
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        # Apple's grid: 824 of 1024 points are the shape.
        margin = size * 100 / 1024
        renderer.render(painter, QRectF(margin, margin, size - 2 * margin, size - 2 * margin))
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"png")).write(image)
        pictures[size] = bytes(buffer.data().data())
    return pictures


def main() -> None:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication

    app = QGuiApplication(sys.argv[:1])
    svg, icon = map(Path, sys.argv[1:])
    icon.parent.mkdir(parents=True, exist_ok=True)
    icon.write_bytes(pack(draw(svg)))
    app.quit()


if __name__ == "__main__":
    main()
