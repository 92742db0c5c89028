"""Draws the app's one SVG in every size of the hicolor theme. Run by the Python of build/package-env."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SIZES = (16, 22, 24, 32, 36, 48, 64, 72, 96, 128, 192, 256, 512)


def draw(svg: Path, hicolor: Path, name: str) -> None:
    """Write NAME.png in every size, and the SVG itself, below a hicolor folder."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication(sys.argv[:1])
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise SystemExit(f"{svg} cannot be drawn: it is no SVG that Qt reads.")
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter, QRectF(0, 0, size, size))
        painter.end()
        place = hicolor / f"{size}x{size}" / "apps" / f"{name}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        if not image.save(str(place)):
            raise SystemExit(f"{place} could not be written.")
    scalable = hicolor / "scalable" / "apps" / f"{name}.svg"
    scalable.parent.mkdir(parents=True, exist_ok=True)
    scalable.write_bytes(svg.read_bytes())
    app.quit()


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
