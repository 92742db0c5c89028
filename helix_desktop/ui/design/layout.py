"""How widgets stand: rows and columns, flows, pages that scroll, pages of which one is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QResizeEvent, QShowEvent, QWindow
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from helix_desktop.ui.design.focus import FocusRing

T = TypeVar("T")
DIALOG_MARGINS = (22, 20, 22, 16)
"""Pixels around what stands in a dialog."""

LayoutItem = QWidget | QLayout | int | None
"""What a row or column takes: a widget, a layout, a gap in pixels, or None for a stretch."""


def _fill(
    layout: QBoxLayout,
    items: tuple[LayoutItem, ...],
    margins: tuple[int, int, int, int],
    gap: int,
    stretch: int | None,
) -> None:
    layout.setContentsMargins(*margins)
    layout.setSpacing(gap)
    for part in items:
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part)
        else:
            layout.addWidget(part)
    if stretch is not None:
        layout.setStretch(stretch, 1)


def row(
    *items: LayoutItem,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    gap: int = 8,
    stretch: int | None = None,
    top: Sequence[QWidget] = (),
) -> QHBoxLayout:
    """Return a horizontal layout of parts; margins and gap in pixels, `stretch` is the part that grows.

    Those in `top` stand at the top, all others in the middle.
    """
    layout = QHBoxLayout()
    _fill(layout, items, margins, gap, stretch)
    for part in top:
        layout.setAlignment(part, Qt.AlignmentFlag.AlignTop)
    return layout


def column(
    *items: LayoutItem,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    gap: int = 8,
    stretch: int | None = None,
) -> QVBoxLayout:
    """Return a vertical layout of parts; the same."""
    layout = QVBoxLayout()
    _fill(layout, items, margins, gap, stretch)
    return layout


def centered(part: QWidget, max_px: int, margins: tuple[int, int, int, int]) -> QHBoxLayout:
    """Return a layout with a part in its middle, as wide as there is room for, up to some pixels."""
    part.setMaximumWidth(max_px)
    layout = row(None, part, None, margins=margins, gap=0)
    layout.setStretch(1, 1000)
    return layout


def pane(layout: QLayout, name: str = "") -> QWidget:
    """Return a widget with a layout; the style sheet or a test finds it by its name."""
    widget = QWidget()
    widget.setObjectName(name)
    widget.setLayout(layout)
    return widget


def clear_layout(layout: QLayout) -> None:
    while layout.count():
        item = layout.takeAt(0)
        widget = item.widget() if item else None
        if widget is not None:
            widget.hide()
            widget.deleteLater()


def shorten_row(layout: QHBoxLayout, width: int, parts: Sequence[Callable[[bool], object]]) -> None:
    """Show all of a row, then take parts away, the first one first, until it fits into `width` pixels.

    Each of `parts` shows something if called with True, and hides it or its words if called with False.
    """
    for show in parts:
        show(True)
    for show in parts:
        layout.invalidate()  # else Qt returns the width of the words before
        if layout.minimumSize().width() <= width:
            return
        show(False)


def splitter(
    *parts: QWidget, across: bool = True, sizes: Sequence[int] = (), handle_px: int | None = None
) -> QSplitter:
    """Return parts side by side, or one below the other, whose share the user can change; first sizes."""
    result = QSplitter(Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical)
    result.setChildrenCollapsible(False)
    if handle_px is not None:
        result.setHandleWidth(handle_px)
    for part in parts:
        result.addWidget(part)
    if sizes:
        result.setSizes(list(sizes))
    return result


def card(layout: QLayout, role: str = "card") -> QFrame:
    frame = QFrame()
    frame.setProperty("role", role)
    frame.setLayout(layout)
    return frame


def line() -> QFrame:
    frame = QFrame()
    frame.setProperty("role", "line")
    return frame


FLOW_GAP = 6  # pixels between two parts of a row, and between rows
SIZE_CHANGES = frozenset({
    QEvent.Type.LayoutRequest, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.StyleChange,
    QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange,
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
            x = 0
            rows = [*rows, []]
        rows[-1].append((number, part, size.boundedTo(QSize(max(width, 1), size.height()))))
        x += size.width() + FLOW_GAP
    return rows


def _row_height(row: _Row) -> int:
    return max((size.height() for _, _, size in row), default=0)


def _place_row(line: _Row, room: QRect, right_from: int) -> None:
    missing = room.width() - sum(size.width() + FLOW_GAP for _, _, size in line) + FLOW_GAP
    x = 0
    is_left = True
    for number, part, size in line:
        if is_left and number >= right_from:
            x = x + max(0, missing)
            is_left = False
        place = QRect(QPoint(x, room.y() + (room.height() - size.height()) // 2), size)
        part.setGeometry(place)
        x += size.width() + FLOW_GAP


def _least_width(part: QWidget) -> int:
    can_shrink = QSizePolicy.PolicyFlag.ShrinkFlag.value & part.sizePolicy().horizontalPolicy().value
    hint = part.minimumSizeHint() if can_shrink else part.sizeHint()
    return hint.expandedTo(part.minimumSize()).width()


class _Arranged(QWidget):
    """Places its parts itself, and measures them once: layouts ask dozens of times for each change."""

    def __init__(self, horizontal: QSizePolicy.Policy) -> None:
        super().__init__()
        self._measured: dict[object, Any] = {}
        policy = QSizePolicy(horizontal, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def _once(self, key: object, measure: Callable[[], T]) -> T:
        """Return what was measured under a key; a hidden widget hears of no changes, and measures anew."""
        if not self.isVisible():
            return measure()
        if key not in self._measured:
            self._measured[key] = measure()
        result: T = self._measured[key]
        return result

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """Place all parts again when one of them has changed its size, also while this was hidden."""
        kind = event.type()
        if kind in PLACE_CHANGES:
            self.rearrange()
        elif kind in SIZE_CHANGES:
            self._measured.clear()
        return super().event(event)

    def rearrange(self) -> None:
        self._measured.clear()
        self.updateGeometry()
        self._place()

    def _place(self) -> None:
        raise NotImplementedError


class FlowBox(_Arranged):
    def __init__(
        self, parts: Sequence[QWidget], right_from: int | None = None, row_gap: int = FLOW_GAP
    ) -> None:
        """Place parts from where lines begin; those from number `right_from` on at the end of their row.

        `row_gap` is in pixels.
        """
        super().__init__(QSizePolicy.Policy.Preferred)
        self._parts = list(parts)
        self._right_from = right_from
        self._row_gap = row_gap
        for part in self._parts:
            part.setParent(self)

    def heightForWidth(self, width: int) -> int:
        return self._once(width, lambda: flow_height(self._parts, width, self._row_gap))

    def sizeHint(self) -> QSize:
        return self._once("hint", self._measure)

    def _measure(self) -> QSize:
        shown = (part for part in self._parts if not part.isHidden())
        sizes = [part.sizeHint().expandedTo(part.minimumSize()) for part in shown]
        width = sum(size.width() + FLOW_GAP for size in sizes) - FLOW_GAP
        return QSize(max(0, width), max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        return QSize(max((_least_width(part) for part in self._parts if not part.isHidden()), default=0), 0)

    def show_parts(self, parts: Sequence[QWidget]) -> None:
        for part in self._parts:
            part.setParent(None)
            part.deleteLater()
        self._parts = list(parts)
        for part in self._parts:
            part.setParent(self)
            part.show()
        self.rearrange()

    def _place(self) -> None:
        place_flow(self._parts, self.width(), self._right_from, self._row_gap)


_GAP = 8  # pixels between the text and what stands beside it
_ROW_GAP = 4
_ONE_LINE_PX = 10_000  # a width in which every text stands in one line


class ResponsiveRow(_Arranged):
    """A text that takes the room there is; others at its right, or below it where it would be too narrow."""

    def __init__(self, text: QWidget, others: Sequence[QWidget], least_px: int = 200) -> None:
        """`least_px` is the width below which a longer text does not go for the others."""
        super().__init__(QSizePolicy.Policy.Expanding)
        self._text = text
        self._others = FlowBox(others, right_from=0)
        self._least_px = least_px
        for part in (self._text, self._others):
            part.setParent(self)

    def heightForWidth(self, width: int) -> int:
        return max(box.bottom() + 1 for box in self._boxes(width))

    def sizeHint(self) -> QSize:
        text = self._text.sizeHint()
        others = self._others.sizeHint()
        return QSize(text.width() + _GAP + others.width(), max(text.height(), others.height()))

    def minimumSizeHint(self) -> QSize:
        text = self._text.minimumSizeHint()
        others = self._others.minimumSizeHint()
        return QSize(max(text.width(), others.width()), max(text.height(), others.height()))

    def _place(self) -> None:
        for part, box in zip((self._text, self._others), self._boxes(self.width()), strict=True):
            part.setGeometry(box)

    def _boxes(self, width: int) -> tuple[QRect, QRect]:
        return self._once(width, lambda: self._compute_boxes(width))

    def _compute_boxes(self, width: int) -> tuple[QRect, QRect]:
        hint = self._others.sizeHint()  # all in one row
        left = width - hint.width() - _GAP
        # The text would be cut, or wrapped in a width below the least one.
        if left < self._least_px and (
            _height(self._text, max(left, 1)) > _height(self._text, _ONE_LINE_PX)
            or left < self._text.sizeHint().width()
        ):
            text = _height(self._text, width)
            below = QRect(0, text + _ROW_GAP, width, self._others.heightForWidth(width))
            return QRect(0, 0, width, text), below
        text = _height(self._text, left)
        others = hint.height()
        tall = max(text, others)
        return (
            QRect(0, (tall - text) // 2, left, text),
            QRect(left + _GAP, (tall - others) // 2, hint.width(), others),
        )


def _height(widget: QWidget, width: int) -> int:
    return widget.heightForWidth(width) if widget.hasHeightForWidth() else widget.sizeHint().height()


_RING_PX = 6  # pixels that the ring of the keyboard needs around the rows


class _PageScroll(QScrollArea):
    """Scrolls a page up and down, and asks for its least width: sideways there is always room for it."""

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:
        page = self.widget()
        hint = super().minimumSizeHint()
        if page is None:
            return hint
        margins = self.viewportMargins()
        width = page.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
        return QSize(width + margins.left() + margins.right(), hint.height())


class VerticalScrollArea(_PageScroll):
    """Scrolls a page; no stop of the keyboard, which goes to what is on the page."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._handle: QWindow | None = None  # of the window that it was shown in last

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        handle = self.window().windowHandle()
        if handle is not None and handle is not self._handle:
            self._handle = handle
            handle.focusObjectChanged.connect(self._reveal)

    def _reveal(self, focused: QObject | None) -> None:
        """Bring into sight where the keyboard has come to: Qt does that for moves inside the page only."""
        page = self.widget()
        if not isinstance(focused, QWidget) or page is None or not self.isVisible():
            return
        if page.isAncestorOf(focused) and focused.visibleRegion().isEmpty():
            self.ensureWidgetVisible(focused)


