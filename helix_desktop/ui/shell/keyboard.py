"""Keyboard matters of the whole window: editing keys from the menu, and the way from pane to pane."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QKeyCombination, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QApplication, QScrollArea, QWidget

from helix_desktop.ui.design.focus import is_pane_stop
from helix_desktop.ui.design.tab_order import tab_stops


def focus_pane(panes: Sequence[QWidget], step: int) -> None:
    """Move the keyboard to the next (1) or previous (-1) stop in the visible panes.

    Those are their lists and the field to write in; of a pane without any the first thing that takes Tab.
    """
    stops = [stop for pane in panes if pane.isVisible() for stop in _stops_in(pane)]
    focused = QApplication.focusWidget()
    if not stops:
        return
    here = _place_of(focused, stops, panes)
    target = stops[(here + step) % len(stops) if here >= 0 else 0 if step > 0 else -1]
    if isinstance(target, QAbstractItemView):
        _choose_line(target)
    target.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _place_of(focused: QWidget | None, stops: Sequence[QWidget], panes: Sequence[QWidget]) -> int:
    """Return the stop that the keyboard is at, in, or else in the pane of; -1 for none."""
    if focused is None:
        return -1
    inside = (at for at, stop in enumerate(stops) if stop is focused or stop.isAncestorOf(focused))
    pane = next((pane for pane in panes if pane.isAncestorOf(focused)), None)
    in_same_pane = (at for at, stop in enumerate(stops) if pane is not None and pane.isAncestorOf(stop))
    return next(inside, next(in_same_pane, -1))


def _stops_in(pane: QWidget) -> list[QWidget]:
    tabs = list(tab_stops(pane, is_pane_stop))
    stops = [widget for widget in tabs if is_pane_stop(widget)]
    return stops or tabs[:1]


def _choose_line(view: QAbstractItemView) -> None:
    """Let a list have a current line, where the ring is, and bring it into sight."""
    model, current = view.model(), view.currentIndex()
    if not current.isValid() and model is not None:
        lines = (model.index(place, 0) for place in range(model.rowCount()))
        current = next((line for line in lines if line.flags() & Qt.ItemFlag.ItemIsSelectable), current)
        view.setCurrentIndex(current)
    view.scrollTo(current)
    around = view.parentWidget()
    while around is not None:
        content = around.widget() if isinstance(around, QScrollArea) else None
        if isinstance(around, QScrollArea) and content is not None:  # a list at its full height
            line = view.visualRect(current)
            middle = view.viewport().mapTo(content, line.center())
            around.ensureVisible(middle.x(), middle.y(), 0, line.height())
        around = around.parentWidget()


def press_key(key: str) -> None:
    """Press a key, as portable text, on the widget in focus, so that each widget answers in its own way."""
    target = QApplication.focusWidget()
    if target is None:
        return
    pressed: QKeyCombination = QKeySequence(key)[0]  # type: ignore[index]  # Qt's stubs leave out __getitem__
    code, modifiers = pressed.key(), pressed.keyboardModifiers()
    action = None if _takes(target, code, modifiers) else _action_with(target, code, modifiers)
    if action is not None:
        action.trigger()
        return
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(target, QKeyEvent(kind, code, modifiers))


def _takes(target: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> bool:
    """Return True if a widget answers a key itself, whatever actions have it: as Qt asks it."""
    override = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifiers)
    override.ignore()
    QApplication.sendEvent(target, override)
    return override.isAccepted()


def _action_with(target: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> QAction | None:
    """Return the action that has a key where the focus is; Qt looks for it only at keys that were typed."""
    chord = QKeySequence(QKeyCombination(modifiers, key))
    contexts = {Qt.ShortcutContext.WidgetShortcut, Qt.ShortcutContext.WidgetWithChildrenShortcut}
    widget: QWidget | None = target
    while widget is not None:
        for action in widget.actions():
            if action.shortcutContext() in contexts and action.isEnabled() and chord in action.shortcuts():
                return action
        contexts = {Qt.ShortcutContext.WidgetWithChildrenShortcut}
        widget = widget.parentWidget()
    return None
