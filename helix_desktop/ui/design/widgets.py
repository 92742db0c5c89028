"""Small parts that every pane of the window shares: layouts, labels, tinted buttons, fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QAction,
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAccessibleWidget,
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from helix_desktop.ui.design.accessibility import TabInterface
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import icon, pixmap
from helix_desktop.ui.design.style.theme import LIGHT, Theme

ICON_GAP_PX = 4
"""Added to the width of an icon that stands before words: Qt's own gap is too tight for Inter."""

_LONG_WORD = re.compile(r"[!-,.0-~]{25,}")  # ASCII without the signs after which Qt breaks a line anyway
_MAY_BREAK = "\N{ZERO WIDTH SPACE}"

if TYPE_CHECKING:
    _Button = QAbstractButton
else:
    _Button = object  # a mixin: the class that it is mixed into brings Qt's part
_KEYPAD = Qt.KeyboardModifier.KeypadModifier

LayoutItem = QWidget | QLayout | int | None
"""What a row or column takes: a widget, a layout, a gap in pixels, or None for a stretch."""


def retint(root: QWidget, theme: Theme) -> None:
    """Call `tint(theme)` on a root and on every widget below it that has such a method.

    Widgets that paint with tokens have one. A look-up by name: checking a Protocol costs 40 µs a widget.
    """
    for widget in (root, *root.findChildren(QWidget)):
        tint = getattr(widget, "tint", None)
        if tint is not None:
            tint(theme)


def _fill(
    layout: QBoxLayout, items: tuple[LayoutItem, ...], margins: tuple[int, int, int, int], gap: int
) -> None:
    layout.setContentsMargins(*margins)
    layout.setSpacing(gap)
    for part in items:
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part)
        else:
            layout.addWidget(part)


def row(*items: LayoutItem, margins: tuple[int, int, int, int] = (0, 0, 0, 0), gap: int = 8) -> QHBoxLayout:
    """Return a horizontal layout of parts; margins and gap in pixels."""
    layout = QHBoxLayout()
    _fill(layout, items, margins, gap)
    return layout


def column(
    *items: LayoutItem, margins: tuple[int, int, int, int] = (0, 0, 0, 0), gap: int = 8
) -> QVBoxLayout:
    """Return a vertical layout of parts; margins and gap in pixels."""
    layout = QVBoxLayout()
    _fill(layout, items, margins, gap)
    return layout


def label(text: str, role: str = "", *, wrap: bool = False) -> QLabel:
    """Return a plain-text label in one of the style sheet's roles."""
    result = WrappedLabel(text) if wrap else QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setProperty("role", role)
    return result


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set a dynamic property that the style sheet reads, and style the widget again if it changed."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def clear_layout(layout: QLayout) -> None:
    """Take all widgets out of a layout and let them go."""
    while layout.count():
        item = layout.takeAt(0)
        widget = item.widget() if item else None
        if widget is not None:
            widget.hide()
            widget.deleteLater()


def card(layout: QLayout, role: str = "card") -> QFrame:
    """Return a framed surface around a layout."""
    frame = QFrame()
    frame.setProperty("role", role)
    frame.setLayout(layout)
    return frame


def line() -> QFrame:
    """Return a hairline across a column."""
    frame = QFrame()
    frame.setProperty("role", "line")
    return frame


class WrappedLabel(QLabel):
    """A label of several lines that also breaks words no line has room for, such as names of files."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._full_text = ""
        self.setWordWrap(True)
        self.setText(text)

    def text(self) -> str:
        """Return the text as it was given."""
        return self._full_text

    def setText(self, text: str) -> None:
        """Show another text."""
        self._full_text = text
        broken = _LONG_WORD.sub(lambda word: _MAY_BREAK.join(word[0]), text)
        super().setText(broken)
        self.setAccessibleName(text if broken != text else "")

    def clear(self) -> None:
        """Show nothing."""
        self.setText("")


class EnterActivates(_Button):
    """What makes Enter press a button that has the keyboard, as Space does, and that one only."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press it."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and not event.modifiers() & ~_KEYPAD:
            if not event.isAutoRepeat():
                self.click()
        else:
            super().keyPressEvent(event)


