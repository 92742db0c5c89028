"""What an input method composes in a field, and the keys that belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    _Field = QWidget
else:
    _Field = object  # a mixin: the class that it is mixed into brings Qt's part


class ComposingField(_Field):
    """A field in which Esc cancels a composition, also where the input method leaves the key to the app."""

    composition_keys = frozenset({Qt.Key.Key_Escape})
    """Keys that do nothing else while something is being composed."""
    _composition = ""

    @property
    def composition(self) -> str:
        """Return what an input method composes and has not committed yet."""
        return self._composition

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Note what an input method composes."""
        self._composition = event.preeditString()
        super().inputMethodEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep the keys of a composition from shortcuts, from the field and from what is around it."""
        if not (self._composition and isinstance(event, QKeyEvent) and event.key() in self.composition_keys):
            return super().event(event)
        if event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            QGuiApplication.inputMethod().reset()
            QCoreApplication.sendEvent(self, QInputMethodEvent())
        event.accept()
        return True
