"""Roles, states and announcements for assistive technology, where a widget's class does not tell them to Qt.

A widget class names its role in a class attribute `accessible_role`, or returns an interface of its own from
a method `make_accessible`; a plain widget with a name is a label, or a group if it holds others. Interfaces
must not override `interface_cast`: PySide6 6.11.3 hands Qt a Python object where it expects a pointer, and
the first client that asks ends the process.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleActionInterface,
    QAccessibleAnnouncementEvent,
    QAccessibleStateChangeEvent,
)
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QWidget


def install() -> None:
    """Let Qt ask here for the accessible interfaces of widgets; calling it again changes nothing."""
    QAccessible.installFactory(_make_interface)


def announce(widget: QWidget, text: str) -> None:
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text))


class LabelInterface(QAccessibleWidget):
    """A widget that is read as one text; its child widgets are not announced one by one."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget, QAccessible.Role.StaticText)

    def childCount(self) -> int:
        return 0


class _ButtonInterface(QAccessibleWidget):
    """A checkable button that is no check box."""

    def __init__(self, button: QAbstractButton, role: QAccessible.Role) -> None:
        super().__init__(button, role)
        self._button = button

    def text(self, kind: QAccessible.Text) -> str:
        return super().text(kind) or (self._button.text() if kind == QAccessible.Text.Name else "")

    def actionNames(self) -> list[str]:
        return [QAccessibleActionInterface.pressAction(), QAccessibleActionInterface.setFocusAction()]

    def doAction(self, name: str) -> None:
        if name == QAccessibleActionInterface.pressAction():
            self._button.click()
        else:
            super().doAction(name)


class TabInterface(_ButtonInterface):
    """A button that shows one of several pages."""

    def __init__(self, button: QAbstractButton) -> None:
        super().__init__(button, QAccessible.Role.PageTab)

    def state(self) -> QAccessible.State:
        state = super().state()
        state.selectable = True
        state.selected = self._button.isChecked()
        return state


class DisclosureInterface(_ButtonInterface):
    """A button that opens and closes what is below it."""

    def __init__(self, button: QAbstractButton) -> None:
        super().__init__(button, QAccessible.Role.Button)
        button.toggled.connect(self._announce_state)

    def state(self) -> QAccessible.State:
        state = super().state()
        state.expandable = True
        state.expanded = self._button.isChecked()
        state.collapsed = not state.expanded
        return state

    def _announce_state(self) -> None:
        changed = QAccessible.State()
        changed.expanded = changed.collapsed = True
        QAccessible.updateAccessibility(QAccessibleStateChangeEvent(self._button, changed))


class _PlainInterface(QAccessibleWidget):
    """A widget of ours that Qt knows nothing of; what it is shows by its name and by what it holds."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget

    def role(self) -> QAccessible.Role:
        if not self._widget.accessibleName():
            return QAccessible.Role.Client
        holds = self._widget.findChild(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return QAccessible.Role.StaticText if holds is None else QAccessible.Role.Grouping


def _make_interface(_class_name: str, target: object) -> QAccessibleWidget | None:
    kind = type(target)
    if not isinstance(target, QWidget) or _is_qt(kind):
        return None
    make = getattr(kind, "make_accessible", None)
    role: QAccessible.Role | None = getattr(kind, "accessible_role", None)
    interface: QAccessibleWidget | None = None
    if make is not None:
        interface = make(target)
    elif role is not None:
        interface = QAccessibleWidget(target, role)
    elif next(base for base in kind.__mro__ if _is_qt(base)) is QWidget:
        interface = _PlainInterface(target)
    # Qt does not hold on to the Python object, which has to live as long as the widget.
    target.accessible_interface = interface  # type: ignore[attr-defined]  # widgets declare nothing for it
    return interface


def _is_qt(kind: type) -> bool:
    return kind.__module__.startswith("PySide6.")
