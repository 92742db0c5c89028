"""What stands in the center while a workspace is being opened: its name, and whether it is repaired."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class OpeningPage(QWidget):
    """Empty until it knows what is being opened."""

    def __init__(self) -> None:
        """Part of the first frame: no more than labels."""
        super().__init__()
        self._icon = IconLabel("loader-circle", px=18, color_token="muted")
        self._title, self._words = label("", "title"), label("", "muted", wrap=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        head = row(None, self._icon, self._title, None, gap=9)
        self.setLayout(column(None, head, self._words, None, margins=(32, 24, 32, 40), gap=8))
        self.show_workspace("")

    def show_workspace(self, name: str, repairing: bool = False) -> None:
        """Say which workspace is being opened, and that it is repaired if it is; no name: nothing."""
        title = tr("Repairing {workspace}…", workspace=name) if repairing else ""
        self._title.setText(title or (tr("Opening {workspace}…", workspace=name) if name else ""))
        self._icon.setVisible(bool(name))
        self._words.setText(
            tr("Its data was damaged. What is intact is recovered; the damaged files are kept as they are.")
            if repairing
            else ""
        )

    def show_sample(self) -> None:
        """Say that the guided sample is being opened, which takes seconds where it is prepared first."""
        self._title.setText(tr("Opening the sample…"))
        self._icon.show()

    def text(self) -> str:
        """Return what stands here; empty if it says nothing."""
        return "\n".join(filter(None, (self._title.text(), self._words.text())))
