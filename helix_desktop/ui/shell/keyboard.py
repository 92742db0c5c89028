"""Keyboard matters of the whole window: editing keys from the menu, and the way from pane to pane."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.ui.shell.actions import WindowActions

_CONTROL = Qt.KeyboardModifier.ControlModifier
_SHIFT = Qt.KeyboardModifier.ShiftModifier


def connect_editing(actions: WindowActions) -> None:
    """Let the Edit menu press its keys on the widget in focus, so that each widget answers in its own way."""
    for action, key, modifiers in (
        (actions.undo, Qt.Key.Key_Z, _CONTROL),
        (actions.redo, Qt.Key.Key_Z, _CONTROL | _SHIFT),
        (actions.cut, Qt.Key.Key_X, _CONTROL),
        (actions.copy, Qt.Key.Key_C, _CONTROL),
        (actions.paste, Qt.Key.Key_V, _CONTROL),
    ):
        action.triggered.connect(lambda _=False, chord=(key, modifiers): _press(*chord))


def focus_next(panes: Sequence[QWidget]) -> None:
    """Move the keyboard to the next visible pane that has something to focus."""
    visible = [pane for pane in panes if pane.isVisible()]
    focused = QApplication.focusWidget()
    here = next(
        (at for at, pane in enumerate(visible) if focused is not None and pane.isAncestorOf(focused)), -1
    )
    for step in range(1, len(visible) + 1):
        target = _first_focus(visible[(here + step) % len(visible)])
        if target is not None:
            target.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return


def _press(key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
    target = QApplication.focusWidget()
    if target is not None:
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.sendEvent(target, QKeyEvent(kind, key, modifiers))


def _first_focus(pane: QWidget) -> QWidget | None:
    widget = pane.nextInFocusChain()
    while widget is not None and widget is not pane:
        takes = widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value
        if pane.isAncestorOf(widget) and takes and widget.isVisible() and widget.isEnabled():
            return widget
        widget = widget.nextInFocusChain()
    return None
