"""Surfaces with something on them: cards, and what stands where nothing is yet."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, SelectableText, show_text
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed

_SENTENCE_PX, _MIN_SENTENCE_PX, _MAX_SENTENCE_PX = 14, 200, 400  # at 100 %: the font, the lines of a sentence
_LINE_SLACK = 1.15  # times a line's share of the text: words do not break where a share ends


class Card(Themed, QFrame):
    def __init__(self, margins: tuple[int, int, int, int] = (16, 13, 16, 13), gap: int = 8) -> None:
        super().__init__()
        self.is_code = self._is_marked = False
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(*margins)
        self.body.setSpacing(gap)

    def set_marked(self, is_marked: bool) -> None:
        """Draw its border in the accent color, for one that something led to."""
        self._is_marked = is_marked
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = 2 if self._is_marked else 1
        painter.setPen(QPen(QColor(self._theme.accent if self._is_marked else self._theme.border), width))
        painter.setBrush(QColor(self._theme.code_surface if self.is_code else self._theme.surface))
        inset = width / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 12, 12)


class BalancedText(SelectableText):
    """A centered sentence whose lines are about as long as one another: no last word stands alone."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _SENTENCE_PX, "muted")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._balance()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._balance()

    def _balance(self) -> None:
        one_line = QFontMetricsF(ui_font(_SENTENCE_PX)).horizontalAdvance(self.text())
        lines = max(1, ceil(one_line / scaled(_MAX_SENTENCE_PX)))
        width = ceil(one_line / lines * _LINE_SLACK)
        self.setMaximumWidth(max(width, scaled(_MIN_SENTENCE_PX)))
        self.setMinimumWidth(min(width, _MIN_SENTENCE_PX))


class EmptyState(QWidget):
    """Fills an empty page: an icon, one sentence, one button, and perhaps a link to what else can be done."""

    button_clicked = Signal()
    link_clicked = Signal()

    def __init__(self, icon_name: str, sentence: str, button: str = "") -> None:
        super().__init__()
        self._sentence = BalancedText(sentence)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 24, 12, 24)
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
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.button.setVisible(bool(button))
        self._link = PushButton("", "link", name="empty_link")
        self._link.clicked.connect(self.link_clicked)
        column.addWidget(self._link, 0, Qt.AlignmentFlag.AlignHCenter)
        self._link.hide()
        column.addStretch(3)

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    def set_content(self, sentence: str, button: str = "", link: str = "") -> None:
        self._sentence.setText(sentence)
        show_text(self.button, button)
        show_text(self._link, link)
