"""Small widgets that the cache browser, the timeline and the inspector share, painted from theme tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAccessibleWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from helix_desktop.ui.design.accessibility import LabelInterface
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.widgets import IconLabel, PushButton

TextRole: TypeAlias = Literal["text", "muted", "faint", "accent_text", "ok", "warn", "error"]


def role_color(theme: Theme, role: TextRole) -> str:
    """Return the theme's color of a role."""
    return str(getattr(theme, role))


class TextLine(QWidget):
    """One line of text that elides where room ends; its whole text is then the tooltip."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(
        self, text: str = "", px: int = 13, weight: int = 400, role: TextRole = "text", mono: bool = False
    ) -> None:
        super().__init__()
        self._theme, self._role, self._text = LIGHT, role, ""
        self._font_spec = (px, weight, mono)
        self._font = ui_font(*self._font_spec)
        self._metrics = QFontMetricsF(self._font)
        self.elide = Qt.TextElideMode.ElideRight
        self.is_fixed_width = False  # never narrower than its text
        self.align = Qt.AlignmentFlag.AlignLeft
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    @property
    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        if text == self._text and self.accessibleName() == text:
            return
        self._text = text
        self.setAccessibleName(text)
        self._update_tooltip()
        self.updateGeometry()
        self.update()

    def set_role(self, role: TextRole) -> None:
        """Show it in another role's color."""
        self._role = role
        self.update()

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        self._theme = theme
        self._font = ui_font(*self._font_spec)
        self._metrics = QFontMetricsF(self._font)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for the whole text."""
        return QSize(int(self._metrics.horizontalAdvance(self._text)) + 2, int(self._metrics.height()) + 2)

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters."""
        full_size = self.sizeHint()
        return full_size if self.is_fixed_width else QSize(min(24, full_size.width()), full_size.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """See whether the text still fits."""
        self._update_tooltip()
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the text."""
        painter = QPainter(self)
        painter.setFont(self._font)
        painter.setPen(QColor(role_color(self._theme, self._role)))
        elided = self._metrics.elidedText(self._text, self.elide, self.width())
        painter.drawText(QRectF(self.rect()), Qt.AlignmentFlag.AlignVCenter | self.align, elided)

    def _update_tooltip(self) -> None:
        fits = self._metrics.horizontalAdvance(self._text) <= self.width() + 1
        self.setToolTip("" if fits else self._text)


class SelectableText(QLabel):
    """Text that wraps and can be selected."""

    def __init__(
        self, text: str = "", px: int = 13, role: TextRole = "text", mono: bool = False, weight: int = 400
    ) -> None:
        super().__init__(text)
        self._px, self._role, self._mono, self._weight = px, role, mono, weight
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._styled: object = None
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens from now on."""
        styled = (theme, scaled(self._px))
        if styled == self._styled:
            return
        self._styled = styled
        family = fonts.MONO_FAMILY if self._mono else fonts.UI_FAMILY
        self.setStyleSheet(
            f"QLabel {{ color: {role_color(theme, self._role)}; font-family: '{family}';"
            f" font-size: {scaled(self._px)}px; font-weight: {self._weight}; background: transparent;"
            f" selection-background-color: {theme.text_selection}; selection-color: {theme.text}; }}"
        )


class Card(QFrame):
    """A raised surface with rounded corners."""

    def __init__(self, margins: tuple[int, int, int, int] = (16, 13, 16, 13), gap: int = 8) -> None:
        super().__init__()
        self._theme = LIGHT
        self.is_code = False
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(*margins)
        self.body.setSpacing(gap)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens from now on."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the surface."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(QColor(self._theme.code_surface if self.is_code else self._theme.surface))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 12, 12)


class KeyValue(QWidget):
    """A name on the left, its value on the right, and before both a colored dot if there is a color."""

    def __init__(
        self, name: str, value: str, dot: Callable[[Theme], str] | None = None, mono: bool = False
    ) -> None:
        super().__init__()
        self._theme, self._dot = LIGHT, dot
        row = QHBoxLayout(self)
        row.setContentsMargins(17 if dot else 0, 0, 0, 0)
        row.setSpacing(8)
        self._name = TextLine(name, 12, role="muted")
        self._value = TextLine(value, 12, 400 if mono else 500, role="muted" if mono else "text", mono=mono)
        self._value.align = Qt.AlignmentFlag.AlignRight
        self._value.is_fixed_width = True
        row.addWidget(self._name)
        row.addStretch(1)
        row.addWidget(self._value)
        self.setAccessibleName(f"{name}: {value}")

    def make_accessible(self) -> QAccessibleWidget:
        """Return the interface that assistive technology asks: name and value are read as one."""
        return LabelInterface(self)

    def set_value(self, name: str, value: str) -> None:
        """Show another name and value."""
        self._name.set_text(name)
        self._value.set_text(value)
        self.setAccessibleName(f"{name}: {value}")

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens from now on."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the dot."""
        if self._dot is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._dot(self._theme)))
        painter.drawEllipse(QPointF(4, self.height() / 2), 4, 4)


class EmptyState(QWidget):
    """What stands where nothing is yet: an icon, one sentence and one button."""

    button_clicked = Signal()

    def __init__(self, icon_name: str, sentence: str, button: str = "") -> None:
        super().__init__()
        self._sentence = SelectableText(sentence, 14, "muted")
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._sentence.setMaximumWidth(400)
        self._sentence.setMinimumWidth(200)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(14)
        column.addStretch(2)
        column.addWidget(IconLabel(icon_name, px=32), 0, Qt.AlignmentFlag.AlignHCenter)
        line = QHBoxLayout()
        line.addStretch(1)
        line.addWidget(self._sentence, 10)
        line.addStretch(1)
        column.addLayout(line)
        self.button = PushButton(button, name="empty_action")
        self.button.clicked.connect(self.button_clicked)
        self.button.setVisible(bool(button))
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)

    @property
    def sentence(self) -> str:
        """Return what it says."""
        return self._sentence.text()

    def set_content(self, sentence: str, button: str = "") -> None:
        """Say something else, and offer something else."""
        self._sentence.setText(sentence)
        self.button.setText(button)
        self.button.setVisible(bool(button))
