"""Widgets side by side, in as many rows as the width needs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

FLOW_GAP = 6  # pixels between two parts of a row, and between rows


def flow_height(parts: Sequence[QWidget], width: int, *, place: bool = False) -> int:
    """Return the height in pixels of all rows of the parts that are not hidden; `place` moves them there."""
    x = y = row = 0
    for part in parts:
        if part.isHidden():
            continue
        size = part.sizeHint().expandedTo(part.minimumSize())
        if x and x + size.width() > width:
            x, y, row = 0, y + row + FLOW_GAP, 0
        if place:
            part.setGeometry(QRect(QPoint(x, y), size.boundedTo(QSize(max(width, 1), size.height()))))
        x, row = x + size.width() + FLOW_GAP, max(row, size.height())
    return y + row


class FlowBox(QWidget):
    """Widgets side by side, in as many rows as they need."""

    def __init__(self, parts: Sequence[QWidget]) -> None:
        super().__init__()
        self._parts = list(parts)
        for part in self._parts:
            part.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        """Return True: rows break."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height that all rows need."""
        return flow_height(self._parts, width)

    def sizeHint(self) -> QSize:
        """Return all in one row."""
        width = sum(part.sizeHint().width() + FLOW_GAP for part in self._parts)
        return QSize(width, flow_height(self._parts, max(width, 1)))

    def minimumSizeHint(self) -> QSize:
        """Return the widest part."""
        return QSize(max((part.sizeHint().width() for part in self._parts), default=0), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place all parts again."""
        super().resizeEvent(event)
        flow_height(self._parts, self.width(), place=True)

    def rearrange(self) -> None:
        """Place all parts again, after some were hidden, shown or changed."""
        self.updateGeometry()
        flow_height(self._parts, self.width(), place=True)
