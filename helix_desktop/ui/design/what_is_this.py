"""The link that explains a concept where the user meets it first."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QWhatsThisClickedEvent

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.words.translation import Translator

tr = Translator("Controls")


class WhatIsThis(PushButton):
    """Opens the guide at a topic.

    Qt hands the event up to the window, so a view needs no way to the guide. The window hides the link once
    the user has followed it: from then on the guide is in the Help menu.
    """

    def __init__(self, topic: str) -> None:
        """`topic` is one of the guide's."""
        super().__init__(tr("What is this?"), "link", name=f"what_is:{topic}")
        self.topic = topic
        self.clicked.connect(lambda: QCoreApplication.sendEvent(self, QWhatsThisClickedEvent(self.topic)))
