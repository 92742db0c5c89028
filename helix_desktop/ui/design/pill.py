"""Pills, badges and dots: small marks in a tone or in the color of a token."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QWidget

from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme, Themed

Tone: TypeAlias = Literal["neutral", "accent", "ok", "warn", "error"]
_PILL_ICON = 12


def tone_colors(theme: Theme, tone: Tone) -> tuple[str, str, str]:
    """Return a tone's text, fill and outline; no outline is the fill's own color."""
    match tone:
        case "accent":
            return theme.accent_text, theme.accent_soft, theme.accent_soft
        case "ok":
            return theme.ok, theme.ok_soft, theme.ok_soft
        case "warn":
            return theme.warn, theme.warn_soft, theme.warn_soft
        case "error":
            return theme.error, theme.error_soft, theme.error_soft
    return theme.muted, theme.raised, theme.border


def paint_pill(
    painter: QPainter, rect: QRectF, text: str, colors: tuple[str, str, str], font: QFont, left: float = 8
) -> None:
    """Paint a filled capsule with `text`, beginning `left` pixels from its beginning."""
    color, fill, outline = colors
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(outline), 1))
    painter.setBrush(QColor(fill))
    painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
    painter.setFont(font)
    painter.setPen(QColor(color))
    draw_text(
        painter,
        rect.adjusted(left, 0, 0, 0),
        Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft,
        text,
    )


class Pill(EnterActivates, Themed, QAbstractButton):
    """A capsule with a short text, or an icon alone; a button when `clickable`."""

    def __init__(
        self,
        text: str,
        tone: Tone = "neutral",
        icon_name: str = "",
        mono: bool = False,
        clickable: bool = False,
    ) -> None:
        super().__init__()
        self._tone, self._icon_name, self._clickable = tone, icon_name, clickable
        self._mono = mono
        self._font = ui_font(11, 500, mono)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if clickable else Qt.FocusPolicy.NoFocus)
        if clickable:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.set_text(text)

    def make_accessible(self) -> QAccessibleWidget | None:
        return None if self._clickable else QAccessibleWidget(self, QAccessible.Role.StaticText)

    def set_text(self, text: str, tone: Tone | None = None) -> None:
        self._tone = tone or self._tone
        self.setText(text)
        if text or not self._icon_name:  # an icon alone keeps the name that it was given
            self.setAccessibleName(text)
        width = QFontMetricsF(self._font).horizontalAdvance(text) + 18
        icon_width = _PILL_ICON + 4 if text else _PILL_ICON - 6
        # Layouts ask for it again and again: to measure the text each time is most of what a long page costs.
        self._hint = QSize(int(width) + (icon_width if self._icon_name else 0), scaled(21))
        self.setFixedSize(self._hint)
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._font = ui_font(11, 500, self._mono)
        self.set_text(self.text())

    def sizeHint(self) -> QSize:
        return self._hint

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        mirror(painter, self.rect())
        color, fill, outline = tone_colors(self._theme, self._tone)
        if self._clickable and (self.underMouse() or self.hasFocus()):
            outline = self._theme.accent
        body = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        left = 8 + (_PILL_ICON + 4 if self._icon_name else 0)
        paint_pill(painter, body, self.text(), (color, fill, outline), self._font, left)
        if self._icon_name:
            picture = pixmap(self._icon_name, color, _PILL_ICON, self.devicePixelRatioF())
            draw_pixmap(painter, 8 if self.text() else 6, (self.height() - _PILL_ICON) // 2, picture)


class Dot(Themed, QWidget):
    def __init__(self, color_token: str, *, px: int = 7) -> None:
        """`color_token` is the name of a token, `px` the diameter in pixels."""
        super().__init__()
        self._color_token = color_token
        self.setFixedSize(px, px)

    def set_color_token(self, color_token: str) -> None:
        self._color_token = color_token
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(self._theme, self._color_token)))
        painter.drawEllipse(QRectF(self.rect()))
