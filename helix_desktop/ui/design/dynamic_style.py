"""How the style sheet colors widgets: it reads a property, or stands at a widget of its own."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.style.theme import Theme

TextRole: TypeAlias = Literal["text", "muted", "faint", "accent_text", "ok", "warn", "error"]


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Set a dynamic property that the style sheet reads, and style the widget again if it changed."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def set_style_sheet(widget: QWidget, sheet: str) -> None:
    """Set a widget's own style sheet if it is another one: Qt reads the same one, and styles it, again."""
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)


def role_color(theme: Theme, role: TextRole) -> str:
    return str(getattr(theme, role))
