"""The order in which Tab goes through a window: as it is read, whenever its parts were made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLayout, QSplitter, QWidget
from shiboken6 import createdByPython

if TYPE_CHECKING:
    _Window = QWidget
else:
    _Window = object  # a mixin: the class that it is mixed into brings Qt's part

_OWN_ORDER = "own_tab_order"


class TabsInReadingOrder(_Window):
    """Lets Tab go through a window by its layouts; Qt's own chain has what is made later at its end."""

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move to the next stop, or the previous one, and around at the end."""
        if QGuiApplication.styleHints().tabFocusBehavior() != Qt.TabFocusBehavior.TabFocusAllControls:
            return super().focusNextPrevChild(forward)  # the system's setting: to text fields only
        focused = QApplication.focusWidget()
        widgets = [widget for widget in _visible(self) if widget is focused or _takes_tab(widget)]
        stops = [widget for widget in widgets if widget is not focused]
        if not stops:
            return False
        before = widgets.index(focused) if focused in widgets else 0 if forward else len(stops)
        target = stops[before % len(stops) if forward else before - 1]
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        target.setFocus(reason)
        return True


def keep_own_tab_order(widget: QWidget) -> None:
    """Pass over what is in a widget: it moves the keyboard among its parts itself."""
    widget.setProperty(_OWN_ORDER, True)


def tab_stops(root: QWidget) -> Iterator[QWidget]:
    """Return what takes Tab in a part of a window, in reading order."""
    return filter(_takes_tab, _visible(root))


def _takes_tab(widget: QWidget) -> bool:
    takes = widget.focusPolicy().value & Qt.FocusPolicy.TabFocus.value
    return bool(takes) and widget.focusProxy() is None


def _visible(root: QWidget) -> Iterator[QWidget]:
    """Return the visible widgets below one that can be used; a widget stands before what is in it."""
    for child in _children(root):
        if child.isVisible() and child.isEnabled() and not child.isWindow():
            yield child
            if not child.property(_OWN_ORDER):
                yield from _visible(child)


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
