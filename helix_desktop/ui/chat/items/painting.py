"""What all cards share in their looks: frames, chips, buttons, icons, lines of text."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.style import MEDIUM, SMALL, TINY, UI, ChatStyle
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror, turn_back
from helix_desktop.ui.kit.boxes import HitArea, PaintState

ButtonStyle: TypeAlias = Literal["primary", "outline", "ghost"]


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


def button_width(style: ChatStyle, label: str, with_icon: bool = False) -> float:
    return style.width(label, style.font(UI, MEDIUM)) + style.px(26) + (style.px(20) if with_icon else 0)


class ChatPainter:
    """Draws what all cards share with `qt`, in the chat's style: colors are #rrggbb, empty for none."""

    def __init__(self, qt: QPainter, style: ChatStyle, state: PaintState | None = None) -> None:
        self.qt, self.style, self.theme = qt, style, style.theme
        self.state = state or PaintState(QRectF())

    @classmethod
    def of_widget(cls, widget: QWidget, style: ChatStyle) -> ChatPainter:
        """Draw a widget, from left to right in a painter that mirrors it where the window is mirrored."""
        qt = QPainter(widget)
        mirror(qt, widget.rect())
        qt.setRenderHint(QPainter.RenderHint.Antialiasing)
        return cls(qt, style)

    def is_active(self, area: HitArea) -> bool:
        """Return True if the pointer is over an area, or holds it down."""
        return area.name in (self.state.hovered, self.state.pressed)

    def text(self, layout: TextLayout) -> None:
        """Draw a text with its marks, as far as it is in sight."""
        layout.paint(self.qt, self.state.clip, self.state.marks.get(layout.number, ()))

    def box(self, rect: QRectF, fill: str | QColor, border: str | QColor = "", radius: float = 10) -> None:
        self.qt.setPen(QPen(self._color(border), 1) if border else Qt.PenStyle.NoPen)
        self.qt.setBrush(self._color(fill) if fill else Qt.BrushStyle.NoBrush)
        inner = rect.adjusted(0.5, 0.5, -0.5, -0.5) if border else rect
        self.qt.drawRoundedRect(inner, radius, radius)

    def fill(self, rect: QRectF, color: str) -> None:
        self.qt.fillRect(rect, self.style.color(color))

    def _color(self, color: str | QColor) -> QColor:
        return self.style.color(color) if isinstance(color, str) else color

    def half_rounded_box(self, rect: QRectF, fill: str, round_bottom: bool = False) -> None:
        """Paint a background that is rounded at the top, or at the bottom, only."""
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(rect, _BOX_RADIUS, _BOX_RADIUS)
        below = (0, 0, 0, -_BOX_RADIUS) if round_bottom else (0, _BOX_RADIUS, 0, 0)
        path.addRect(rect.adjusted(*below))
        self.qt.fillPath(path, self.style.color(fill))

    def line(self, rect: QRectF, text: str, font: QFont, color: str, *, align_right: bool = False) -> None:
        """One line, centered in height, cut with an ellipsis when it does not fit."""
        self.qt.setFont(font)
        self.qt.setPen(self.style.color(color))
        side = Qt.AlignmentFlag.AlignRight if align_right else Qt.AlignmentFlag.AlignLeft
        # Absolute: what is painted so keeps its order from left to right, whatever the language.
        flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute
        words = elided_line(self.style, text, font, rect.width())
        draw_text(self.qt, rect, flags | Qt.TextFlag.TextSingleLine, words)

    def word(self, left: float, line: QRectF, text: str, font: QFont, color: str) -> float:
        """Write a word into a line, from a place in it on; return where it ends."""
        wide = max(0.0, min(self.style.width(text, font) + 1, line.right() - left))
        self.line(QRectF(left, line.y(), wide, line.height()), text, font, color)
        return left + wide

    def word_before(self, right: float, line: QRectF, text: str, font: QFont, color: str) -> float:
        """Write a word into a line so that it ends at a place in it; return where it begins."""
        wide = self.style.width(text, font) + 1
        self.line(QRectF(right - wide, line.y(), wide, line.height()), text, font, color)
        return right - wide

    def icon(self, name: str, color: str, left: float, middle: float, size: float, turn: float = 0) -> None:
        """Draw an icon of so many pixels at zoom 1 beside a line's middle; `turn` is in degrees."""
        side = self.style.px(size)
        picture, rect = self.style.icon(name, color, round(size)), QRectF(left, middle - side / 2, side, side)
        if not turn:
            draw_pixmap(self.qt, rect.x(), rect.y(), picture)
            return
        self.qt.save()
        turn_back(self.qt, rect)
        self.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.qt.translate(rect.center())
        self.qt.rotate(turn)
        self.qt.drawPixmap(QPointF(-side / 2, -side / 2), picture)
        self.qt.restore()

    def icon_in(self, name: str, color: str, place: QRectF, size: float) -> None:
        """Draw an icon in the middle of a place."""
        center = place.center()
        self.icon(name, color, center.x() - self.style.px(size) / 2, center.y(), size)

    def chip(self, rect: QRectF, text: str, chip: ChipStyle) -> None:
        self.box(rect, chip.fill, chip.border, rect.height() / 2)
        left = rect.x() + self.style.px(9)
        if chip.icon:
            self.icon(chip.icon, chip.color, left - 1, rect.center().y(), 12)
            left += self.style.px(15)
        inner = QRectF(left, rect.y(), rect.right() - left - self.style.px(6), rect.height())
        self.line(inner, text, self.style.font(TINY, MEDIUM, mono=chip.mono), chip.color)

    def thumbnail(self, place: QRectF, image: QImage | None, color: str) -> None:
        """Paint an image into a place with round corners; without one, its icon in a color."""
        self.box(place, self.theme.surface, self.theme.border, _THUMBNAIL_RADIUS)
        if image is None:
            least = min(place.width(), place.height()) / self.style.zoom
            self.icon_in("image", color, place, min(13, least))
            return
        size = QSizeF(image.size())
        if size.width() > place.width() or size.height() > place.height():
            size.scale(place.size(), Qt.AspectRatioMode.KeepAspectRatio)
        picture = QRectF(place.center() - QPointF(size.width() / 2, size.height() / 2), size)
        outline = QPainterPath()
        outline.addRoundedRect(picture, _THUMBNAIL_RADIUS, _THUMBNAIL_RADIUS)
        self.qt.save()
        turn_back(self.qt, place)
        self.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.qt.setClipPath(outline, Qt.ClipOperation.IntersectClip)
        self.qt.drawImage(picture, image)
        self.qt.restore()

    def button(self, area: HitArea, kind: ButtonStyle = "outline", icon_name: str = "") -> None:
        theme, style, active = self.theme, self.style, self.is_active(area)
        color, fill, border = theme.text, theme.hover if active else theme.surface, theme.border_strong
        if kind == "primary":
            color, border = theme.on_accent, ""
        if kind == "ghost":
            color, fill, border = theme.muted, theme.hover if active else "", ""
        inset = 3 if kind == "primary" and self.state.focused == area.name else 0  # the ring has its color
        accent = style.color(theme.accent)
        ground = (accent.darker(112) if active else accent) if kind == "primary" else fill
        self.box(area.rect.adjusted(inset, inset, -inset, -inset), ground, border, 8 - inset)
        font = style.font(SMALL) if kind == "ghost" else style.font(UI, MEDIUM)
        icon_room = style.px(20) if icon_name else 0.0
        wide = style.width(area.label, font) + icon_room
        left = area.rect.x() + max(0.0, (area.rect.width() - wide) / 2)
        if icon_name:
            self.icon(icon_name, color, left, area.rect.center().y(), 14)
        words = area.rect.adjusted(left + icon_room - area.rect.x(), 0, 0, 0)
        self.line(words, area.label, font, color)


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

    def paint(self, painter: ChatPainter) -> None:
        """Draw it with its marks; what is cut off is marked where it was cut."""
        style = painter.style
        fitting = self.shown_words(style)
        tall = style.metrics(self.font).height()
        for mark in painter.state.marks.get(self.number, ()) if self.number else ():
            left, right = (
                style.width(fitting[: self._shown_position(fitting, position, end)], self.font)
                for position, end in ((mark.start, False), (mark.end, True))
            )
            place = QRectF(self.rect.x() + left, self.rect.center().y() - tall / 2, right - left, tall)
            painter.qt.fillRect(place, mark.color)
        painter.line(self.rect, fitting, self.font, self.color)

    def _shown_position(self, fitting: str, position: int, is_end: bool) -> int:
        """Return where a position stands in what is shown; of what is cut off, an edge of the ellipsis."""
        if fitting == self.words:
            return position
        cut = next(at for at, sign in enumerate(fitting) if sign != self.words[at])
        behind = position - len(self.words) + len(fitting)
        if position <= cut:
            return position
        return behind if behind > cut else cut + is_end