class ListScrollArea(_PageScroll):
    """Scrolls a list of rows up and down, by keyboard too: a stop only where there is something to scroll."""

    accessible_role = QAccessible.Role.Pane

    def __init__(self, rows: QLayout, name: str) -> None:
        """Take the rows, which follow the width; `name` is what screen readers call it."""
        self.page = pane(rows, "page")
        super().__init__(self.page)
        FocusRing(self)
        self.setAccessibleName(name)
        self.setViewportMargins(_RING_PX, _RING_PX, _RING_PX, _RING_PX)  # the ring cuts through no row
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._is_stop = True
        self.verticalScrollBar().rangeChanged.connect(self._update_stop)

    def set_stop(self, is_stop: bool) -> None:
        """Say whether the keyboard may stop here: not where the rows take it themselves."""
        self._is_stop = is_stop
        self._update_stop()

    def _update_stop(self) -> None:
        bar = self.verticalScrollBar()
        is_stop = self._is_stop and bar.maximum() > bar.minimum()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_stop else Qt.FocusPolicy.NoFocus)


P = TypeVar("P", bound=QWidget)


class LazyPage(Generic[P]):
    """A page that is built when it is first asked for, which is when the user goes there."""

    def __init__(self, build: Callable[[], P]) -> None:
        self._build = build
        self._page: P | None = None
        self._handlers: list[Callable[[P], object]] = []

    def get(self) -> P:
        if self._page is None:
            self._page = self._build()
            for handler in self._handlers:
                handler(self._page)
        return self._page

    def find(self) -> P | None:
        return self._page

    def when_built(self, handler: Callable[[P], object]) -> None:
        """Call `handler` with the page once it is built, after those before it; now if it is."""
        self._handlers.append(handler)
        if self._page is not None:
            handler(self._page)


class PageArea(QStackedWidget):
    """Pages in the room that is left for them, whatever they contain."""

    def hasHeightForWidth(self) -> bool:
        """Return False: else Qt measures all pages, also hidden ones, with each change around them."""
        return False
