"""Pictures of a text of the conversation, and what is dark in them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter

from helix_desktop.ui.chat.markdown.text_layout import TextLayout


def dark_columns(image: QImage, top: int, bottom: int) -> list[int]:
    """Return the columns with something dark between two heights of a picture."""
    heights = range(top, min(bottom, image.height()))
    return [x for x in range(image.width()) if any(image.pixelColor(x, y).lightness() < 160 for y in heights)]


def painted(text: TextLayout) -> QImage:
    """Return a picture of a text that is laid out."""
    image = QImage(400, round(text.height), QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    text.paint(painter, text.rect)
    painter.end()
    return image
