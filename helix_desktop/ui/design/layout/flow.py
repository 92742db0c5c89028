"""Widgets side by side, in as many rows as the width needs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

FLOW_GAP = 6  # pixels between two parts of a row, and between rows
SIZE_CHANGES = frozenset({
    QEvent.Type.LayoutRequest, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.StyleChange,
    QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange, QEvent.Type.LayoutDirectionChange,
    QEvent.Type.PolishRequest, QEvent.Type.ChildAdded, QEvent.Type.ChildRemoved,
})  # fmt: skip
"""After these, what is in a widget may need another size and place than before."""
PLACE_CHANGES = frozenset({QEvent.Type.LayoutRequest, QEvent.Type.Show})
"""Those of them after which it is placed again."""


_Row = list[tuple[int, QWidget, QSize]]  # numbers, widgets and sizes


def flow_height(parts: Sequence[QWidget], width: int, row_gap: int = FLOW_GAP) -> int:
    """Return the height in pixels of all rows of the parts that are not hidden."""
    heights = [_row_height(row) for row in _flow_rows(parts, width)]
    return max(0, sum(heights) + row_gap * (len(heights) - 1))


def place_flow(
    parts: Sequence[QWidget], width: int, right_from: int | None = None, row_gap: int = FLOW_GAP
) -> int:
    """Move the parts that are not hidden to their places in rows; return the height of these in pixels.

    The parts from number `right_from` on stand at the end of their row.
    """
    y = 0
    for row in _flow_rows(parts, width):
        height = _row_height(row)
        _place_row(row, QRect(0, y, width, height), len(parts) if right_from is None else right_from)
        y += height + row_gap
    return max(0, y - row_gap)


def _flow_rows(parts: Sequence[QWidget], width: int) -> list[_Row]:
    rows: list[_Row] = [[]]
    x = 0
    for number, part in enumerate(parts):
        if part.isHidden():
            continue
        size = part.sizeHint().expandedTo(part.minimumSize())
        if x and x + size.width() > width:
            x, rows = 0, [*rows, []]
        rows[-1].append((number, part, size.boundedTo(QSize(max(width, 1), size.height()))))
        x += size.width() + FLOW_GAP
    return rows


def _row_height(row: _Row) -> int:
    return max((size.height() for _, _, size in row), default=0)


def _place_row(line: _Row, room: QRect, right_from: int) -> None:
    missing = room.width() - sum(size.width() + FLOW_GAP for _, _, size in line) + FLOW_GAP
    x, is_left = 0, True
    for number, part, size in line:
        if is_left and number >= right_from:
            x, is_left = x + max(0, missing), False
        place = QRect(QPoint(x, room.y() + (room.height() - size.height()) // 2), size)
        part.setGeometry(QStyle.visualRect(part.layoutDirection(), room, place))
        x += size.width() + FLOW_GAP


def _least_width(part: QWidget) -> int:
    can_shrink = QSizePolicy.PolicyFlag.ShrinkFlag.value & part.sizePolicy().horizontalPolicy().value
    hint = part.minimumSizeHint() if can_shrink else part.sizeHint()
    return hint.expandedTo(part.minimumSize()).width()


class FlowBox(QWidget):
    def __init__(
        self, parts: Sequence[QWidget], right_from: int | None = None, row_gap: int = FLOW_GAP
    ) -> None:
        """Place parts from where lines begin; those from number `right_from` on at the end of their row.

        `row_gap` is in pixels.
        """
        super().__init__()
        self._parts, self._right_from, self._row_gap = list(parts), right_from, row_gap
        self._heights: dict[int, int] = {}
        self._hint: QSize | None = None
        for part in self._parts:
            part.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, width: int) -> int:
        # Layouts ask dozens of times for each change. Only a visible widget hears of changes.
        if not self.isVisible():
            return flow_height(self._parts, width, self._row_gap)
        if width not in self._heights:
            self._heights[width] = flow_height(self._parts, width, self._row_gap)
        return self._heights[width]

    def sizeHint(self) -> QSize:
        if not self.isVisible():
            return self._measure()
        if self._hint is None:
            self._hint = self._measure()
        return self._hint

    def _measure(self) -> QSize:
        sizes = [
            part.sizeHint().expandedTo(part.minimumSize()) for part in self._parts if not part.isHidden()
        ]
        width = sum(size.width() + FLOW_GAP for size in sizes) - FLOW_GAP
        return QSize(max(0, width), max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        return QSize(max((_least_width(part) for part in self._parts if not part.isHidden()), default=0), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """Place all parts again when one of them has changed its size, also while this was hidden."""
        kind = event.type()
        if kind in SIZE_CHANGES:
            self._forget_sizes()
            if kind in PLACE_CHANGES:
                self.rearrange()
        return super().event(event)

    def show_parts(self, parts: Sequence[QWidget]) -> None:
        """Show other parts; those before go."""
        for part in self._parts:
            part.setParent(None)
            part.deleteLater()
        self._parts = list(parts)
        for part in self._parts:
            part.setParent(self)
            part.show()
        self.rearrange()

    def rearrange(self) -> None:
        """Place all parts again, after some were hidden, shown or changed."""
        self._forget_sizes()
        self.updateGeometry()
        self._place()

    def _forget_sizes(self) -> None:
        self._heights.clear()
        self._hint = None

    def _place(self) -> None:
        place_flow(self._parts, self.width(), self._right_from, self._row_gap)
