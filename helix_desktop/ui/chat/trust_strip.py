"""The strip above the message field of a folder that is not trusted: why nothing happens, and the way on."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.ui.widgets import IconLabel, PushButton, card, column, label, row

_WIDEST = 788
_WHY = "Nothing runs here and nothing is sent to a model. Sessions and cache can be read."


class TrustStrip(QWidget):
    """Shown while the folder is not trusted."""

    wanted = Signal()
    """The person wants to be asked."""

    def __init__(self) -> None:
        super().__init__()
        self.button = PushButton("Trust…", "primary")
        self.button.setAccessibleName("Trust this folder…")
        self.button.clicked.connect(self.wanted)
        words = column(
            label("This folder is not trusted yet", "strong"), label(_WHY, "muted", wrap=True), gap=2
        )
        parts = row(
            IconLabel("shield-question-mark", px=19, ink="accent_text"), words, self.button,
            margins=(16, 11, 12, 11), gap=12,
        )  # fmt: skip
        parts.setStretch(1, 1)
        self._card: QFrame = card(parts)
        self._card.setMaximumWidth(_WIDEST)
        outer = row(None, self._card, None, margins=(14, 4, 14, 4), gap=0)
        outer.setStretch(1, 1000)
        self.setLayout(outer)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
