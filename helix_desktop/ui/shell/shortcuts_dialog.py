"""The page that lists the window's keys."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QGridLayout, QWidget

from helix_desktop.domain.user_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import key_label, label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.shell.actions import shortcut_lines
from helix_desktop.words.translation import Translator, translate

text = TextContext("Window")
tr = Translator("Window")

_OTHER_SHORTCUTS = (
    (text("Send message"), "Enter"),
    (text("New line in message"), "Shift+Enter"),
    (text("Rename a session"), "F2"),
    (text("Next or previous result"), "F3, Shift+F3"),
    (text("Recall a cache entry"), "Ctrl+Enter"),
    (text("Verify a cache entry"), "V"),
    (text("Pin or unpin a cache entry"), "P"),
    (text("Move a cache entry or session to the trash"), "Del"),
)


class ShortcutsDialog(QDialog):
    """All keys in two columns; not modal, so it can stay open while one tries them."""

    def __init__(self, parent: QWidget) -> None:
        """Ready to show."""
        super().__init__(parent)
        title = tr("Keyboard shortcuts")
        self.setWindowTitle(title)
        lines = shortcut_lines() + _OTHER_SHORTCUTS
        half = (len(lines) + 1) // 2
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(9)
        grid.setColumnMinimumWidth(2, 26)
        for place, (words, keys) in enumerate(lines):
            side = 3 * (place // half)
            grid.addWidget(label(translate(words), "muted"), place % half, side)
            grid.addLayout(
                row(None, *(key_label(key) for key in keys.split(", ")), gap=4), place % half, side + 1
            )
        close = PushButton(tr("Close"), name="close")
        close.clicked.connect(self.close)
        self.setLayout(
            column(label(title, "heading"), 4, grid, 8, row(None, close), margins=(24, 20, 24, 22))
        )
