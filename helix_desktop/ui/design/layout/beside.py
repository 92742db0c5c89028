"""What stands beside a text where there is room for both, and below it where there is not."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

from helix_desktop.ui.design.layout.flow import FlowBox

_GAP = 8  # pixels between the text and what stands beside it
_ROW_GAP = 4
_TWO_LINES = 1.5  # times the others' height: a text that high has several lines


class BesideOrBelow(QWidget):
    """A text that takes the room there is; others at its right, or below it where it would be too narrow."""

    def __init__(
        self, text: QWidget, others: Sequence[QWidget], least_px: int = 200, *, at_top: bool = False
    ) -> None:
        """`least_px` is the width below which a longer text does not go for the others.

        They stand in the middle of a text of several lines, or `at_top`.
        """
        super().__init__()
        self._at_top = at_top
        self._text, self._others, self._least_px = text, FlowBox(others, right_from=0), least_px
        for part in (text, self._others):
            part.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        """Return True: the text wraps, and the others may stand below it."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of the line, or of both."""
        return max(box.bottom() + 1 for box in self._boxes(width))

    def sizeHint(self) -> QSize:
        """Return both in one line."""
        text, others = self._text.sizeHint(), self._others.sizeHint()
        return QSize(text.width() + _GAP + others.width(), max(text.height(), others.height()))

    def minimumSizeHint(self) -> QSize:
        """Return the wider of both."""
        text, others = self._text.minimumSizeHint(), self._others.minimumSizeHint()
        return QSize(max(text.width(), others.width()), max(text.height(), others.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place both again."""
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """Place both again when one of them has changed its size, also while this was hidden."""
        if event.type() in {QEvent.Type.LayoutRequest, QEvent.Type.Show}:
            self.updateGeometry()
            self._place()
        return super().event(event)

    def _place(self) -> None:
        for part, box in zip((self._text, self._others), self._boxes(self.width()), strict=True):
            part.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), box))

    def _boxes(self, width: int) -> tuple[QRect, QRect]:
        """Return where the text and the others stand at a width."""
        hint = self._others.sizeHint()  # all in one row
        side = hint.width()
        left = width - side - _GAP
        if left < min(self._text.sizeHint().width(), self._least_px):
            above = _height(self._text, width)
            below = self._others.heightForWidth(width)
            return QRect(0, 0, width, above), QRect(0, above + _ROW_GAP, width, below)
        text, others = _height(self._text, left), hint.height()
        tall = max(text, others)
        middle = 0 if self._at_top and text > _TWO_LINES * others else (tall - others) // 2
        return (
            QRect(0, (tall - text) // 2, left, text),
            QRect(width - side, middle, side, others),
        )


def _height(widget: QWidget, width: int) -> int:
    return widget.heightForWidth(width) if widget.hasHeightForWidth() else widget.sizeHint().height()
