"""Where the keyboard is, shown where Qt draws no sign of it; and the order of Tab: as the window is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QApplication, QLayout, QSplitter, QWidget
from shiboken6 import createdByPython, isValid

from helix_desktop.ui.design.style.theme import Themed, WidgetMixin

KEYBOARD_REASONS = frozenset(
    {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason}
)
"""Reasons of a focus that came by a key, and has to be seen."""
BY_KEYBOARD = Qt.WidgetAttribute.WA_KeyboardFocusChange
"""Of a window in which the keyboard was used last: what has the focus is marked there."""
_PANE_STOP = "pane_stop"


def mark_pane_stop(widget: QWidget, is_stop: bool = True) -> None:
    """Let the key that goes from pane to pane stop here: at a list, a page, or a field to write in."""
    widget.setProperty(_PANE_STOP, is_stop)


def is_pane_stop(widget: QWidget) -> bool:
    return bool(widget.property(_PANE_STOP))


def paint_row_focus(painter: QPainter, row: QRectF, color: str, *, is_keyboard: bool) -> None:
    """Paint where the keyboard is in a list of straight rows: a ring for who uses it, else a bar."""
    if not is_keyboard:
        painter.fillRect(QRectF(row.x(), row.y(), 3, row.height()), QColor(color))
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(row.adjusted(1, 1, -1, -1), 5, 5)
    painter.restore()


def refocus(widget: QWidget | None, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> bool:
    """Give the keyboard to a widget that had it once; False if Qt has deleted it, or it is not in sight."""
    if widget is None or not isValid(widget) or not widget.isVisible():
        return False
    widget.setFocus(reason)
    return True


def has_keyboard(widget: QWidget) -> bool:
    focused = QApplication.focusWidget()
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))


class FocusReturn(QObject):
    """Gives the keyboard back to where it was before a part of the window, which comes and goes, took it."""

    def __init__(self, part: QWidget) -> None:
        super().__init__(part)
        self._part = part
        self._before: QWidget | None = None
        part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.Show, QEvent.Type.Enter}:
            focused = QApplication.focusWidget()
            if focused is not None and not self._part.isAncestorOf(focused):
                self._before = focused
        return False

    def give_back_from(self, leaving: QWidget) -> None:
        """Move the keyboard if it is in a widget that is about to be hidden."""
        if has_keyboard(leaving) and not refocus(self._before):
            self._part.window().setFocus(Qt.FocusReason.OtherFocusReason)


class FocusRing(Themed, QWidget):
    """A line around a widget that the user came to with the keyboard, over all that it holds."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent):
            self.setVisible(event.gotFocus() and event.reason() in KEYBOARD_REASONS)
            self.raise_()
        elif event.type() == QEvent.Type.Resize:
            self.setGeometry(self._widget.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), 8, 8)


_OWN_ORDER = "own_tab_order"


class TabsInReadingOrder(WidgetMixin):
    """Lets Tab go through a window by its layouts; Qt's own chain has what is made later at its end."""

    def focusNextPrevChild(self, forward: bool) -> bool:
        if QGuiApplication.styleHints().tabFocusBehavior() != Qt.TabFocusBehavior.TabFocusAllControls:
            return super().focusNextPrevChild(forward)  # the system's setting: to text fields only
        focused = QApplication.focusWidget()
        is_inside = focused is not None and self.isAncestorOf(focused)
        further = _stops_from(focused, self, forward=forward) if focused and is_inside else iter(())
        around = tab_stops(self, forward=forward)
        target = next((stop for stop in chain(further, around) if stop is not focused), None)
        if target is None:
            return False
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        target.setFocus(reason)
        return True


def keep_own_tab_order(widget: QWidget) -> None:
    """Pass over what is in a widget: it moves the keyboard among its parts itself."""
    widget.setProperty(_OWN_ORDER, True)


def tab_stops(
    root: QWidget, is_outer: Callable[[QWidget], bool] = lambda stop: False, *, forward: bool = True
) -> Iterator[QWidget]:
    """Return what takes Tab below a widget, in reading order or backwards; a stop is before its parts.

    Nothing is looked for in an outer stop: a page may have thousands of widgets.
    """
    children = [] if root.property(_OWN_ORDER) else _children(root)
    for child in children if forward else reversed(children):
        yield from _stops_of(child, is_outer, forward=forward)


def _stops_of(
    widget: QWidget, is_outer: Callable[[QWidget], bool] = lambda stop: False, *, forward: bool
) -> Iterator[QWidget]:
    if not _is_in_use(widget):
        return
    takes_tab = _takes_tab(widget)
    if forward and takes_tab:
        yield widget
    if not (takes_tab and is_outer(widget)):
        yield from tab_stops(widget, is_outer, forward=forward)
    if not forward and takes_tab:
        yield widget


def _stops_from(widget: QWidget, root: QWidget, *, forward: bool) -> Iterator[QWidget]:
    """Return the stops between a widget and the end of a window, or its beginning, the nearest one first.

    So Tab looks at few of the thousands of widgets that a window may have.
    """
    if forward:
        yield from tab_stops(widget)
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
    # `children` would make a Python type of everything that Qt has in it: the first time that took 30 ms.
    children = widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    # Of Qt's own parts, as of a scroll bar, what the layout holds would be invalid once its wrapper goes.
    layout = widget.layout() if createdByPython(widget) else None
    placed = list(_placed(layout, children)) if layout is not None else []
    if isinstance(widget, QSplitter):
        placed = [part for place in range(widget.count()) if (part := widget.widget(place)) is not None]
    return [*dict.fromkeys((*placed, *children))]


def _placed(layout: QLayout, widgets: Sequence[QWidget]) -> Iterator[QWidget]:
    """Return those of some widgets that a layout holds, in its order.

    Not by `itemAt`: Python's object for an item stays when Qt deletes the item with its widget, and stands
    for what Qt makes at the same address then, whatever that is.
    """
    layouts = layout.findChildren(QLayout, options=Qt.FindChildOption.FindDirectChildrenOnly)
    parts: list[QWidget | QLayout] = [*widgets, *layouts]
    places = {part: place for part in parts if (place := layout.indexOf(part)) >= 0}
    for part in sorted(places, key=places.__getitem__):
        if isinstance(part, QLayout):
            yield from _placed(part, widgets)
        else:
            yield part
