"""Whether things may move: spinners turn, bars run, the text cursor blinks."""

from __future__ import annotations

import sys
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

ReducedMotion = Literal["system", "on", "off"]

_REDUCED = "motion_reduced"
_FLASH = "usual_cursor_flash_ms"


def reduce_motion(choice: ReducedMotion) -> None:
    """Reduce motion in all windows or not; "system" follows the desktop where Qt knows it, on Windows."""
    reduced = _system_reduces() if choice == "system" else choice == "on"
    hints = QGuiApplication.styleHints()  # of the application, as the color scheme is
    if hints.property(_FLASH) is None:
        hints.setProperty(_FLASH, hints.cursorFlashTime())
    hints.setProperty(_REDUCED, reduced)
    hints.setCursorFlashTime(0 if reduced else int(hints.property(_FLASH)))


def is_motion_reduced() -> bool:
    return bool(QGuiApplication.styleHints().property(_REDUCED))


def _system_reduces() -> bool:
    # Other platforms of Qt report no effects at all, whatever the desktop's setting is.
    return sys.platform == "win32" and not QApplication.isEffectEnabled(Qt.UIEffect.UI_General)
