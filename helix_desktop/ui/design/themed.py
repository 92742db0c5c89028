"""How widgets get their colors: they paint with theme tokens, or the style sheet reads a property."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.style.theme import LIGHT, Theme

TextRole: TypeAlias = Literal["text", "muted", "faint", "accent_text", "ok", "warn", "error"]

if TYPE_CHECKING:
    _Widget = QWidget
else:
    _Widget = object  # a mixin: the class that it is mixed into brings Qt's part


class Themed(_Widget):
    """A widget that paints with theme tokens, or hands them to what it builds later; light until tinted."""

    _theme: Theme = LIGHT

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        self._theme = theme
        QWidget.update(self)  # an item view has an `update` of its own, which takes an index


def retint(root: QWidget, theme: Theme) -> None:
    for widget in (root, *root.findChildren(QWidget)):
        if isinstance(widget, Themed):
            widget.tint(theme)


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
