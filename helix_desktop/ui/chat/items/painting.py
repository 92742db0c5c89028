"""Small drawings that all cards share: frames, chips, buttons, lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPainterPath, QPen

from helix_desktop.ui.chat.actions import RowAction
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, TextMark
from helix_desktop.ui.chat.style import MEDIUM, REGULAR, SMALL, TINY, UI, ChatStyle
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, turn_back

ButtonStyle: TypeAlias = Literal["primary", "outline", "danger", "ghost"]


class HitArea(NamedTuple):
    """An area of an item that can be clicked, or focused with Tab.

    `name` is its object name, and its own in the item.
    """

    name: str
    action: RowAction
    label: str
    rect: QRectF
    radius: float = 7.0
    tip: str = ""


@dataclass(slots=True)
class PaintState:
    clip: QRectF
    hovered: str = ""
    focused: str = ""
    pressed: str = ""
    copied: str = ""
    tick: int = 0  # steps of the spinner
    marks: dict[int, list[TextMark]] = field(default_factory=dict)  # by number of the text

    def marks_of(self, layout: TextLayout) -> Sequence[TextMark]:
        return self.marks.get(layout.number, ())


class ChipStyle(NamedTuple):
    """Colors and icon of a chip; empty names are left out."""

    color: str
    fill: str = ""
    border: str = ""
    icon: str = ""
    mono: bool = False


CHIP_HEIGHT = 21.0
BUTTON_HEIGHT = 30.0
_THUMBNAIL_RADIUS = 5.0
_BOX_RADIUS = 12
_MOST = 2_000  # characters of a line that are measured to cut it: more than any card has room for


def paint_box(
    painter: QPainter, rect: QRectF, fill: QColor | None, border: QColor | None = None, radius: float = 10
) -> None:
    painter.setPen(QPen(border, 1) if border is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    inner = rect.adjusted(0.5, 0.5, -0.5, -0.5) if border is not None else rect
    painter.drawRoundedRect(inner, radius, radius)


def paint_half_rounded_box(painter: QPainter, rect: QRectF, fill: QColor, round_bottom: bool = False) -> None:
    """Paint a background that is rounded at the top, or at the bottom, only."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(rect, _BOX_RADIUS, _BOX_RADIUS)
    square = rect.adjusted(0, 0, 0, -_BOX_RADIUS) if round_bottom else rect.adjusted(0, _BOX_RADIUS, 0, 0)
    path.addRect(square)
    painter.fillPath(path, fill)


def paint_line(
    painter: QPainter,
    style: ChatStyle,
    rect: QRectF,
    text: str,
    font: QFont,
    color: str,
    align_right: bool = False,
) -> None:
    """One line, centered in height, cut with an ellipsis when it does not fit."""
    painter.setFont(font)
    painter.setPen(style.color(color))
    elided = elided_line(style, text, font, rect.width())
    side = Qt.AlignmentFlag.AlignRight if align_right else Qt.AlignmentFlag.AlignLeft
    # Absolute: what is painted so keeps its order from left to right, whatever the language.
    side |= Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
    flags = side | Qt.TextFlag.TextSingleLine
    draw_text(painter, rect, flags, elided)


