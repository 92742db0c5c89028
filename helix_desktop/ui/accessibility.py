"""Roles, states and announcements for assistive technology, where a widget's class does not tell them to Qt.

A widget class names its role in a class attribute `accessible_role`, or returns an interface of its own from
a method `make_accessible`. Such an interface must not override `interface_cast`: PySide6 6.11.3 hands Qt a
Python object where it expects a pointer, and the first client that asks ends the process.
"""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QAccessibleWidget, QWidget


def install() -> None:
    """Let Qt ask here for the accessible interfaces of widgets; calling it again changes nothing."""
    QAccessible.installFactory(_make_interface)


def announce(widget: QWidget, text: str) -> None:
    """Have a screen reader say something that nobody has to look for."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text))


def _make_interface(_class_name: str, thing: object) -> QAccessibleWidget | None:
    if not isinstance(thing, QWidget):
        return None
    make = getattr(type(thing), "make_accessible", None)
    role: QAccessible.Role | None = getattr(type(thing), "accessible_role", None)
    interface: QAccessibleWidget
    if make is not None:
        interface = make(thing)
    elif role is not None:
        interface = QAccessibleWidget(thing, role)
    else:
        return None
    # Qt does not hold on to the Python object, which has to live as long as the widget.
    thing.accessible_interface = interface  # type: ignore[attr-defined]  # widgets declare nothing for it
    return interface
