"""The timeline: what happened to the window, newest first, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from helix_desktop.ui.elements import Card as CardFrame
from helix_desktop.ui.elements import EmptyState, Line
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.focus import ScrollPane
from helix_desktop.ui.pill import Pill
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
from helix_desktop.ui.timeline.pile import Pile
from helix_desktop.ui.timeline.rail import RailRow
from helix_desktop.ui.timeline.rows import (
    Card,
    FailureCard,
    FoldCard,
    HandoverCard,
    MarkCard,
    ObservationsCard,
    PersonCard,
    PlacedCard,
    Point,
    RunningCard,
    SweepCard,
    TimelineState,
)
from helix_desktop.ui.timeline.running_view import RunningView
from helix_desktop.ui.timeline.sparkline import TokenSpark
from helix_desktop.ui.times import Now, wall_clock
from helix_desktop.ui.widgets import retint

COLUMN_WIDTH = 760  # pixels; the chat's column has the same


class Timeline(QWidget):
    """Shows a TimelineState; seqs in its signals name events."""

    undo_requested = Signal(int)
    redo_requested = Signal(int)
    show_in_chat = Signal(int)
    source_clicked = Signal(int)
    digest_clicked = Signal(str)
    export_requested = Signal(int)  # as Markdown
    retry_requested = Signal(str)  # an Attempt
    compact_requested = Signal()  # the empty state's button
    cancel_requested = Signal()  # of the running compaction
    scrolled = Signal()

    def __init__(self, now: Now = wall_clock) -> None:
        """`now` is for words like "2 min ago"."""
        super().__init__()
        self._now, self._theme = now, LIGHT
        self._state = TimelineState()
        self._unfolded: dict[int, bool] = {}
        self._wishes = Wishes(self)
        self.spark = TokenSpark()
        self.filter_bar = FilterBar()
        self.empty = EmptyState("history", "", "Hand over now…")
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
        return len(self._pile)

    def set_state(self, state: TimelineState) -> None:
        """Show another state; cards that are the same stay, and so does the place on screen."""
        self._state = state
        self.filter_bar.count(state.cards)
        self._show_numbers()
        self.set_running(state.running)
        self._show_cards()

    def _show_cards(self) -> None:
        self._pile.show_cards([card for card in self._state.cards if self.filter_bar.passes(card)])

    def set_running(self, card: RunningCard | None) -> None:
        """Show how far the running compaction is; None: none runs."""
        self._running_row.setVisible(card is not None)
        if card is not None:
            self.running.show_card(card)
        bare = card is None and not self._state.cards
        held = self._scroll.hasFocus() or self.empty.button.hasFocus()
        self.empty.setVisible(bare)
        self._scroll.setVisible(not bare)
        self.setFocusProxy(self.empty.button if bare else self._scroll)  # PgUp and PgDn scroll at once
        if held:  # else Qt gives the keyboard to whatever comes next
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        used = self._state.used / self._state.window if self._state.window else 0
        first = f"the first comes at {self._state.threshold * 100:.0f} %"
        self.empty.say(f"No handover yet. {used * 100:.0f} % used; {first}.", "Hand over now…")
        self._running_row.set_ends(True, not self._state.cards)
        self._pile.stand_under(card is not None)

    @property
    def first_card(self) -> int:
        """The event of the first card in sight; 0 at the top."""
        return self._pile.first_in_sight

    def card_widget(self, seq: int) -> QWidget | None:
        """The widget of a card, if it is built."""
        return self._pile.card(seq)

    def reveal(self, seq: int, at_top: bool = False) -> None:
        """Bring the card of an event into sight, or to the top, whatever is filtered."""
        sought = next((card for card in self._state.cards if card.seq == seq), None)
        if sought is not None and not self.filter_bar.passes(sought):
            self.filter_bar.choose(None)
        self._pile.reveal(seq, at_top)

    def set_theme(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        retint(self, theme)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self._pile.tint(theme)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground."""
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def _lay_out(self) -> None:
        self._scroll = ScrollPane()
        self._scroll.setWidgetResizable(True)
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
        self._column.addStretch(1)
        self._pile = Pile(self._scroll, self._column, self._view_of)
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
        wishes.retry.connect(self.retry_requested)
        wishes.cancel.connect(self.cancel_requested)
        wishes.unfolded.connect(self._unfolded.__setitem__)
        self._scroll.verticalScrollBar().valueChanged.connect(lambda _: self.scrolled.emit())
        self.spark.point_clicked.connect(self.show_in_chat)
        self.empty.pressed.connect(self.compact_requested)
        self.filter_bar.changed.connect(self._show_cards)

    def _show_numbers(self) -> None:
        state = self._state
        share = state.used / state.window if state.window else 0
        self._used.set_text(tokens_text(state.used))
        self._of.set_text(f"of {tokens_text(state.window)} tokens in the window")
        near = share >= state.threshold
        self._share.set_text(f"{share * 100:.0f} %", "warn" if near else "accent")
        self.spark.set_points(_with_now(state), state.window, state.threshold)

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


def _with_now(state: TimelineState) -> tuple[Point, ...]:
    """The points with one for the present use, where something changed it since the last."""
    last = state.points[-1] if state.points else None
    if last is None or (last.used, last.window or state.window) == (state.used, state.window):
        return state.points
    return (*state.points, Point(last.seq, state.used, window=state.window))
