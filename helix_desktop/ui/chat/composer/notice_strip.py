"""A strip above the message field: what keeps messages from being answered, and a button that helps."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_WIDTH = 788  # pixels
_TEXT_PX = 260  # that a longer text keeps beside the button; else it stands below


class ComposerStrip(QWidget):
    """Hidden until something is in the way."""

    action_requested = Signal()
    """The user pressed the button."""

    def __init__(self, icon_name: str, color_token: str, button: str) -> None:
        """`color_token` is a color of the theme by name."""
        super().__init__()
        self.button = PushButton(button, "primary", name="strip_action")
        self.button.clicked.connect(self.action_requested)
        self._title, self._text = label("", "strong", wrap=True), label("", "muted", wrap=True)
        text = QWidget()
        text.setLayout(column(self._title, self._text, gap=2))
        message = ResponsiveRow(text, [self.button], _TEXT_PX)
        picture = IconLabel(icon_name, px=19, color_token=color_token)
        parts = row(picture, message, margins=(16, 11, 12, 11), gap=12)
        parts.setStretch(1, 1)
        self.frame: QFrame = card(parts)
        self.frame.setMaximumWidth(_MAX_WIDTH)
        outer = row(None, self.frame, None, margins=(14, 4, 14, 4), gap=0)
        outer.setStretch(1, 1000)
        self.setLayout(outer)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_text(self, title: str, text: str) -> None:
        self._title.setText(title)
        self._text.setText(text)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)


class TrustStrip(ComposerStrip):
    """Shown while the folder is not trusted."""

    def __init__(self) -> None:
        super().__init__("shield-question-mark", "accent_text", tr("Trust folder…"))
        self.show_text(
            tr("This folder isn't trusted"),
            tr("Restricted mode: nothing runs or is sent. You can view sessions and cache."),
        )
