"""The link that explains a concept where the user meets it first."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QWhatsThisClickedEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.words.translation import Translator

tr = Translator("Controls")


class HelpLink(QWidget):
    """Opens the guide at a topic; a sentence may stand before the link.

    It sends Qt's event for such links to the main window, so a view needs no way to the guide. The window
    hides it once the user has followed the link: from then on the guide is in the Help menu.
    """

    def __init__(self, topic: str, lead: str = "") -> None:
        """`topic` is one of the guide's."""
        super().__init__()
        self.topic = topic
        self.link = PushButton(tr("How this works"), "link", name=f"what_is:{topic}")
        self.link.clicked.connect(self._send_request)
        words = [TextLine(lead, role="muted")] if lead else []
        self.setLayout(row(*words, self.link, *([None] if lead else []), gap=4))

    def _send_request(self) -> None:
        window = self.window()
        while (parent := window.parentWidget()) is not None:
            window = parent.window()
        QCoreApplication.sendEvent(window, QWhatsThisClickedEvent(self.topic))
