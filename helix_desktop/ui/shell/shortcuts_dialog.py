"""The page that lists the window's keys."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QGridLayout, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.shell.actions import shortcut_lines

_OTHER_SHORTCUTS = (
    ("Send the message", "Enter"),
    ("New line in the message", "Shift+Enter"),
    ("Rename a session in the list", "F2"),
    ("Next or previous find result", "F3, Shift+F3"),
    ("Recall a cache entry into the chat", "Ctrl+Enter"),
    ("Verify a cache entry", "V"),
    ("Pin a cache entry, or no longer", "P"),
    ("Move a cache entry or a session to the trash", "Del"),
)


class ShortcutsDialog(QDialog):
    """All keys in two columns; not modal, so it can stay open while one tries them."""

    def __init__(self, parent: QWidget) -> None:
        """Ready to show."""
        super().__init__(parent)
        self.setWindowTitle("Keys")
        lines = shortcut_lines() + _OTHER_SHORTCUTS
        half = (len(lines) + 1) // 2
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(9)
        grid.setColumnMinimumWidth(2, 26)
        for place, (words, keys) in enumerate(lines):
            side = 3 * (place // half)
            grid.addWidget(label(words, "muted"), place % half, side)
            grid.addLayout(
                row(None, *(label(key, "key") for key in keys.split(", ")), gap=4), place % half, side + 1
            )
        close = PushButton("Close", name="close")
        close.clicked.connect(self.close)
        self.setLayout(
            column(label("Keys", "heading"), 4, grid, 8, row(None, close), margins=(24, 20, 24, 22))
        )
