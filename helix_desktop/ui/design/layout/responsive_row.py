"""What stands beside a text where there is room for both, and below it where there is not."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

from helix_desktop.ui.design.layout.flow import PLACE_CHANGES, SIZE_CHANGES, FlowBox

_GAP = 8  # pixels between the text and what stands beside it
_ROW_GAP = 4
_ONE_LINE_PX = 10_000  # a width in which every text stands in one line
_TWO_LINES = 1.5  # times the others' height: a text that high has several lines


class ResponsiveRow(QWidget):
    """A text that takes the room there is; others at its right, or below it where it would be too narrow."""

    def __init__(
        self,
        text: QWidget,
        others: Sequence[QWidget],
        least_px: int = 200,
        *,
        at_top: bool = False,
        corner: QWidget | None = None,
    ) -> None:
        """`least_px` is the width below which a longer text does not go for the others.

        They stand in the middle of a text of several lines, or `at_top`. `corner` ends the first line always.
        """
        super().__init__()
        self._boxes_of_width: dict[int, tuple[QRect, QRect, QRect]] = {}
        self._at_top, self._corner = at_top, corner
        self._text, self._others, self._least_px = text, FlowBox(others, right_from=0), least_px
        for part in self._parts():
            part.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, width: int) -> int:
        return max(box.bottom() + 1 for box in self._boxes(width))

    def sizeHint(self) -> QSize:
        hints = [part.sizeHint() for part in self._parts()]
        width = sum(hint.width() + _GAP for hint in hints) - _GAP
        return QSize(width, max(hint.height() for hint in hints))

    def minimumSizeHint(self) -> QSize:
        text, others = self._text.minimumSizeHint(), self._others.minimumSizeHint()
        first = text.width() + self._corner_room()
        return QSize(max(first, others.width()), max(text.height(), others.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """Place both again when one of them has changed its size, also while this was hidden."""
        kind = event.type()
        if kind in SIZE_CHANGES:
            self._boxes_of_width.clear()
            if kind in PLACE_CHANGES:
                self.updateGeometry()
                self._place()
        return super().event(event)

    def _parts(self) -> list[QWidget]:
        return [self._text, self._others, *([self._corner] if self._corner else [])]

    def _corner_size(self) -> QSize:
        if self._corner is None or self._corner.isHidden():
            return QSize(0, 0)
        return self._corner.sizeHint().expandedTo(self._corner.minimumSize())

    def _corner_room(self) -> int:
        width = self._corner_size().width()
        return width + _GAP if width else 0

    def _place(self) -> None:
        for part, box in zip(self._parts(), self._boxes(self.width()), strict=False):
            part.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), box))

    def _boxes(self, width: int) -> tuple[QRect, QRect, QRect]:
        """Return where the text, the others and the corner stand at a width.

        Layouts around this ask dozens of times for each change. Only a visible widget hears of changes.
        """
        if not self.isVisible():
            return self._compute_boxes(width)
        if width not in self._boxes_of_width:
            self._boxes_of_width[width] = self._compute_boxes(width)
        return self._boxes_of_width[width]

    def _compute_boxes(self, width: int) -> tuple[QRect, QRect, QRect]:
        corner, room = self._corner_size(), width - self._corner_room()
        hint = self._others.sizeHint()  # all in one row
        left = room - hint.width() - _GAP
        if self._is_too_narrow(left):
            text = _height(self._text, room)
            above = max(text, corner.height())
            below = QRect(0, above + _ROW_GAP, width, self._others.heightForWidth(width))
            return QRect(0, (above - text) // 2, room, text), below, _at_end(corner, width, above)
        text, others = _height(self._text, left), hint.height()
        tall = max(text, others, corner.height())
        middle = 0 if self._at_top and text > _TWO_LINES * others else (tall - others) // 2
        return (
            QRect(0, (tall - text) // 2, left, text),
            QRect(left + _GAP, middle, hint.width(), others),
            _at_end(corner, width, tall),
        )

    def _is_too_narrow(self, left: int) -> bool:
        """Return True if the text would be cut or wrapped in a width below the least one."""
        if left >= self._least_px:
            return False
        wraps = _height(self._text, max(left, 1)) > _height(self._text, _ONE_LINE_PX)
        return wraps or left < self._text.sizeHint().width()


def _at_end(corner: QSize, width: int, height: int) -> QRect:
    """Return the place of a corner of that size at the end of a line."""
    return QRect(width - corner.width(), (height - corner.height()) // 2, corner.width(), corner.height())


def _height(widget: QWidget, width: int) -> int:
    return widget.heightForWidth(width) if widget.hasHeightForWidth() else widget.sizeHint().height()