class PushButton(EnterActivates, QPushButton):
    """A text button of one kind, with an optional tinted icon."""

    def __init__(
        self, text: str, kind: str = "", icon_name: str = "", *, px: int = 15, name: str = ""
    ) -> None:
        """`kind` is one of the style sheet's; `px` is the icon's edge in pixels; `name` finds the button."""
        super().__init__(text)
        self.setObjectName(name)
        self.setProperty("kind", kind)
        self.setAutoDefault(False)
        self._icon_name = icon_name
        self._px = px
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        if self._icon_name:
            colors = {"primary": theme.on_accent, "danger": theme.error, "link": theme.accent_text}
            color = colors.get(str(self.property("kind")), theme.muted)
            self.setIcon(icon(self._icon_name, color, self._px, disabled=theme.faint))
            self.setIconSize(QSize(self._px + ICON_GAP_PX, self._px))


class TabButton(PushButton):
    """A button that shows one of several pages, as one of a TabList."""

    def __init__(self, text: str, kind: str) -> None:
        """`kind` is one of the style sheet's."""
        super().__init__(text, kind)
        self.setCheckable(True)
        self.setAccessibleName(text)

    def make_accessible(self) -> QAccessibleWidget:
        """Return the interface that assistive technology asks."""
        return TabInterface(self)


class TabList(QFrame):
    """What the buttons stand in that each show a page."""

    accessible_role = QAccessible.Role.PageTabList


