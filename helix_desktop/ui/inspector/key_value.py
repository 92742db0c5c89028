"""A figure of the inspector: its name, and its value at the end of the line."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAccessibleWidget, QHBoxLayout, QWidget

from helix_desktop.ui.design.accessibility import LabelInterface
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import mirror, set_margins
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


class KeyValue(Themed, QWidget):
    """A name, its value at the other end, and before both a colored dot if there is a color."""

    def __init__(self, name: str, value: str, dot: Callable[[Theme], str] | None = None) -> None:
        super().__init__()
        self._dot = dot
        row = QHBoxLayout(self)
        set_margins(row, 17 if dot else 0, 0, 0, 0)
        self._name = TextLine(name, 12, role="muted")
        self._value = TextLine(value, 12, 500, role="text")
        self._value.align = Qt.AlignmentFlag.AlignRight
        self._value.is_fixed_width = True
        row.addWidget(ResponsiveRow(self._name, [self._value]))
        self.setAccessibleName(tr("{name}: {value}", name=name, value=value))

    def make_accessible(self) -> QAccessibleWidget:
        """Return the interface that assistive technology asks: name and value are read as one."""
        return LabelInterface(self)

    def set_value(self, name: str, value: str) -> None:
        """Show another name and value."""
        self._name.set_text(name)
        self._value.set_text(value)
        self.setAccessibleName(tr("{name}: {value}", name=name, value=value))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the dot."""
        if self._dot is None:
            return
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._dot(self._theme)))
        painter.drawEllipse(QPointF(4, self._name.height() / 2), 4, 4)
