"""Headings that open and close what is below them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QSizePolicy, QWidget

from helix_desktop.ui.design.accessibility import DisclosureInterface
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.dynamic_style import TextRole
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.mirror import draw_chevron, draw_text, mirror
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_CHEVRON_PX, _NOTE_GAP = 14, 8  # pixels: the chevron's edge, and from the title's end to the note
_CHEVRON_X, _TITLE_GAP_PX = 0, 6  # pixels: its icon has room around the chevron, where the focus ring is


class DisclosureHead(EnterActivates, Themed, QAbstractButton):
    def __init__(self, title: str, note: str = "", role: TextRole = "text") -> None:
        super().__init__()
        self._note, self._role = note, role
        self.setText(title)
        self.setAccessibleName(tr("{title}, {note}", title=title, note=note) if note else title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.apply_theme()

    def make_accessible(self) -> QAccessibleWidget:
        return DisclosureInterface(self)

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(26))

    def sizeHint(self) -> QSize:
        return QSize(240, scaled(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, scaled(26))

    def full_text(self) -> str:
        return f"{self.text()} · {self._note}" if self._note else self.text()

    def full_width(self) -> int:
        """Return the width in pixels at which nothing is shortened."""
        title = QFontMetrics(ui_font(13, 600)).horizontalAdvance(self.text())
        return _title_x() + title + (_NOTE_GAP + QFontMetrics(ui_font(12)).horizontalAdvance(self._note))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setToolTip(self.full_text() if self.full_width() > self.width() else "")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 6, 6)
        color = self._theme.text if self.underMouse() else self._theme.faint
        side = scaled(_CHEVRON_PX)
        draw_chevron(painter, _CHEVRON_X, (self.height() - side) // 2, color, side, is_open=self.isChecked())
        room = self.rect().adjusted(_title_x(), 0, 0, 0)
        painter.setFont(ui_font(13, 600))
        painter.setPen(QColor(str(getattr(self._theme, self._role))))
        self._draw_shortened(painter, room, self.text())
        room.setLeft(room.left() + painter.fontMetrics().horizontalAdvance(self.text()) + _NOTE_GAP)
        painter.setFont(ui_font(12))
        painter.setPen(QColor(self._theme.faint))
        self._draw_shortened(painter, room, self._note)

    def _draw_shortened(self, painter: QPainter, room: QRect, text: str) -> None:
        fitting = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(room.width(), 0))
        draw_text(painter, room, Qt.AlignmentFlag.AlignVCenter, fitting)


def _title_x() -> int:
    return _CHEVRON_X + scaled(_CHEVRON_PX) + _TITLE_GAP_PX


class Disclosure(QWidget):
    """A heading with a body, which is built when it is first opened unless it is there."""

    def __init__(self, head: DisclosureHead, body: QWidget | Callable[[], QWidget]) -> None:
        super().__init__()
        self._build = body if not isinstance(body, QWidget) else lambda: body
        self._body: QWidget | None = None
        self.head = head
        if isinstance(body, QWidget):
            body.setParent(self)  # a search finds what is in it
            body.hide()
        self._column = column(head, gap=2)
        self.setLayout(self._column)
        head.toggled.connect(self._toggle)

    def _toggle(self, opened: bool) -> None:
        if self._body is None:
            self._body = self._build()
            self._column.addWidget(self._body)
        self._body.setVisible(opened)
        self.updateGeometry()
