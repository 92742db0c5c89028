"""Surfaces with something on them: cards, and what stands where nothing is yet."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, SelectableText, show_text
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed

_SENTENCE_PX, _MIN_SENTENCE_PX, _MAX_SENTENCE_PX = 14, 200, 400  # at 100 %: the font, the lines of a sentence
_LINE_SLACK = 1.15  # times a line's share of the text: words do not break where a share ends


class ThemedBackground(Themed, QWidget):
    """A widget with a background of one color, perhaps below a line."""

    ground = "canvas"
    """The token of its color."""
    has_line = False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(getattr(self._theme, self.ground)))
        if self.has_line:
            painter.fillRect(0, 0, self.width(), 1, QColor(self._theme.border))


class Card(Themed, QFrame):
    def __init__(self, margins: tuple[int, int, int, int] = (16, 13, 16, 13), gap: int = 8) -> None:
        super().__init__()
        self.is_code = self._is_marked = False
        self.body = column(margins=margins, gap=gap)
        self.setLayout(self.body)

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
        self.button = PushButton(button, name="empty_action", on_click=self.button_clicked.emit)
        self._link = PushButton("", "link", name="empty_link", on_click=self.link_clicked.emit)
        self._link.hide()
        face, line = IconLabel(icon_name, px=32), row(None, self._sentence, None, gap=0)
        line.setStretch(1, 10)
        body = column(None, face, line, self.button, self._link, None, margins=(12, 24, 12, 24), gap=14)
        body.setStretch(0, 2)
        body.setStretch(5, 3)
        for part in (face, self.button, self._link):
            body.setAlignment(part, Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(body)
        self.button.setVisible(bool(button))

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    def set_content(self, sentence: str, button: str = "", link: str = "") -> None:
        self._sentence.setText(sentence)
        show_text(self.button, button)
        show_text(self._link, link)
