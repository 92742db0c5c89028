"""Painting where texts run from right to left: places are mirrored, words and icons are not."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPixmap
from PySide6.QtWidgets import QLayout, QWidget

from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.words.direction import first_direction

_DIRECTIONS = {
    "left_to_right": Qt.LayoutDirection.LeftToRight,
    "right_to_left": Qt.LayoutDirection.RightToLeft,
    "": Qt.LayoutDirection.LayoutDirectionAuto,
}
_OTHER_SIDE = {
    Qt.AlignmentFlag.AlignRight: Qt.AlignmentFlag.AlignLeft,
    Qt.AlignmentFlag.AlignHCenter: Qt.AlignmentFlag.AlignHCenter,
}


def mirror(painter: QPainter, bounds: QRect | QRectF) -> None:
    """Mirror what is painted within `bounds` from now on, if the application reads from right to left.

    Words and pictures come out mirrored too, but for `draw_text` and `draw_pixmap`.
    """
    if painter.layoutDirection() == Qt.LayoutDirection.RightToLeft:
        _turn(painter, QRectF(bounds))


def is_right_to_left() -> bool:
    return QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft


def keep_left_to_right(painter: QPainter) -> None:
    """Paint what is not mirrored, such as code and curves over time.

    Left stays left, and words have the direction of their own letters.
    """
    painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)


def draw_text(
    painter: QPainter, place: QRect | QRectF, flags: Qt.AlignmentFlag | Qt.TextFlag | int, text: str
) -> None:
    """Draw a text; in a mirrored painter at the mirrored place, in the direction of its own letters."""
    if not _is_mirrored(painter):
        painter.drawText(QRectF(place), int(flags), text)
        return
    side = Qt.AlignmentFlag(int(flags) & Qt.AlignmentFlag.AlignHorizontal_Mask.value)
    rest = int(flags) & ~Qt.AlignmentFlag.AlignHorizontal_Mask.value
    side &= ~Qt.AlignmentFlag.AlignAbsolute
    own = _OTHER_SIDE.get(side, Qt.AlignmentFlag.AlignRight) | Qt.AlignmentFlag.AlignAbsolute
    painter.save()
    _turn(painter, QRectF(place))
    painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    painter.drawText(QRectF(place), rest | own.value, text)
    painter.restore()


def turn_back(painter: QPainter, place: QRect | QRectF) -> None:
    """Paint from left to right within a place from now on, which itself stays where it is mirrored to."""
    if _is_mirrored(painter):
        _turn(painter, QRectF(place))
        keep_left_to_right(painter)


def draw_pixmap(painter: QPainter, x: float, y: float, picture: QPixmap) -> None:
    """Draw a picture with its upper left corner at a point; of a mirrored one only the place is mirrored."""
    place = QRectF(x, y, picture.deviceIndependentSize().width(), picture.deviceIndependentSize().height())
    if not _is_mirrored(painter):
        painter.drawPixmap(place.topLeft(), picture)
        return
    painter.save()
    _turn(painter, place)
    painter.drawPixmap(place.topLeft(), picture)
    painter.restore()


def draw_chevron(painter: QPainter, x: float, y: float, color: str, px: int, *, is_open: bool) -> None:
    ratio = painter.device().devicePixelRatioF()
    draw_pixmap(painter, x, y, pixmap("chevron-down" if is_open else "chevron-right", color, px, ratio))


def mirrored_x(widget: QWidget, x: float) -> float:
    """Return where a place of a mirrored widget, in pixels from the left, is in what was painted."""
    return widget.width() - x if widget.isRightToLeft() else x


def visual_rect(rect: QRectF, width: float) -> QRectF:
    """Return where a place of what is painted stands in a widget of a width in pixels, or the way back."""
    if not is_right_to_left():
        return rect
    return QRectF(width - rect.right(), rect.y(), rect.width(), rect.height())


def mirrored_rect(widget: QWidget, bounds: QRect, place: QRect) -> QRect:
    """Return where a place stands in bounds of a widget that may be read from right to left.

    What `QStyle.visualRect` does: the enumerations of that class take 8 ms of a start.
    """
    if widget.layoutDirection() != Qt.LayoutDirection.RightToLeft:
        return place
    return place.translated(bounds.left() + bounds.right() - place.left() - place.right(), 0)


def set_margins(layout: QLayout | QWidget, begin: int, top: int, end: int, bottom: int) -> None:
    """Set margins in pixels; `begin` is the side where lines begin, which Qt itself does not mirror."""
    left, right = (end, begin) if is_right_to_left() else (begin, end)
    layout.setContentsMargins(left, top, right, bottom)


def text_direction(text: str) -> Qt.LayoutDirection:
    return _DIRECTIONS[first_direction(text)]


def _is_mirrored(painter: QPainter) -> bool:
    return painter.worldTransform().m11() < 0


def _turn(painter: QPainter, bounds: QRectF) -> None:
    painter.translate(bounds.left() + bounds.right(), 0)
    painter.scale(-1, 1)
