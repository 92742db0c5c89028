"""Fonts, colors and measures of the chat; names that are cut, and small images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath, QPalette

from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.kit.boxes import Icon, Pen, color_of

MAX_COLUMN_WIDTH = 760  # widest column of text, pixels
MIN_MARGIN = 28  # minimum space on each side of the column, pixels
# Sizes of text in pixels at zoom 1.
BODY = 15
UI = 13
SMALL = 12
CODE = 13
BOTTOM_GAP = 18.0  # room below the last row, pixels
INDENT = 24  # one level of a list, pixels
MARKER_GAP = 7  # between a number of a list and its text, pixels
COMPOSER_LINE_PX = 26  # height of the line below the text of a message, at 100 %
GAP = 11  # between the parts of a message, pixels

_FAMILIES = ["Inter", "DejaVu Sans", "sans-serif"]
_MONO_FAMILIES = ["JetBrains Mono", "DejaVu Sans Mono", "monospace"]
REGULAR = QFont.Weight.Normal
MEDIUM = QFont.Weight.Medium
SEMIBOLD = QFont.Weight.DemiBold


@cache
def _font(px: int, weight: QFont.Weight, mono: bool) -> QFont:
    """Return a font without ligatures: Inter too would show a typed -> as an arrow."""
    font = QFont(_MONO_FAMILIES if mono else _FAMILIES)
    font.setPixelSize(px)
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setFeature(QFont.Tag("calt"), 0)
    if mono:
        font.setFixedPitch(True)
        font.setFeature(QFont.Tag("liga"), 0)
    return font


_METRICS: dict[str, QFontMetricsF] = {}  # by the key of the font


@cache
def palette(color: str) -> QPalette:
    result = QPalette()
    result.setColor(QPalette.ColorRole.Text, color_of(color))
    return result


@dataclass(frozen=True)
class ChatStyle:
    """Fonts and colors of one theme at one zoom."""

    theme: Theme
    zoom: float = 1.0
    ratio: float = 1.0

    def px(self, size: float) -> float:
        return size * self.zoom

    def font(self, size: float = UI, weight: QFont.Weight = REGULAR, mono: bool = False) -> QFont:
        return _font(max(1, round(size * self.zoom)), weight, mono)

    def metrics(self, font: QFont) -> QFontMetricsF:
        key = font.key()
        if key not in _METRICS:
            _METRICS[key] = QFontMetricsF(font)
        return _METRICS[key]

    def width(self, text: str, font: QFont) -> float:
        return self.metrics(font).horizontalAdvance(text)

    def color(self, token: str) -> QColor:
        return color_of(token)


_THUMBNAIL_RADIUS = 5.0


def _cut_path(metrics: QFontMetricsF, path: str, room: float) -> str:
    """Return a path cut to a width in pixels: folders leave from the left, then the middle of its name.

    A name of several words, as a command, is known by its beginning.
    """
    if metrics.horizontalAdvance(path) <= room:
        return path
    folders = [path] if " " in path.partition("/")[0] else path.replace("\\", "/").split("/")
    shorter = ("…/" + "/".join(folders[at:]) for at in range(1, len(folders)))
    fits = next((text for text in shorter if metrics.horizontalAdvance(text) <= room), "")
    return fits or metrics.elidedText(folders[-1] or path, Qt.TextElideMode.ElideMiddle, room)


def cut_label(metrics: QFontMetricsF, name: str, facts: str, room: float) -> str:
    """Return a name cut to a width in pixels, and facts, whole while a third is left for the name."""
    if metrics.horizontalAdvance(name + facts) <= room:
        return name + facts
    room = max(room / 3, room - metrics.horizontalAdvance(facts))
    return _cut_path(metrics, name, room) + facts


def draw_thumbnail(image: QImage | None, color: str, pen: Pen, place: QRectF) -> None:
    """Paint an image into a place with round corners; without one, its icon in a token's color."""
    pen.box(place, "surface", "border", _THUMBNAIL_RADIUS)
    if image is None:
        icon = Icon("image", color, round(min(13, place.width(), place.height())))
        icon.place(place)
        icon.paint(pen)
        return
    size = QSizeF(image.size())
    if size.width() > place.width() or size.height() > place.height():
        size.scale(place.size(), Qt.AspectRatioMode.KeepAspectRatio)
    picture = QRectF(place.center() - QPointF(size.width() / 2, size.height() / 2), size)
    outline = QPainterPath()
    outline.addRoundedRect(picture, _THUMBNAIL_RADIUS, _THUMBNAIL_RADIUS)
    pen.qt.save()
    pen.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    pen.qt.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    pen.qt.drawImage(picture, image)
    pen.qt.restore()
