"""Layout shared by the settings' pages: a title, groups and their captions, in a column of readable width."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLayout, QSizePolicy, QSpacerItem, QWidget

from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed

_COLUMN_PX = 880 + 2 * 28  # at 100 %, with the margins


class _Column(Themed, QWidget):
    def tint(self, theme: Theme) -> None:
        super().tint(theme)
        self.setMaximumWidth(fonts.scaled(_COLUMN_PX))


def page_column(layout: QLayout) -> QHBoxLayout:
    """Return a layout that keeps another one in the middle of a wide page, no wider than is good to read."""
    middle = _Column()
    middle.setLayout(layout)
    across = row(middle)
    across.setStretch(0, 1)
    for place in (0, 2):  # beside it, without a stretch: they get only what the column can't take
        across.insertSpacerItem(place, QSpacerItem(0, 0, QSizePolicy.Policy.Expanding))
    return across


def scrolling_page(title: str, lead: str, body: QLayout) -> tuple[VerticalScrollArea, QLabel]:
    """Return a scrolling settings page with a heading; returns it with the label of its lead sentence."""
    words = label(lead, "muted", wrap=True)
    if not lead:
        words.hide()
    inner = QWidget()
    inner.setObjectName("page")
    inner.setLayout(
        page_column(column(label(title, "heading"), words, 10, body, None, margins=(28, 24, 28, 24), gap=6))
    )
    scroll = VerticalScrollArea(inner)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return scroll, words