class IconButton(EnterActivates, QToolButton):
    """A square button with one icon, its tooltip also its name for screen readers; focus by keyboard only."""

    def __init__(self, icon_name: str, tip: str, *, px: int = 17, edge: int = 30) -> None:
        """`px` is the icon's edge, `edge` the button's, in pixels."""
        super().__init__()
        self._icon_name = icon_name
        self._px = px
        self.setIconSize(QSize(px, px))
        self.setFixedSize(edge, edge)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.set_tip(tip)
        self._theme = LIGHT
        self.tint(LIGHT)

    def set_tip(self, tip: str) -> None:
        """Say what the button does."""
        self.setToolTip(tip)
        self.setAccessibleName(tip)

    def set_icon(self, icon_name: str) -> None:
        """Show another icon."""
        self._icon_name = icon_name
        self.tint(self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.setIcon(icon(self._icon_name, theme.muted, self._px))


class IconLabel(QLabel):
    """One tinted icon that is only looked at."""

    def __init__(self, icon_name: str, *, px: int = 15, color_token: str = "faint") -> None:
        """`px` is the edge in pixels, `color_token` the name of a token."""
        super().__init__()
        self._icon_name = icon_name
        self._px = px
        self._color_token = color_token
        self._theme = LIGHT
        self.setFixedSize(px, px)
        self.tint(LIGHT)

    def show_icon(self, icon_name: str, color_token: str) -> None:
        """Show another icon in another token's color."""
        self._icon_name, self._color_token = icon_name, color_token
        self.tint(self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.setPixmap(
            pixmap(self._icon_name, getattr(theme, self._color_token), self._px, self.devicePixelRatioF())
        )


class ElidedLabel(QLabel):
    """A one-line label that shortens its text to the room it has; the whole text is its tooltip then."""

    def __init__(self, text: str = "", role: str = "") -> None:
        """Show a text in one of the style sheet's roles."""
        super().__init__()
        self._full_text = ""
        self._fallbacks: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.set_full_text(text)

    def full_text(self) -> str:
        """Return the text before shortening."""
        return self._full_text

    def set_full_text(self, text: str, *fallbacks: str) -> None:
        """Show a text; where it does not fit, the first shorter one that does, else its beginning."""
        self._full_text = text
        self._fallbacks = fallbacks
        self.setAccessibleName(text)
        self._shorten()

    def full_width(self) -> int:
        """Width in pixels at which nothing is shortened."""
        return self.fontMetrics().horizontalAdvance(self._full_text) + 2

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten again for the new width."""
        super().resizeEvent(event)
        self._shorten()

    def _shorten(self) -> None:
        metrics, room = self.fontMetrics(), max(self.width(), 0)
        fitting = (
            text for text in (self._full_text, *self._fallbacks) if metrics.horizontalAdvance(text) <= room
        )
        last = (self._full_text, *self._fallbacks)[-1]
        elided = next(fitting, "") or metrics.elidedText(last, Qt.TextElideMode.ElideRight, room)
        self.setText(elided)
        self.setToolTip(self._full_text if elided != self._full_text else "")


class Dot(QWidget):
    """A small filled circle in a token's color."""

    def __init__(self, color_token: str, *, px: int = 7) -> None:
        """`color_token` is the name of a token, `px` the diameter in pixels."""
        super().__init__()
        self._color_token = color_token
        self._theme = LIGHT
        self.setFixedSize(px, px)

    def set_color_token(self, color_token: str) -> None:
        """Take another token's color."""
        self._color_token = color_token
        self.update()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the circle."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(self._theme, self._color_token)))
        painter.drawEllipse(QRectF(self.rect()))


class Badge(QWidget):
    """A pill with a short text, in a token's color on its soft ground."""

    def __init__(self, text: str, color_token: str = "warn") -> None:
        """`color_token` is a token that has a soft twin: ok, warn or error; or "accent"."""
        super().__init__()
        self._text = ""
        self._color_token = color_token
        self._theme = LIGHT
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def text(self) -> str:
        """Return the text on the pill."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Room for the text and round ends."""
        metrics = QFontMetricsF(self._font())
        return QSize(round(metrics.horizontalAdvance(self._text)) + 17, round(metrics.height()) + 4)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint ground and text."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(self._theme, f"{self._color_token}_soft")))
        painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        painter.setFont(self._font())
        text_token = "accent_text" if self._color_token == "accent" else self._color_token
        painter.setPen(QColor(getattr(self._theme, text_token)))
        painter.drawText(QRectF(self.rect()), Qt.AlignmentFlag.AlignCenter, self._text)

    def _font(self) -> QFont:
        return fonts.sized(self.font(), 11, QFont.Weight.DemiBold)


class Combo(QComboBox):
    """A combo box whose chevron is painted, because a style sheet cannot tint one."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._theme = LIGHT

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box, then the chevron."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.muted if self.isEnabled() else self._theme.faint
        painter.setPen(QPen(QColor(color), 1.6, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y = self.width() - 17.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 3.5, y), QPointF(x, y + 3.5), QPointF(x + 3.5, y)])


class Switch(QAbstractButton):
    """An on/off switch with its text at the right."""

    def __init__(self, text: str, *, on: bool = False) -> None:
        """Start on or off."""
        super().__init__()
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setChecked(on)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._theme = LIGHT

    def sizeHint(self) -> QSize:
        """Room for the switch and its text."""
        metrics = self.fontMetrics()
        return QSize(48 + metrics.horizontalAdvance(self.text()), max(26, metrics.height() + 6))

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track, knob, focus ring and text."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(2, (self.height() - 18) / 2, 32, 18)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.drawRoundedRect(track.adjusted(-1.5, -1.5, 1.5, 1.5), 10.5, 10.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.accent if self.isChecked() else self._theme.faint))
        painter.drawRoundedRect(track, 9, 9)
        painter.setBrush(QColor(self._theme.on_accent))
        painter.drawEllipse(
            QRectF(track.right() - 16 if self.isChecked() else track.left() + 2, track.top() + 2, 14, 14)
        )
        painter.setPen(QColor(self._theme.text))
        painter.drawText(
            QRectF(44, 0, self.width() - 44, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text()
        )


class SearchField(QLineEdit):
    """A line edit with a magnifier in front and a button that clears it."""

    def __init__(self, placeholder: str) -> None:
        """The placeholder is also its name for screen readers."""
        super().__init__()
        self.setProperty("kind", "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)
        self._magnifier = QAction("Search", self)
        for action in self.findChildren(QAction):
            if action is not self._magnifier:
                action.setText("Clear the search")  # Qt's own, which has a picture only
        self.addAction(self._magnifier, QLineEdit.ActionPosition.LeadingPosition)
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._magnifier.setIcon(icon("search", theme.faint, 15))
