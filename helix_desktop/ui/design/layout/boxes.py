"""Rows, columns and framed surfaces of widgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QSplitter, QVBoxLayout, QWidget

from helix_desktop.ui.design.mirror import set_margins

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
    set_margins(layout, *margins)
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


def pane(layout: QLayout) -> QWidget:
    """Return a bare widget around a layout."""
    widget = QWidget()
    widget.setLayout(layout)
    return widget


def clear_layout(layout: QLayout) -> None:
    """Take all widgets out of a layout and let them go."""
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
    """Return a hairline across a column."""
    frame = QFrame()
    frame.setProperty("role", "line")
    return frame
