"""The two bundled families, and fonts that follow the text size of the application."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QApplication

UI_FAMILY = "Inter"
MONO_FAMILY = "JetBrains Mono"
BASE_PX = 13
"""Text size of the window at 100 %, in pixels; every other size is given at this size and scaled with it."""

_log = logging.getLogger(__name__)


def load(directory: Path) -> tuple[str, ...]:
    """Make the fonts of a folder known to Qt, and the window's family the application's font.

    Call it before any widget. Returns the families that are now there, sorted.
    """
    families = {family for path in sorted(directory.glob("*.ttf")) for family in _families(path)}
    QGuiApplication.setFont(base())
    return tuple(sorted(families))


@cache  # Qt would add the same file again, and forget all it has computed about any font
def _families(path: Path) -> tuple[str, ...]:
    """Make the font of a file known to Qt; return its families, none if it could not be read."""
    number = QFontDatabase.addApplicationFont(str(path))
    if number < 0:
        _log.warning("Font %s could not be read; the system's font is used instead.", path.name)
        return ()
    return tuple(QFontDatabase.applicationFontFamilies(number))


def base(px: int = BASE_PX) -> QFont:
    font = QFont(UI_FAMILY)
    font.setPixelSize(px)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setFeature(QFont.Tag("calt"), 0)  # it would show a typed -> as an arrow
    return font


def scale(reference: QFont) -> float:
    """Return how much larger than 100 % a widget's font is; 1.0 where the font is not set in pixels."""
    return reference.pixelSize() / BASE_PX if reference.pixelSize() > 0 else 1.0


def sized(reference: QFont, px: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the window's font at `px` pixels at 100 %, scaled as the reference (a widget's font) is."""
    font = base(max(1, round(px * scale(reference))))
    font.setWeight(weight)
    return font


def ui_font(px: int = 13, weight: int = 400, is_code: bool = False) -> QFont:
    """Return the interface's font, or the one for code, `px` pixels at 100 % and scaled as the user chose."""
    font = sized(QApplication.font(), px)
    if is_code:
        font.setFamily(MONO_FAMILY)
    font.setWeight(QFont.Weight(weight))
    return font


def scaled(px: int) -> int:
    """Return a length that grows with the text size; pixels at 100 % in, pixels on screen out."""
    size = QApplication.font().pixelSize()
    return round(px * size / BASE_PX) if size > 0 else px
