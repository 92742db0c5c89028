"""What a button says once it has copied something."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_COPIED_MS = 1_500


def show_copied(button: PushButton) -> None:
    """Let a button say for a moment, in place of its words, that these are on the clipboard."""
    words, copied = button.text(), tr("Copied")
    if words != copied:  # else it was clicked twice
        button.setText(copied)
        announce(button, copied)
        QTimer.singleShot(_COPIED_MS, button, lambda: button.setText(words))
