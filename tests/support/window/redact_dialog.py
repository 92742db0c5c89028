"""The dialog that removes a secret, over a window."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QLabel

from helix_desktop.ui.window.redaction import RedactDialog
from tests.support.window.window_rig import WindowRig, until


async def forget_dialog(rig: WindowRig) -> RedactDialog:
    """Return the dialog once it is open."""
    redaction = rig.wiring.redaction
    await until(lambda: redaction.dialog, "the dialog")
    assert redaction.dialog is not None
    return redaction.dialog


def labels(dialog: QDialog) -> str:
    """Return all visible text of the dialog."""
    return "\n".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisibleTo(dialog))
