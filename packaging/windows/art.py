"""The pictures of the set-up, drawn of the SVG and in the app's type by the Python of build/package-env."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import SetupFailed, call

SCALE = 2  # NSIS fits them to its window: twice its 96 dots an inch stays sharp on dense screens
# NSIS requires these sizes.
WELCOME = (164, 314)
HEADER = (150, 57)
_BACKGROUND = "#f4f5fa"
_EDGE = "#dfe1ec"
_TEXT_COLOR = "#1b1d2a"
_MARK = 92
_MARK_TOP = 84
_NAME_TOP = 196
_NAME_PX = 15
_SMALL = 41
_MARGIN = 8
_DRAW = "import sys; sys.path.insert(0, sys.argv[1]); from windows import art; art.main(sys.argv[2:])"


def write(root: Path, work: Path) -> None:
    """Draw welcome.bmp and header.bmp into `work`. Raises SetupFailed when they cannot be drawn."""
    resources = root / "resources"
    svg = resources / "icons" / "helix.svg"
    font = resources / "fonts" / "Inter-SemiBold.ttf"
    if call(sys.executable, "-P", "-c", _DRAW, str(root / "packaging"), str(svg), str(font), str(work)):
        raise SetupFailed("the installer's pictures couldn't be drawn (see above).")


def draw(svg: Path, font: Path, folder: Path) -> None:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication(sys.argv[:1])
    mark = QSvgRenderer(str(svg))
    QFontDatabase.addApplicationFont(str(font))
    name = QFont("Inter", -1, QFont.Weight.DemiBold)
    name.setPixelSize(_NAME_PX)

    def page(size: tuple[int, int], background: str) -> tuple[QImage, QPainter]:
        image = QImage(size[0] * SCALE, size[1] * SCALE, QImage.Format.Format_RGB888)
        image.fill(QColor(background))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(SCALE, SCALE)
        return image, painter

    wide, high = WELCOME
    welcome, painter = page(WELCOME, _BACKGROUND)
    mark.render(painter, QRectF((wide - _MARK) / 2, _MARK_TOP, _MARK, _MARK))
    painter.setFont(name)
    painter.setPen(QColor(_TEXT_COLOR))
    painter.drawText(QRectF(0, _NAME_TOP, wide, 2 * _NAME_PX), Qt.AlignmentFlag.AlignHCenter, "Helix Desktop")
    painter.fillRect(QRectF(wide - 1, 0, 1, high), QColor(_EDGE))
    painter.end()
    header, painter = page(HEADER, "#ffffff")
    mark.render(painter, QRectF(HEADER[0] - _SMALL - _MARGIN, _MARGIN, _SMALL, _SMALL))
    painter.end()
    for picture, stem in ((welcome, "welcome"), (header, "header")):
        if not picture.save(str(folder / f"{stem}.bmp")):
            raise SystemExit(f"{folder / stem}.bmp could not be written.")
    app.quit()


def main(words: Sequence[str]) -> None:
    svg, font, folder = map(Path, words)
    draw(svg, font, folder)
