"""Draws the picture beside the set-up's first and last page. Run by the Python of build/package-env."""

from __future__ import annotations

import os
import sys
from pathlib import Path

WIDTH, HEIGHT = 164, 314
_SCALE = 2  # Windows shrinks it for screens of one point per pixel, and shows it whole on dense ones
_ABOVE, _BELOW = "#20243a", "#12141f"
_SIGN = 104


def draw(svg: Path, target: Path) -> None:
    """Write the sign of the app on a dark ground as a bitmap of 24 bits."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor, QGuiApplication, QImage, QLinearGradient, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication(sys.argv[:1])
    image = QImage(WIDTH * _SCALE, HEIGHT * _SCALE, QImage.Format.Format_RGB888)
    ground = QLinearGradient(0, 0, 0, image.height())
    ground.setColorAt(0, QColor(_ABOVE))
    ground.setColorAt(1, QColor(_BELOW))
    painter = QPainter(image)
    painter.fillRect(image.rect(), ground)
    size = _SIGN * _SCALE
    left, top = (image.width() - size) / 2, (image.height() - size) / 2
    QSvgRenderer(str(svg)).render(painter, QRectF(left, top, size, size))
    painter.end()
    if not image.save(str(target)):
        raise SystemExit(f"{target} could not be written.")
    app.quit()


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
