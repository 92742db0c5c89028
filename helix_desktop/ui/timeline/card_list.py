"""The pile of cards beside its rail: built as they come into sight, kept while they are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, QPointF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsOpacityEffect, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.mirror import mirror, set_margins
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.timeline.card_data import (
    FailureCard,
    FoldCard,
    FormCard,
    HandoverCard,
    ManualActionCard,
    ObservationsCard,
    SweepCard,
    TimelineCard,
    UndoCard,
)

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


_BATCH = 16  # cards that are built at once
_MARK_MS = 2_500  # in which a card that something led to stands out
_FOLLOW_MS = 700  # in which a card that is sought, or stays, is followed where the layout puts it
_LAID_OUT_AT_ONCE = 60  # cards; more take longer than a frame
_MARGIN = 40  # pixels that stay free above and below a card that is sought
_AHEAD_PX = 900  # pixels of cards that are kept ready below the visible part


class CardList(QObject):
    """The cards in a column inside a scroll area, newest first; `create_view` creates a card's widget."""

    def __init__(
        self, scroll: QScrollArea, column: QVBoxLayout, create_view: Callable[[TimelineCard], QWidget]
    ) -> None:
        """`column` ends with a stretch; what stands in it already stays above the cards."""
        super().__init__(scroll)
        self._scroll, self._column, self._create_view = scroll, column, create_view
        self._first_index = column.count() - 1
        self._theme = LIGHT
        self._cards: tuple[TimelineCard, ...] = ()
        self._rows: dict[int, tuple[TimelineCard, TimelineRow]] = {}
        self._past_seq = 0  # the event that is looked at; 0: now
        self._target_seq = 0  # the event whose card is to come into sight
        self._to_top = False
        self._anchor: tuple[int, int] | None = None  # the card that stays, and its place on screen
        self._release_soon = QTimer(self, singleShot=True, interval=_FOLLOW_MS)
        self._release_soon.timeout.connect(self._settle)
        self._has_running_above = False
        self._fill_soon = QTimer(self, singleShot=True, interval=0)
        self._fill_soon.timeout.connect(self._fill)
        bar = scroll.verticalScrollBar()
        bar.valueChanged.connect(lambda _: self._fill_soon.start())
        bar.rangeChanged.connect(lambda _low, _high: self._fill_soon.start())
        bar.rangeChanged.connect(lambda _low, _high: self._scroll_to_target())
        bar.rangeChanged.connect(lambda _low, _high: self._keep_place())
        bar.actionTriggered.connect(lambda _: self._clear_target())
        bar.actionTriggered.connect(lambda _: self._release())

    @property
    def first_visible_seq(self) -> int:
        """Return the event of the first card in sight; 0 at the top."""
        top = self._scroll.verticalScrollBar().value()
        return self._first_below(top, lambda row: row.geometry().bottom()) if top else 0

    def card(self, seq: int) -> QWidget | None:
        """Return the widget of a card, if it is built."""
        entry = self._rows.get(seq)
        return entry[1].card if entry else None

    def show_cards(self, cards: Sequence[TimelineCard]) -> None:
        """Show these; cards that are the same stay, and so does the place on screen."""
        self._cards = tuple(cards)
        seqs = {card.seq for card in cards}
        for seq in [seq for seq in self._rows if seq not in seqs]:
            self._drop(seq)
        built = [place for place, card in enumerate(self._cards) if card.seq in self._rows]
        # New ones on top push those that are built down.
        count = max(_BATCH, min(built[-1] + 1 if built else 0, len(built) + _BATCH))
        for card in self._cards[count:]:
            if card.seq in self._rows and self._rows[card.seq][0] != card:
                self._drop(card.seq)
        self._build(count)
        if len(self._rows) <= _LAID_OUT_AT_ONCE:
            self._lay_out_page()
        self._fill_soon.start()

    def reveal(self, seq: int, at_top: bool = False) -> None:
        place = next((at for at, card in enumerate(self._cards) if card.seq == seq), -1)
        if place >= 0:
            self._target_seq, self._to_top = seq, at_top
            self._release()
            self._build(place + (_BATCH if at_top else 1))
            if not at_top:
                self._mark(seq)
            QTimer.singleShot(0, self, self._scroll_to_target)
            QTimer.singleShot(_FOLLOW_MS, self, self._clear_target)

    def set_running_above(self, is_above: bool) -> None:
        """Say whether the rail comes from above, or begins at the first card."""
        self._has_running_above = is_above
        self._mark_ends()

    def dim_later_than(self, seq: int) -> None:
        """Show the cards pale that came after an event; 0: none."""
        self._past_seq = seq
        for card, row in self._rows.values():
            row.set_dimmed(0 < seq < card.seq)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme for cards that come later."""
        self._theme = theme

    def _scroll_to_target(self) -> None:
        """Scroll to the card that is sought; again whenever the layout has given the cards other places."""
        entry = self._rows.get(self._target_seq)
        if entry is None:
            return
        row = entry[1]
        if self._to_top or row.height() + 2 * _MARGIN > self._scroll.viewport().height():
            self._scroll.verticalScrollBar().setValue(row.y())
        else:
            self._scroll.ensureWidgetVisible(row, 0, _MARGIN)

    def _mark(self, seq: int) -> None:
        card = self._rows[seq][1].card
        if isinstance(card, Card):
            card.set_marked(True)
            QTimer.singleShot(_MARK_MS, card, lambda: card.set_marked(False))

    def _clear_target(self) -> None:
        self._target_seq = 0

    def _fill(self) -> None:
        bar = self._scroll.verticalScrollBar()
        if len(self._rows) < len(self._cards) and bar.maximum() - bar.value() < _AHEAD_PX:
            self._build(len(self._rows) + _BATCH)

    def _build(self, count: int) -> None:
        if not self._target_seq:
            self._hold_place()
        live = next((card.seq for card in self._cards if _is_live(card)), 0)
        for place, card in enumerate(self._cards[:count]):
            entry = self._rows.get(card.seq)
            node = _node(card, card.seq == live)
            if entry is not None and entry[0] == card and entry[1].node == node:
                row = entry[1]
            else:
                if entry is not None:
                    self._drop(card.seq)
                row = TimelineRow(self._create_view(card), node, _node_y(card))
                retint(row, self._theme)
                row.set_dimmed(0 < self._past_seq < card.seq)
                self._rows[card.seq] = (card, row)
            if self._column.indexOf(row) != self._first_index + place:
                self._column.removeWidget(row)
                self._column.insertWidget(self._first_index + place, row)
                row.show()  # else it has no height before the next event
        self._mark_ends()
        QTimer.singleShot(0, self, self._keep_place)

    def _lay_out_page(self) -> None:
        """Give the page the height of its cards before it is drawn: else its old one squeezes them."""
        page = self._scroll.widget()
        layout = page.layout() if page is not None else None
        if page is None or layout is None:
            return
        layout.invalidate()
        has_height = layout.hasHeightForWidth()
        needed = layout.totalHeightForWidth(page.width()) if has_height else layout.totalSizeHint().height()
        if needed > page.height():
            page.resize(page.width(), needed)
        self._column.activate()

    def _mark_ends(self) -> None:
        rows = [self._rows[card.seq][1] for card in self._cards if card.seq in self._rows]
        complete = len(rows) == len(self._cards)
        for place, row in enumerate(rows):
            row.set_ends(place == 0 and not self._has_running_above, complete and place == len(rows) - 1)

    def _drop(self, seq: int) -> None:
        row = self._rows.pop(seq)[1]
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _hold_place(self) -> None:
        """Keep a card where it is on screen while the layout gives the cards other places.

        It is the first one whose top is in sight: what is above may become taller.
        """
        top = self._scroll.verticalScrollBar().value()
        seq = self._first_below(top - 1, lambda row: row.y()) if top and self._anchor is None else 0
        if seq and self._rows[seq][1].y() < top + self._scroll.viewport().height():
            self._anchor = seq, self._rows[seq][1].y() - top
        self._release_soon.start()

    def _keep_place(self) -> None:
        """Scroll so that the card that stays is where it was; again whenever the layout has moved it."""
        if self._anchor is not None and self._anchor[0] in self._rows:
            self._column.activate()  # the card may be a new widget, without a place so far
            self._scroll.verticalScrollBar().setValue(self._rows[self._anchor[0]][1].y() - self._anchor[1])

    def _settle(self) -> None:
        """Let the card go once it is where it was: on a busy machine the layout may still have to come."""
        self._keep_place()
        self._release()

    def _release(self) -> None:
        self._anchor = None

    def _first_below(self, top: int, edge: Callable[[TimelineRow], int]) -> int:
        """Return the event of the first card with an edge below a place; 0 if there is none."""
        below = {seq: row.y() for seq, (_, row) in self._rows.items() if edge(row) > top}
        return min(below, key=below.__getitem__, default=0)


def _is_live(card: TimelineCard) -> bool:
    return isinstance(card, HandoverCard) and not (
        card.is_undone or card.inside or card.replaced_by or card.is_checkpoint
    )


def _node_y(card: TimelineCard) -> int:
    """Return where the first line of a card has its middle, in pixels below the card's edge."""
    match card:
        case HandoverCard():
            return 22
        case ObservationsCard() | FoldCard():
            return 18
        case UndoCard() | ManualActionCard():
            return 13
    return 17


def _node(card: TimelineCard, is_live: bool) -> Node:
    node: Node = "mark"
    match card:
        case HandoverCard():
            node = "live" if is_live else "mark" if card.is_undone else "handover"
        case ObservationsCard() if not card.is_undone:
            node = "observations"
        case FoldCard() if not card.is_undone:
            node = "fold"
        case SweepCard() if not card.is_undone:
            node = "sweep"
        case FailureCard(is_limit=True):
            node = "limit"
        case FailureCard() | FormCard(has_failed=True):
            node = "failure"
        case FormCard():
            node = "sweep"
    return node
