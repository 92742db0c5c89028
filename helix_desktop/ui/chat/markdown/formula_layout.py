"""A formula alone on its lines: one that is wider than its place scrolls sideways."""

from __future__ import annotations

import math

from PySide6.QtGui import QTextDocument

from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.style import ChatStyle


class FormulaLayout(TextLayout):
    """A text that is one image of a formula."""

    def __init__(self, style: ChatStyle, document: QTextDocument, formula_width: float) -> None:
        """Take the formula's width in pixels."""
        super().__init__(style, document)
        self._formula_width = formula_width

    def layout(self, width: float) -> float:
        """Show as much as fits in a width; the height that takes, both in pixels."""
        self.width = width
        self.content_width = max(width, float(math.ceil(self._formula_width)))
        self.document.setTextWidth(self.content_width)
        self.scroll_to(self.offset)
        return self.refresh()
