"""The rail beside the timeline's cards, and the nodes on it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsOpacityEffect, QHBoxLayout, QWidget

from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.mirror import mirror, set_margins
from helix_desktop.ui.design.themed import Themed

Node: TypeAlias = Literal["live", "handover", "observations", "fold", "sweep", "failure", "limit", "mark"]

_RAIL_X = 15.0  # pixels from the edge to the rail
_CARD_X = 38  # pixels
_DIMMED = 0.6  # opacity of what came later
_TOP_PX = 5  # between two cards, half of it


class TimelineRow(Themed, QWidget):
    def __init__(self, card: QWidget, node: Node, node_y: int) -> None:
        super().__init__()
        self.node_y = _TOP_PX + node_y
        self.node = node
        self._first = self._last = False
        self._dimming: QGraphicsOpacityEffect | None = None
        self._hidden_actions: list[QWidget] = []
        self.card = card
        row = QHBoxLayout(self)
        set_margins(row, _CARD_X, _TOP_PX, 0, _TOP_PX)
        row.addWidget(card)

    def set_ends(self, first: bool, last: bool) -> None:
        if (first, last) != (self._first, self._last):
            self._first, self._last = first, last
            self.update()

    def set_dimmed(self, is_dimmed: bool) -> None:
        """Draw it pale, without its actions: it came after the moment that is looked at."""
        if is_dimmed == self.is_dimmed:
            return
        self._show_actions(not is_dimmed)
        if self._dimming is None and is_dimmed:
            self._dimming = QGraphicsOpacityEffect(self)
            self._dimming.setOpacity(_DIMMED)
            self.setGraphicsEffect(self._dimming)
        elif self._dimming is not None:
            self._dimming.setEnabled(is_dimmed)

    def _show_actions(self, is_shown: bool) -> None:
        if not is_shown:
            buttons = (*self.card.findChildren(PushButton), *self.card.findChildren(IconButton, "more"))
            self._hidden_actions = [button for button in buttons if not button.isHidden()]
        for button in self._hidden_actions:
            button.setVisible(is_shown)

    @property
    def is_dimmed(self) -> bool:
        return self._dimming is not None and self._dimming.isEnabled()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small = self.node in ("sweep", "fold", "mark")
        y, space = float(self.node_y), 7.0 if small else 10.0
        painter.setPen(QPen(QColor(self._theme.border_strong), 2))
        if not self._first:
            painter.drawLine(QPointF(_RAIL_X, 0), QPointF(_RAIL_X, y - space))
        if not self._last:
            painter.drawLine(QPointF(_RAIL_X, y + space), QPointF(_RAIL_X, self.height()))
        color = QColor(self._node_color())
        if small:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawEllipse(QPointF(_RAIL_X, y), 3.5, 3.5)
            return
        painter.setPen(QPen(color, 2.5))
        painter.setBrush(color if self.node == "live" else QColor(self._theme.canvas))
        painter.drawEllipse(QPointF(_RAIL_X, y), 5.5, 5.5)

    def _node_color(self) -> str:
        theme = self._theme
        colors: dict[Node, str] = {
            "live": theme.accent,
            "handover": theme.seg_handover,
            "observations": theme.seg_observations,
            "fold": theme.seg_fold,
            "sweep": theme.seg_output,
            "failure": theme.error,
            "limit": theme.warn,
        }
        return colors.get(self.node, theme.scrollbar)
