"""The icons of the window: line drawings tinted in a color of the theme."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from helix_desktop.config.paths import resources_dir

_STROKE = "1.75"  # of 24 units; the drawings' own 2 is heavy at 16 px


def pixmap(name: str, color: str, size: int = 16, ratio: float = 1.0, gap: int = 0) -> QPixmap:
    """Return an icon as a picture of `size` logical pixels; FileNotFoundError when there is no such icon.

    `gap` pixels stay free behind it. Kept in Qt's pixmap cache by all of these.
    """
    key = f"icon:{name}:{color}:{size}:{ratio}:{gap}"
    picture = QPixmap()
    if not QPixmapCache.find(key, picture):
        picture = _draw(name, color, QRectF(0, 0, size, size), size + gap, ratio)
        QPixmapCache.insert(key, picture)
    return picture


def icon(name: str, color: str, size: int = 16, disabled: str = "", gap: int = 0) -> QIcon:
    """Return an icon for buttons and menus, sharp on every screen there is.

    `disabled` is its other color, `gap` how many pixels stay free between it and words.
    """
    result = QIcon()
    for ratio in {1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}:
        result.addPixmap(pixmap(name, color, size, ratio, gap))
        if disabled:
            result.addPixmap(pixmap(name, disabled, size, ratio, gap), QIcon.Mode.Disabled)
    return result


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    drawing = (resources_dir() / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return drawing.replace('stroke-width="2"', f'stroke-width="{_STROKE}"')


def _draw(name: str, color: str, place: QRectF, width: int, ratio: float) -> QPixmap:
    """Draw an icon at its place in a picture of a width, in logical pixels."""
    source = _source(name).replace("currentColor", color)
    picture = QPixmap(round(width * ratio), round(place.height() * ratio))
    picture.fill(Qt.GlobalColor.transparent)
    picture.setDevicePixelRatio(ratio)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(source.encode())).render(painter, place)
    painter.end()
    return picture


def draw_chevron(painter: QPainter, at: QPointF, color: str, px: int, *, is_open: bool) -> None:
    """Draw the mark of what folds, with its upper left corner at a point."""
    name = "chevron-down" if is_open else "chevron-right"
    painter.drawPixmap(at, pixmap(name, color, px, painter.device().devicePixelRatioF()))
