"""Paths that are cut, and small images, as messages and attachments show them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPainterPath

from helix_desktop.ui.design.mirror import turn_back
from helix_desktop.ui.kit.boxes import Icon, Pen

_THUMBNAIL_RADIUS = 5.0


def _cut_path(metrics: QFontMetricsF, path: str, room: float) -> str:
    """Return a path cut to a width in pixels: folders leave from the left, then the middle of its name."""
    if metrics.horizontalAdvance(path) <= room:
        return path
    folders = path.replace("\\", "/").split("/")
    shorter = ("…/" + "/".join(folders[at:]) for at in range(1, len(folders)))
    fits = next((text for text in shorter if metrics.horizontalAdvance(text) <= room), "")
    return fits or metrics.elidedText(folders[-1] or path, Qt.TextElideMode.ElideMiddle, room)


def cut_label(
    metrics: QFontMetricsF, name: str, facts: str, room: float, *, keeps_start: bool = False
) -> str:
    """Return a name cut to a width in pixels, and facts, whole while a third is left for the name.

    `keeps_start`: the name tells at its beginning what it is, as a text does.
    """
    if metrics.horizontalAdvance(name + facts) <= room:
        return name + facts
    room = max(room / 3, room - metrics.horizontalAdvance(facts))
    if keeps_start:
        return metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) + facts
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
    turn_back(pen.qt, place)
    pen.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    pen.qt.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    pen.qt.drawImage(picture, image)
    pen.qt.restore()
