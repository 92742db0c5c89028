"""Small drawings that all cards share: frames, chips, buttons, lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QPen

from helix_desktop.ui.chat.look import MEDIUM, REGULAR, SMALL, TINY, UI, Look
from helix_desktop.ui.chat.text_piece import Mark, TextPiece

ButtonStyle: TypeAlias = Literal["outline", "danger", "ghost"]


class Hot(NamedTuple):
    """A place of a sheet that can be clicked, or focused with Tab.

    `name` says what it does; `enter` is False where Enter must not trigger it, only Space or a click.
    """

    name: str
    label: str
    rect: QRectF
    enter: bool = True
    radius: float = 7.0
    tip: str = ""


@dataclass(slots=True)
class Paint:
    """What a sheet has to know to paint itself at this moment."""

    clip: QRectF
    hovered: str = ""
    focused: str = ""
    pressed: str = ""
    copied: str = ""
    tick: int = 0  # steps of the spinner
    marks: dict[int, list[Mark]] = field(default_factory=dict)  # by number of the text

    def marks_of(self, piece: TextPiece) -> Sequence[Mark]:
        """The marks that lie over one text."""
        return self.marks.get(piece.number, ())


class ChipStyle(NamedTuple):
    """Colours and icon of a chip; empty names are left out."""

    color: str
    fill: str = ""
    border: str = ""
    icon: str = ""
    mono: bool = False


CHIP_HEIGHT = 21.0
BUTTON_HEIGHT = 30.0


def box(
    painter: QPainter, rect: QRectF, fill: QColor | None, border: QColor | None = None, radius: float = 10
) -> None:
    """A rounded rectangle with a crisp one-pixel border."""
    painter.setPen(QPen(border, 1) if border is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    inner = rect.adjusted(0.5, 0.5, -0.5, -0.5) if border is not None else rect
    painter.drawRoundedRect(inner, radius, radius)


def top_box(painter: QPainter, rect: QRectF, fill: QColor, radius: float, bottom: bool = False) -> None:
    """A ground that is rounded at the top, or at the bottom, only."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    path.addRoundedRect(rect, radius, radius)
    square = rect.adjusted(0, 0, 0, -radius) if bottom else rect.adjusted(0, radius, 0, 0)
    path.addRect(square)
    painter.fillPath(path, fill)


def line_of_text(
    painter: QPainter, look: Look, rect: QRectF, text: str, font: QFont, color: str, right: bool = False
) -> None:
    """One line, centred in height, cut with an ellipsis when it does not fit."""
    painter.setFont(font)
    painter.setPen(look.color(color))
    shown = text
    if look.width(text, font) > rect.width():
        shown = look.metrics(font).elidedText(text[:2_000], Qt.TextElideMode.ElideRight, rect.width())
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    flags = Qt.AlignmentFlag.AlignVCenter | side | Qt.TextFlag.TextSingleLine
    painter.drawText(rect, int(flags), shown)


def chip_width(look: Look, text: str, style: ChipStyle) -> float:
    """How wide a chip is, pixels."""
    font = look.font(TINY, MEDIUM, mono=style.mono)
    return look.width(text, font) + look.px(18) + (look.px(15) if style.icon else 0)


def chip(painter: QPainter, look: Look, rect: QRectF, text: str, style: ChipStyle, turn: float = 0.0) -> None:
    """A pill with an icon, which may be turned by degrees, and a word."""
    fill = look.color(style.fill) if style.fill else None
    border = look.color(style.border) if style.border else None
    box(painter, rect, fill, border, rect.height() / 2)
    left = rect.x() + look.px(9)
    if style.icon:
        side = look.px(12)
        icon(
            painter,
            look,
            style.icon,
            style.color,
            QRectF(left - 1, rect.center().y() - side / 2, side, side),
            turn,
        )
        left += look.px(15)
    font = look.font(TINY, MEDIUM, mono=style.mono)
    inner = QRectF(left, rect.y(), rect.right() - left - look.px(6), rect.height())
    line_of_text(painter, look, inner, text, font, style.color)


def icon(painter: QPainter, look: Look, name: str, color: str, rect: QRectF, turn: float = 0.0) -> None:
    """An icon in a square, turned by degrees around its middle."""
    picture = look.icon(name, color, round(rect.width() / look.zoom))
    if not turn:
        painter.drawPixmap(rect.topLeft(), picture)
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.translate(rect.center())
    painter.rotate(turn)
    painter.drawPixmap(QPointF(-rect.width() / 2, -rect.height() / 2), picture)
    painter.restore()


def button_width(look: Look, label: str, with_icon: bool = False) -> float:
    """How wide a button is, pixels."""
    return look.width(label, look.font(UI, MEDIUM)) + look.px(26) + (look.px(20) if with_icon else 0)


def button(
    painter: QPainter, look: Look, hot: Hot, paint: Paint, style: ButtonStyle = "outline", icon_name: str = ""
) -> None:
    """A button at its hot place, with its hover and pressed look."""
    theme = look.theme
    active = hot.name in (paint.hovered, paint.pressed)
    color = theme.error if style == "danger" else theme.text
    fill = look.color(theme.hover if active else theme.surface)
    if style == "danger" and active:
        fill = look.color(theme.error_soft)
    border = None if style == "ghost" else look.color(theme.border_strong)
    if style == "ghost":
        color = theme.muted
        if not active:
            fill = QColor(Qt.GlobalColor.transparent)
    box(painter, hot.rect, fill, border, 8)
    label(painter, look, hot.rect, hot.label, color, icon_name, UI if style != "ghost" else SMALL)


def label(
    painter: QPainter, look: Look, rect: QRectF, text: str, color: str, icon_name: str = "", size: float = UI
) -> None:
    """A word, with an icon before it, in the middle of a rectangle."""
    font = look.font(size, MEDIUM if size == UI else REGULAR)
    side = look.px(14)
    wide = look.width(text, font) + (side + look.px(6) if icon_name else 0)
    left = rect.x() + max(0.0, (rect.width() - wide) / 2)
    if icon_name:
        icon(painter, look, icon_name, color, QRectF(left, rect.center().y() - side / 2, side, side))
        left += side + look.px(6)
    line_of_text(painter, look, QRectF(left, rect.y(), rect.right() - left, rect.height()), text, font, color)


def focus_ring(painter: QPainter, look: Look, rect: QRectF, radius: float = 8) -> None:
    """The ring around what has the keyboard."""
    painter.setPen(QPen(look.color(look.theme.accent), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius)
