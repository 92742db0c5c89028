"""The order in which Tab goes through a window: as it is read, whenever its parts were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QLayout, QSplitter, QWidget
from shiboken6 import createdByPython

if TYPE_CHECKING:
    _Window = QWidget
else:
    _Window = object  # a mixin: the class that it is mixed into brings Qt's part

_OWN_ORDER = "own_tab_order"


class TabsInReadingOrder(_Window):
    """Lets Tab go through a window by its layouts; Qt's own chain has what is made later at its end."""

    def focusNextPrevChild(self, forward: bool) -> bool:
        if QGuiApplication.styleHints().tabFocusBehavior() != Qt.TabFocusBehavior.TabFocusAllControls:
            return super().focusNextPrevChild(forward)  # the system's setting: to text fields only
        focused = QApplication.focusWidget()
        is_inside = focused is not None and self.isAncestorOf(focused)
        further = _stops_from(focused, self, forward=forward) if focused and is_inside else iter(())
        around = _stops_in(self, forward=forward)
        target = next((stop for stop in chain(further, around) if stop is not focused), None)
        if target is None:
            return False
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        target.setFocus(reason)
        return True


def keep_own_tab_order(widget: QWidget) -> None:
    """Pass over what is in a widget: it moves the keyboard among its parts itself."""
    widget.setProperty(_OWN_ORDER, True)


def tab_stops(root: QWidget, is_outer: Callable[[QWidget], bool] = lambda stop: False) -> Iterator[QWidget]:
    """Return what takes Tab in a part of a window, in reading order, but nothing that is in an outer stop.

    So nobody looks at the thousands of widgets that a page may have.
    """
    for child in () if root.property(_OWN_ORDER) else _children(root):
        if not _is_in_use(child):
            continue
        takes_tab = _takes_tab(child)
        if takes_tab:
            yield child
        if not (takes_tab and is_outer(child)):
            yield from tab_stops(child, is_outer)


def _stops_in(root: QWidget, *, forward: bool) -> Iterator[QWidget]:
    """Return what takes Tab below a widget, in reading order or backwards; a stop is before its parts."""
    if root.property(_OWN_ORDER):
        return
    for child in _children(root) if forward else reversed(_children(root)):
        yield from _stops_of(child, forward=forward)


def _stops_of(widget: QWidget, *, forward: bool) -> Iterator[QWidget]:
    if not _is_in_use(widget):
        return
    if forward and _takes_tab(widget):
        yield widget
    yield from _stops_in(widget, forward=forward)
    if not forward and _takes_tab(widget):
        yield widget


def _stops_from(widget: QWidget, root: QWidget, *, forward: bool) -> Iterator[QWidget]:
    """Return the stops between a widget and the end of a window, or its beginning, the nearest one first.

    So Tab looks at few of the thousands of widgets that a window may have.
    """
    if forward:
        yield from _stops_in(widget, forward=True)
    while widget is not root and (parent := widget.parentWidget()) is not None:
        parts = _children(parent)
        place = parts.index(widget)
        for part in parts[place + 1 :] if forward else reversed(parts[:place]):
            yield from _stops_of(part, forward=forward)
        if not forward and parent is not root and _takes_tab(parent):
            yield parent
        widget = parent


def _is_in_use(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled() and not widget.isWindow()


def _takes_tab(widget: QWidget) -> bool:
    choices = [button for button in _choices_with(widget) if _is_in_use(button)]
    if any(button.isChecked() for button in choices):  # Qt knows that only once one of them had the keyboard
        return widget in [button for button in choices if button.isChecked()] and any(map(_is_stop, choices))
    return _is_stop(widget)


def _is_stop(widget: QWidget) -> bool:
    takes = widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value
    return bool(takes) and widget.focusProxy() is None


def _choices_with(widget: QWidget) -> list[QAbstractButton]:
    """Return the buttons of which one is checked, if this is one of them: Tab goes to that one alone."""
    if not isinstance(widget, QAbstractButton) or not widget.isCheckable():
        return []
    group = widget.group()
    if group is not None:
        return group.buttons() if group.exclusive() else []
    siblings = (widget.parentWidget() or widget).children() if widget.autoExclusive() else []
    buttons = [button for button in siblings if isinstance(button, QAbstractButton) and button.isCheckable()]
    return [button for button in buttons if button.autoExclusive() and button.group() is None]


def _children(widget: QWidget) -> list[QWidget]:
    """Return the children as they are laid out, then what stands outside the layout."""
    # Of Qt's own parts, as of a scroll bar, what the layout holds would be invalid once its wrapper goes.
    layout = widget.layout() if createdByPython(widget) else None
    placed = list(_placed(layout)) if layout is not None else []
    if isinstance(widget, QSplitter):
        placed = [part for place in range(widget.count()) if (part := widget.widget(place)) is not None]
    return [*dict.fromkeys((*placed, *(child for child in widget.children() if isinstance(child, QWidget))))]


def _placed(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if item is not None and (widget := item.widget()) is not None:
            yield widget
        elif item is not None and (inner := item.layout()) is not None:
            yield from _placed(inner)
