"""Layout shared by the settings' pages: a title, groups and their captions."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLayout, QWidget

from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea


def scrolling_page(title: str, lead: str, body: QLayout) -> tuple[VerticalScrollArea, QLabel]:
    """Return a scrolling settings page with a heading; returns it with the label of its lead sentence."""
    words = label(lead, "muted", wrap=True)
    if not lead:
        words.hide()
    inner = QWidget()
    inner.setObjectName("page")
    inner.setLayout(column(label(title, "heading"), words, 10, body, None, margins=(28, 24, 28, 24), gap=6))
    scroll = VerticalScrollArea(inner)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return scroll, words
