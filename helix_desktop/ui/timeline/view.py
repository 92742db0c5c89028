"""The timeline: what happened to the window, newest first, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from helix_desktop.ui.elements import Card as CardFrame
from helix_desktop.ui.elements import EmptyState, Line, Now, Pill, wall_clock
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.timeline.cards import (
    FailureView,
    MarkView,
    PersonView,
    PlacedView,
    SweepView,
    Wishes,
)
from helix_desktop.ui.timeline.filter_bar import FilterBar
from helix_desktop.ui.timeline.fold_view import FoldView
from helix_desktop.ui.timeline.handover_view import HandoverView
from helix_desktop.ui.timeline.observations_view import ObservationsView
from helix_desktop.ui.timeline.rail import Node, RailRow
from helix_desktop.ui.timeline.rows import (
    Card,
    FailureCard,
    FoldCard,
    HandoverCard,
    MarkCard,
    ObservationsCard,
    PersonCard,
    PlacedCard,
    RunningCard,
    SweepCard,
    TimelineState,
)
from helix_desktop.ui.timeline.running_view import RunningView
from helix_desktop.ui.timeline.sparkline import TokenSpark
from helix_desktop.ui.widgets import retint

COLUMN_WIDTH = 760  # pixels; the chat's column has the same
_BATCH = 16  # cards that are built at once
_AHEAD = 900  # pixels of cards that are kept ready below the visible part
_NODE_Y: dict[Node, int] = {
    "live": 23,
    "handover": 23,
    "observations": 22,
    "fold": 22,
    "sweep": 19,
    "failure": 19,
    "mark": 12,
}


class Timeline(QWidget):
    """Shows a TimelineState; seqs in its signals name events."""

    undo_requested = Signal(int)
    redo_requested = Signal(int)
    show_in_chat = Signal(int)
    source_clicked = Signal(int)
    digest_clicked = Signal(str)
    export_requested = Signal(int)  # as Markdown
    compact_requested = Signal()  # the empty state's button
    cancel_requested = Signal()  # of the running compaction

    def __init__(self, now: Now = wall_clock) -> None:
        """`now` is for words like "2 min ago"."""
        super().__init__()
        self._now, self._theme = now, LIGHT
        self._state = TimelineState()
        self._rows: dict[int, tuple[Card, RailRow]] = {}
        self._unfolded: dict[int, bool] = {}
        self._wishes = Wishes(self)
        self.spark = TokenSpark()
        self.filter_bar = FilterBar()
        self.empty = EmptyState("history", "", "Compact now")
        self.running = RunningView(self._wishes)
        self._running_row = RailRow(self.running, "live", 20)
        self._running_row.hide()
        self._lay_out()
        self._wire()
        self.set_state(self._state)
        retint(self, LIGHT)

    @property
    def built(self) -> int:
        """How many cards exist as widgets."""
        return len(self._rows)

    def set_state(self, state: TimelineState) -> None:
        """Show another state; cards that are the same stay, and so does the place on screen."""
        self._state = state
        self.filter_bar.count(state.cards)
        self._show_numbers()
        self.set_running(state.running)
        self._show_cards()

    @property
    def _cards(self) -> tuple[Card, ...]:
        """The cards that the filter lets through, newest first."""
        return tuple(card for card in self._state.cards if self.filter_bar.passes(card))

    def _show_cards(self) -> None:
        seqs = {card.seq for card in self._cards}
        for seq in [seq for seq in self._rows if seq not in seqs]:
            self._drop(seq)
        self._build(max(_BATCH, len(self._rows)))
        self._fill_soon.start()

    def set_running(self, card: RunningCard | None) -> None:
        """Show how far the running compaction is; None: none runs."""
        self._running_row.setVisible(card is not None)
        if card is not None:
            self.running.show_card(card)
        bare = card is None and not self._state.cards
        self.empty.setVisible(bare)
        self._scroll.setVisible(not bare)
        self.setFocusProxy(self.empty.button if bare else self._scroll)  # PgUp and PgDn scroll at once
        used = self._state.used / self._state.window if self._state.window else 0
        first = f"the first comes at {self._state.threshold * 100:.0f} %"
        self.empty.say(f"No handover yet. {used * 100:.0f} % used; {first}.", "Compact now")
        self._mark_ends()

    def card_widget(self, seq: int) -> QWidget | None:
        """The widget of a card, if it is built."""
        held = self._rows.get(seq)
        return held[1].card if held else None

    def reveal(self, seq: int) -> None:
        """Bring the card of an event into sight."""
        if seq not in {card.seq for card in self._cards}:
            self.filter_bar.choose(None)
        place = next((at for at, card in enumerate(self._cards) if card.seq == seq), -1)
        if place >= 0:
            self._build(place + 1)
            row = self._rows[seq][1]
            QTimer.singleShot(0, row, lambda: self._scroll.ensureWidgetVisible(row, 0, 40))

    def set_theme(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        retint(self, theme)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground."""
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def _lay_out(self) -> None:
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName("Timeline")
        page = QWidget()
        page.setObjectName("page")
        across = QHBoxLayout(page)
        across.setContentsMargins(22, 18, 22, 20)
        across.addStretch(1)
        column = QWidget()
        column.setMaximumWidth(COLUMN_WIDTH)
        across.addWidget(column, 100)
        across.addStretch(1)
        self._column = QVBoxLayout(column)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self._spark_card())
        self._column.addSpacing(10)
        self._column.addWidget(self.filter_bar)
        self._column.addWidget(self._running_row)
        self._above = self._column.count()
        self._column.addStretch(1)
        self._scroll.setWidget(page)
        over = QVBoxLayout(self)
        over.setContentsMargins(0, 0, 0, 0)
        over.addWidget(self._scroll)
        over.addWidget(self.empty)

    def _spark_card(self) -> QWidget:
        card = CardFrame((16, 11, 12, 8), 4)
        head = QHBoxLayout()
        head.setSpacing(8)
        self._used = Line("", 13, 600)
        self._of = Line("", 12, role="muted")
        self._share = Pill("", "accent")
        head.addWidget(self._used)
        head.addWidget(self._of)
        head.addStretch(1)
        head.addWidget(self._share)
        card.body.addLayout(head)
        card.body.addWidget(self.spark)
        return card

    def _wire(self) -> None:
        wishes = self._wishes
        wishes.undo.connect(self.undo_requested)
        wishes.redo.connect(self.redo_requested)
        wishes.show_in_chat.connect(self.show_in_chat)
        wishes.source.connect(self.source_clicked)
        wishes.digest.connect(self.digest_clicked)
        wishes.export.connect(self.export_requested)
        wishes.cancel.connect(self.cancel_requested)
        wishes.unfolded.connect(self._unfolded.__setitem__)
        self.spark.point_clicked.connect(self.show_in_chat)
        self.empty.pressed.connect(self.compact_requested)
        self.filter_bar.changed.connect(self._show_cards)
        self._fill_soon = QTimer(self)
        self._fill_soon.setSingleShot(True)
        self._fill_soon.setInterval(0)
        self._fill_soon.timeout.connect(self._fill)
        bar = self._scroll.verticalScrollBar()
        bar.valueChanged.connect(lambda _: self._fill_soon.start())
        bar.rangeChanged.connect(lambda _low, _high: self._fill_soon.start())

    def _show_numbers(self) -> None:
        state = self._state
        share = state.used / state.window if state.window else 0
        self._used.set_text(tokens_text(state.used))
        self._of.set_text(f"of {tokens_text(state.window)} tokens in the window")
        near = share >= state.threshold
        self._share.set_text(f"{share * 100:.0f} %", "warn" if near else "accent")
        self.spark.set_points(state.points, state.window, state.threshold)

    def _fill(self) -> None:
        bar = self._scroll.verticalScrollBar()
        if len(self._rows) < len(self._cards) and bar.maximum() - bar.value() < _AHEAD:
            self._build(len(self._rows) + _BATCH)

    def _build(self, wanted: int) -> None:
        anchor = self._anchor()
        live = next(
            (
                card.seq
                for card in self._state.cards
                if isinstance(card, HandoverCard) and not card.undone and not card.inside
            ),
            0,
        )
        cards = self._cards[:wanted]
        for place, card in enumerate(cards):
            held = self._rows.get(card.seq)
            node = _node(card, card.seq == live)
            if held is not None and held[0] == card and held[1].node == node:
                row = held[1]
            else:
                if held is not None:
                    self._drop(card.seq)
                row = RailRow(self._view_of(card, card.seq == live), node, _NODE_Y[node])
                retint(row, self._theme)
                self._rows[card.seq] = (card, row)
            if self._column.indexOf(row) != self._above + place:
                self._column.removeWidget(row)
                self._column.insertWidget(self._above + place, row)
        self._mark_ends()
        if anchor is not None:
            QTimer.singleShot(0, self, lambda: self._hold(*anchor))

    def _view_of(self, card: Card, live: bool) -> QWidget:
        now = self._now()
        match card:
            case HandoverCard():
                return HandoverView(card, self._wishes, now, unfolded=self._unfolded.get(card.seq, live))
            case FoldCard():
                return FoldView(card, self._wishes, now, unfolded=self._unfolded.get(card.seq, False))
            case ObservationsCard():
                return ObservationsView(card, self._wishes, now, unfolded=self._unfolded.get(card.seq, False))
            case _:
                return self._line_of(card, now)

    def _line_of(
        self, card: SweepCard | PlacedCard | PersonCard | FailureCard | MarkCard, now: int
    ) -> QWidget:
        match card:
            case SweepCard():
                return SweepView(card, self._wishes, now)
            case PlacedCard():
                return PlacedView(card, self._wishes, now)
            case PersonCard():
                return PersonView(card, self._wishes, now)
            case FailureCard():
                return FailureView(card, self._wishes, now)
            case MarkCard():
                return MarkView(card, self._wishes, now)

    def _mark_ends(self) -> None:
        shown = [self._running_row] if not self._running_row.isHidden() else []
        shown += [self._rows[card.seq][1] for card in self._cards if card.seq in self._rows]
        complete = len(self._rows) == len(self._cards)
        for place, row in enumerate(shown):
            row.set_ends(place == 0, complete and place == len(shown) - 1)

    def _drop(self, seq: int) -> None:
        row = self._rows.pop(seq)[1]
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _anchor(self) -> tuple[RailRow, int] | None:
        top = self._scroll.verticalScrollBar().value()
        if top == 0:
            return None
        below = [row for _, row in self._rows.values() if row.geometry().bottom() > top]
        first = min(below, key=lambda row: row.y(), default=None)
        return None if first is None else (first, first.y() - top)

    def _hold(self, row: RailRow, offset: int) -> None:
        if any(row is held for _, held in self._rows.values()):
            self._scroll.verticalScrollBar().setValue(row.y() - offset)


def _node(card: Card, live: bool) -> Node:
    node: Node = "mark"
    match card:
        case HandoverCard():
            node = "live" if live else "mark" if card.undone else "handover"
        case ObservationsCard() if not card.undone:
            node = "observations"
        case FoldCard() if not card.undone:
            node = "fold"
        case SweepCard() | PlacedCard() if not card.undone:
            node = "sweep" if isinstance(card, SweepCard) else "mark"
        case FailureCard():
            node = "failure"
    return node
