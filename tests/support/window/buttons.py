"""Find buttons and menu entries by object name: their labels can change without a test.

    press(dialog, "test_provider")
    trigger(menu, "rename")

A name of several parts, as "banner:action", is also found by its last parts.
"""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget

T = TypeVar("T", bound=QObject)


def has_name(obj: QObject, name: str) -> bool:
    """Return True if an object has the name, or ends with it after a colon."""
    return obj.objectName() == name or obj.objectName().endswith(f":{name}")


def find_buttons(parent: QWidget, name: str) -> list[QAbstractButton]:
    buttons = parent.findChildren(QAbstractButton)
    return [button for button in buttons if has_name(button, name) and not button.isHidden()]


def find_button(parent: QWidget, name: str) -> QAbstractButton:
    """Return the first button of a name, one on screen before others; AssertionError with the names there."""
    matches = find_buttons(parent, name)
    if not matches:
        buttons = parent.findChildren(QAbstractButton)
        names = sorted(
            {button.objectName() for button in buttons if button.objectName() and not button.isHidden()}
        )
        raise AssertionError(f"there is no button {name!r}, but {', '.join(names) or 'none with a name'}")
    return next((button for button in matches if button.isVisible()), matches[0])


def find_child(parent: QObject, kind: type[T], name: str = "") -> T:
    """Return the first part of a kind, with a name if one is given; AssertionError without any."""
    child = parent.findChild(kind, name) if name else parent.findChild(kind)
    assert isinstance(child, kind), f"there is no {kind.__name__} {name!r}"
    return child


def press(parent: QWidget, name: str) -> None:
    QTest.mouseClick(find_button(parent, name), Qt.MouseButton.LeftButton)


def trigger(menu: QMenu, name: str) -> None:
    actions = [action for action in menu.actions() if has_name(action, name)]
    names = ", ".join(action.objectName() for action in menu.actions() if action.objectName())
    assert actions, f"there is no entry {name!r}, but {names or 'none with a name'}"
    actions[0].trigger()
