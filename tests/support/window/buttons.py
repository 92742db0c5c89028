"""Find buttons and menu entries by object name: what they say can be rewritten without a test.

    press(dialog, "save_provider")
    trigger(menu, "copy_link")

A name of several parts, as "banner:action", is found by its last parts, too.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget


def is_named(obj: QObject, name: str) -> bool:
    """Tell whether an object has a name, or ends with it after a colon."""
    return obj.objectName() == name or obj.objectName().endswith(f":{name}")


def find_buttons(parent: QWidget, name: str) -> list[QAbstractButton]:
    """List the buttons of a name that are not hidden themselves."""
    buttons = parent.findChildren(QAbstractButton)
    return [one for one in buttons if is_named(one, name) and not one.isHidden()]


def find_button(parent: QWidget, name: str) -> QAbstractButton:
    """Return the first button of a name, one on screen before others; AssertionError with the names there."""
    found = find_buttons(parent, name)
    if not found:
        buttons = parent.findChildren(QAbstractButton)
        names = sorted({one.objectName() for one in buttons if one.objectName() and not one.isHidden()})
        raise AssertionError(f"there is no button {name!r}, but {', '.join(names) or 'none with a name'}")
    return next((one for one in found if one.isVisible()), found[0])


def press(parent: QWidget, name: str) -> None:
    """Click the button of a name."""
    QTest.mouseClick(find_button(parent, name), Qt.MouseButton.LeftButton)


def trigger(menu: QMenu, name: str) -> None:
    """Choose the entry of a name in a menu; AssertionError with the names there."""
    found = [one for one in menu.actions() if is_named(one, name)]
    names = ", ".join(one.objectName() for one in menu.actions() if one.objectName())
    assert found, f"there is no entry {name!r}, but {names or 'none with a name'}"
    found[0].trigger()
