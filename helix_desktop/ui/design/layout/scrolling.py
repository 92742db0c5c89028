"""Pages that scroll up and down, and are never narrower than what stands on them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


class VerticalScrollArea(QScrollArea):
    """Scrolls a page up and down; sideways there is always room for it."""

    def __init__(self, page: QWidget) -> None:
        """Take a page, which follows the width."""
        super().__init__()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def minimumSizeHint(self) -> QSize:
        """Return the least width of the page and its scroll bar."""
        page, hint = self.widget(), super().minimumSizeHint()
        if page is None:
            return hint
        width = page.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
        return QSize(width, hint.height())