def elided_line(style: ChatStyle, text: str, font: QFont, width: float, *, keeps_end: bool = False) -> str:
    """Return a line, cut with an ellipsis to a width in pixels: at its end, or in its middle."""
    if style.width(text, font) <= width:
        return text
    if not keeps_end:
        return style.metrics(font).elidedText(text[:_MOST], Qt.TextElideMode.ElideRight, width)
    ends = text if len(text) <= _MOST else text[: _MOST // 2] + text[-_MOST // 2 :]
    return style.metrics(font).elidedText(ends, Qt.TextElideMode.ElideMiddle, width)


def elided_path(style: ChatStyle, path: str, font: QFont, width: float) -> str:
    """Return a path cut to a width in pixels: folders leave from the left, then the middle of its name."""
    if style.width(path, font) <= width:
        return path
    folders = path.replace("\\", "/").split("/")
    shorter = ("…/" + "/".join(folders[at:]) for at in range(1, len(folders)))
    fits = next((text for text in shorter if style.width(text, font) <= width), "")
    name = folders[-1] or path
    return fits or style.metrics(font).elidedText(name, Qt.TextElideMode.ElideMiddle, width)


def chip_width(style: ChatStyle, text: str, chip_style: ChipStyle) -> float:
    font = style.font(TINY, MEDIUM, mono=chip_style.mono)
    return style.width(text, font) + style.px(18) + (style.px(15) if chip_style.icon else 0)


def paint_chip(
    painter: QPainter,
    style: ChatStyle,
    rect: QRectF,
    text: str,
    chip_style: ChipStyle,
    rotation_deg: float = 0.0,
) -> None:
    fill = style.color(chip_style.fill) if chip_style.fill else None
    border = style.color(chip_style.border) if chip_style.border else None
    paint_box(painter, rect, fill, border, rect.height() / 2)
    left = rect.x() + style.px(9)
    if chip_style.icon:
        side = style.px(12)
        paint_icon(
            painter,
            style,
            chip_style.icon,
            chip_style.color,
            QRectF(left - 1, rect.center().y() - side / 2, side, side),
            rotation_deg,
        )
        left += style.px(15)
    font = style.font(TINY, MEDIUM, mono=chip_style.mono)
    inner = QRectF(left, rect.y(), rect.right() - left - style.px(6), rect.height())
    paint_line(painter, style, inner, text, font, chip_style.color)


def paint_thumbnail(
    painter: QPainter, style: ChatStyle, place: QRectF, image: QImage | None, color: str
) -> None:
    """Paint an image into a place with round corners; without one, its icon in a color token."""
    theme = style.theme
    paint_box(painter, place, style.color(theme.surface), style.color(theme.border), _THUMBNAIL_RADIUS)
    if image is None:
        side = min(style.px(13), place.width(), place.height())
        corner = place.center() - QPointF(side / 2, side / 2)
        paint_icon(painter, style, "image", color, QRectF(corner, QSizeF(side, side)))
        return
    size = QSizeF(image.size())
    if size.width() > place.width() or size.height() > place.height():
        size.scale(place.size(), Qt.AspectRatioMode.KeepAspectRatio)
    picture = QRectF(place.center() - QPointF(size.width() / 2, size.height() / 2), size)
    outline = QPainterPath()
    outline.addRoundedRect(picture, _THUMBNAIL_RADIUS, _THUMBNAIL_RADIUS)
    painter.save()
    turn_back(painter, place)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    painter.drawImage(picture, image)
    painter.restore()


def paint_icon(
    painter: QPainter, style: ChatStyle, name: str, color: str, rect: QRectF, rotation_deg: float = 0.0
) -> None:
    picture = style.icon(name, color, round(rect.width() / style.zoom))
    if not rotation_deg:
        draw_pixmap(painter, rect.x(), rect.y(), picture)
        return
    painter.save()
    turn_back(painter, rect)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.translate(rect.center())
    painter.rotate(rotation_deg)
    painter.drawPixmap(QPointF(-rect.width() / 2, -rect.height() / 2), picture)
    painter.restore()


def button_width(style: ChatStyle, label: str, with_icon: bool = False) -> float:
    return style.width(label, style.font(UI, MEDIUM)) + style.px(26) + (style.px(20) if with_icon else 0)


def paint_button(
    painter: QPainter,
    style: ChatStyle,
    area: HitArea,
    state: PaintState,
    button_style: ButtonStyle = "outline",
    icon_name: str = "",
) -> None:
    theme = style.theme
    active = area.name in (state.hovered, state.pressed)
    color = theme.error if button_style == "danger" else theme.text
    fill = style.color(theme.hover if active else theme.surface)
    if button_style == "danger" and active:
        fill = style.color(theme.error_soft)
    border = None if button_style == "ghost" else style.color(theme.border_strong)
    if button_style == "primary":
        color, border = theme.on_accent, None
        fill = style.color(theme.accent)
        fill = fill.darker(112) if active else fill
    if button_style == "ghost":
        color = theme.muted
        if not active:
            fill = QColor(Qt.GlobalColor.transparent)
    inset = 3 if button_style == "primary" and state.focused == area.name else 0  # the ring has its color
    paint_box(painter, area.rect.adjusted(inset, inset, -inset, -inset), fill, border, 8 - inset)
    _paint_label(
        painter, style, area.rect, area.label, color, icon_name, UI if button_style != "ghost" else SMALL
    )


def _paint_label(
    painter: QPainter,
    style: ChatStyle,
    rect: QRectF,
    text: str,
    color: str,
    icon_name: str = "",
    size: float = UI,
) -> None:
    font = style.font(size, MEDIUM if size == UI else REGULAR)
    side = style.px(14)
    wide = style.width(text, font) + (side + style.px(6) if icon_name else 0)
    left = rect.x() + max(0.0, (rect.width() - wide) / 2)
    if icon_name:
        paint_icon(painter, style, icon_name, color, QRectF(left, rect.center().y() - side / 2, side, side))
        left += side + style.px(6)
    paint_line(painter, style, QRectF(left, rect.y(), rect.right() - left, rect.height()), text, font, color)


def paint_focus_ring(painter: QPainter, style: ChatStyle, rect: QRectF, radius: float = 8) -> None:
    painter.setPen(QPen(style.color(style.theme.accent), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius)


class PaintedLine:
    """One line of words, in pixels; positions in it are characters. `keeps_end`: its middle is cut off."""

    def __init__(self, text: str, font: QFont, color: str, *, keeps_end: bool = False) -> None:
        self.words, self.font, self.color, self._keeps_end = text, font, color, keeps_end
        self.rect = QRectF()
        self.number = 0  # below 0 in an item whose search finds it: its texts count from 0

    def find_all(self, needle: str) -> list[tuple[int, int]]:
        """Ranges that hold a needle, letter case ignored."""
        haystack, needle = to_lower(self.words), to_lower(needle)
        ranges: list[tuple[int, int]] = []
        at = haystack.find(needle) if needle else -1
        while at >= 0:
            ranges.append((at, at + len(needle)))
            at = haystack.find(needle, at + len(needle))
        return ranges

    def show_position(self, _position: int) -> None:
        """All of it that can be seen is in sight."""

    def line_rect(self, _position: int) -> QRectF:
        return self.rect

    def shown_words(self, style: ChatStyle) -> str:
        return elided_line(style, self.words, self.font, self.rect.width(), keeps_end=self._keeps_end)

    def paint(self, painter: QPainter, style: ChatStyle, marks: Sequence[TextMark]) -> None:
        """Draw it with its marks; what is cut off is marked where it was cut."""
        fitting = self.shown_words(style)
        tall = style.metrics(self.font).height()
        for mark in marks:
            left, right = (
                style.width(fitting[: self._shown_position(fitting, position, end)], self.font)
                for position, end in ((mark.start, False), (mark.end, True))
            )
            place = QRectF(self.rect.x() + left, self.rect.center().y() - tall / 2, right - left, tall)
            painter.fillRect(place, mark.color)
        paint_line(painter, style, self.rect, fitting, self.font, self.color)

    def _shown_position(self, fitting: str, position: int, is_end: bool) -> int:
        """Return where a position stands in what is shown; of what is cut off, an edge of the ellipsis."""
        if fitting == self.words:
            return position
        cut = next(at for at, sign in enumerate(fitting) if sign != self.words[at])
        behind = position - len(self.words) + len(fitting)
        if position <= cut:
            return position
        return behind if behind > cut else cut + is_end
