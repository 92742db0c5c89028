"""The session's title in the top bar: a label that becomes a field to rename the session."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QMouseEvent,
)
from PySide6.QtWidgets import QApplication, QLineEdit, QStackedWidget, QWidget

from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class EditableTitle(QStackedWidget):
    """A title that turns into a field on double click; Enter keeps the new name, Esc the old one.

    After both the keyboard is where it was.
    """

    renamed = Signal(str)

    def __init__(self) -> None:
        """Start without a title, and not editable."""
        super().__init__()
        self.editable = False
        self._focused_before: QWidget | None = None
        self._label = ElidedLabel(role="title")
        self._field = QLineEdit()
        self._field.setProperty("kind", "title")
        self._field.setAccessibleName(tr("Session title"))
        self._field.setMaxLength(1_000)
        self._field.editingFinished.connect(self._finish)
        self.addWidget(self._label)
        self.addWidget(self._field)
        self.setMinimumWidth(1)  # else the field behind it asks for room that a narrow bar has not

    def set_title(self, title: str) -> None:
        """Show a title; an edit that is going on is kept."""
        self._label.set_full_text(title)

    def title(self) -> str:
        """Return the whole title."""
        return self._label.full_text()

    def full_width(self) -> int:
        """Width in pixels that the whole title takes."""
        return self._label.full_width()

    def edit(self) -> None:
        """Begin to edit, all text selected."""
        if not self.editable:
            return
        if not self.is_editing():
            self._focused_before = QApplication.focusWidget()
        self._field.setText(self.title())
        self._field.selectAll()
        self.setCurrentWidget(self._field)
        self._field.setFocus()

    def is_editing(self) -> bool:
        """Return True while the title is being edited."""
        return self.currentWidget() is self._field

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Begin to edit."""
        self.edit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave an edit with Esc, without a change."""
        if event.key() == Qt.Key.Key_Escape and self.is_editing():
            self._field.setText(self.title())
            self._finish()
            return
        super().keyPressEvent(event)

    def _finish(self) -> None:
        if not self.is_editing():
            return
        had_focus, before = self._field.hasFocus(), self._focused_before
        self._focused_before = None
        self.setCurrentWidget(self._label)
        if had_focus:
            refocus(before)
        name = self._field.text().strip()
        if name and name != self.title():
            self._label.set_full_text(name)
            self.renamed.emit(name)
