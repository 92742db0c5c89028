"""The switch between several views of one content."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout

from helix_desktop.ui.design.buttons import TabButton, TabList


class ViewSwitch(TabList):
    view_selected = Signal(str)
    """The user wants this view."""

    def __init__(self, title: str, views: Mapping[str, str]) -> None:
        """`views` are their names, and what stands on their buttons."""
        super().__init__()
        self.setProperty("role", "segments")
        self.setAccessibleName(title)
        self._buttons: dict[str, TabButton] = {}
        group = QButtonGroup(self)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        for name, text in views.items():
            button = self._buttons[name] = TabButton(text, "segment")
            button.setObjectName(f"view-{name}")
            button.clicked.connect(lambda _=False, name=name: self.view_selected.emit(name))
            group.addButton(button)
            row.addWidget(button)

    def show_views(self, views: Collection[str], current: str, obstacles: Mapping[str, str]) -> None:
        """Show the buttons of these views; those with an obstacle are disabled, and say it on hover."""
        for name, button in self._buttons.items():
            button.setVisible(name in views or name in obstacles)
            button.setEnabled(name in views)
            button.setToolTip(obstacles.get(name, ""))
            button.setChecked(name == current)
        self._row.activate()  # else the row around it counts with the width before
