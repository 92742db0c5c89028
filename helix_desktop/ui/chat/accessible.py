"""What screen readers hear: a node with words, and its actions, for each visible row."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import (
    QAccessible,
    QAccessibleActionInterface,
    QAccessibleAnnouncementEvent,
    QAccessibleTextInterface,
)
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from helix_desktop.ui.chat.row_widget import RowWidget


def row_words(widget: RowWidget) -> str:
    """All words of a row as it is shown."""
    sheet = widget.sheet
    if sheet is None:
        return ""
    words = "".join(("\n" if one.joins is None else one.joins) + one.text for one in sheet.words())
    return words.removeprefix("\n") or widget.accessibleName()


class RowWords(QAccessibleTextInterface):
    """The text of a row, read only."""

    def __init__(self, widget: RowWidget) -> None:
        super().__init__()
        self._widget = widget

    def characterCount(self) -> int:
        """How many characters there are."""
        return len(row_words(self._widget))

    def text(self, start: int, end: int) -> str:
        """Characters between two offsets."""
        words = row_words(self._widget)
        return words[start : len(words) if end < 0 else end]

    def cursorPosition(self) -> int:
        """A row has no text cursor."""
        return 0

    def selectionCount(self) -> int:
        """A row tells no selection."""
        return 0


class RowActions(QAccessibleActionInterface):
    """The buttons of a row."""

    def __init__(self, widget: RowWidget) -> None:
        super().__init__()
        self._widget = widget

    def actionNames(self) -> list[str]:
        """The labels of all buttons."""
        sheet = self._widget.sheet
        return [hot.label for hot in sheet.hots] if sheet is not None else []

    def doAction(self, name: str) -> None:
        """Press a button."""
        sheet = self._widget.sheet
        for hot in sheet.hots if sheet is not None else ():
            if hot.label == name:
                self._widget.trigger(hot.name)
                return

    def keyBindingsForAction(self, name: str) -> list[str]:
        """Buttons have no keys of their own."""
        return []


class RowNode(QAccessibleWidget):
    """The accessible node of a row's widget."""

    def __init__(self, widget: RowWidget) -> None:
        super().__init__(widget, QAccessible.Role.Paragraph, widget.accessibleName())
        self._row = widget
        self._words = RowWords(widget)
        self._actions = RowActions(widget)

    def text(self, kind: QAccessible.Text) -> str:
        """Name and words."""
        if kind == QAccessible.Text.Name:
            return self._row.accessibleName()
        if kind == QAccessible.Text.Value:
            return row_words(self._row)
        return super().text(kind)

    def interface_cast(self, kind: QAccessible.InterfaceType) -> Any:
        """The text and the actions of the node."""
        if kind == QAccessible.InterfaceType.TextInterface:
            return self._words
        if kind == QAccessible.InterfaceType.ActionInterface:
            return self._actions
        return super().interface_cast(kind)


def row_node(_class_name: str, thing: object) -> RowNode | None:
    """Makes nodes for rows; Qt asks it for every object.

    The widget keeps its node: Qt does not hold on to the Python object.
    """
    if not isinstance(thing, RowWidget):
        return None
    node = thing.node
    if not isinstance(node, RowNode):
        node = thing.node = RowNode(thing)
    return node


def install() -> None:
    """Let Qt find the nodes of rows; calling it again changes nothing."""
    QAccessible.installFactory(row_node)


def announce(widget: QWidget, words: str) -> None:
    """Say something to whoever listens with a screen reader."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
