"""A button that shows the keys of a command and takes the next ones that are pressed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.page_keys import pressed_key
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import restyle
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Keyboard")

_Key = Qt.Key
_MODIFIER_KEYS = frozenset(
    {
        _Key.Key_Control, _Key.Key_Shift, _Key.Key_Alt, _Key.Key_Meta, _Key.Key_AltGr, _Key.Key_CapsLock,
        _Key.Key_NumLock, _Key.Key_Super_L, _Key.Key_Super_R, _Key.Key_Hyper_L, _Key.Key_Hyper_R,
        _Key.Key_unknown, _Key(0),
    }
)  # fmt: skip
_MODIFIERS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.ShiftModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)


_HEIGHT_PX = 30  # at 100 %, with keys and without


class KeyRecorder(PushButton):
    """Pressed, it waits for keys: Esc cancels, Backspace removes, others are emitted as portable text."""

    recorded = Signal(str)
    removed = Signal()

    def __init__(self, command: str) -> None:
        """`command` are the words of the command that has the keys."""
        super().__init__("")
        self.setCheckable(True)  # down while it waits
        self.setMinimumHeight(scaled(_HEIGHT_PX))
        self._command = command
        self._keys = ""
        self.toggled.connect(self._show_state)

    def show_keys(self, keys: str) -> None:
        """Show keys as the system writes them; empty: none."""
        self._keys = keys
        self._show_state()

    def _show_state(self) -> None:
        waits = self.isChecked()
        self.setText(tr("Press keys…") if waits else self._keys or tr("Add keys"))
        restyle(self, "kind", "" if waits or self._keys else "link")  # the keys that there are stand out
        self.setAccessibleName(
            tr("{command}: press new keys. Esc cancels, Backspace removes.", command=self._command)
            if waits
            else tr("Keys for {command}: {keys}", command=self._command, keys=self._keys or tr("none"))
        )
        if waits:
            announce(self, self.accessibleName())

    def event(self, event: QEvent) -> bool:
        """Take every key while it waits, also Tab and those of the window's commands."""
        if self.isChecked() and isinstance(event, QKeyEvent):
            event.accept()
            if event.type() == QEvent.Type.KeyPress and not event.isAutoRepeat():
                self._take(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Stop waiting when the keyboard goes elsewhere."""
        self.setChecked(False)
        super().focusOutEvent(event)

    def _take(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers() & _MODIFIERS
        if key in _MODIFIER_KEYS:
            return
        self.setChecked(False)
        if not modifiers and key == _Key.Key_Escape:
            return
        if not modifiers and key == _Key.Key_Backspace:
            self.removed.emit()
            return
        self.recorded.emit(pressed_key(event))
