"""Where the data lies: its folder, opened or moved from here."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.words.translation import Translator

tr = Translator("About")


class DataFolder(QWidget):
    """The folder's path, with buttons to open it and to move it."""

    move_requested = Signal()
    """The data folder is to lie elsewhere."""

    def __init__(self) -> None:
        """Start without a path."""
        super().__init__()
        self._folder, self._path = label("", "mono", wrap=True), Path()
        self._folder.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        show = PushButton(tr("Show folder"), "", "folder-open", name="show_folder")
        move = PushButton(tr("Move…"), name="move_data")
        move.setAccessibleName(tr("Move the data to another folder"))
        self._status = label("", "note", wrap=True)
        self._status.hide()
        self.setLayout(column(self._folder, FlowBox([show, move]), self._status, gap=6))
        show.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path))))
        move.clicked.connect(self.move_requested)

    def show_folder(self, folder: Path) -> None:
        """Show where the data lies."""
        self._path = folder
        self._folder.setText(str(folder))

    def show_status(self, text: str) -> None:
        """Say something about the data folder; nothing when empty."""
        show_text(self._status, text)
