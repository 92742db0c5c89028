"""The timeline: what left the context, newest first, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.log.steps import Step, read_steps
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.errors import StoreError
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Card as CardFrame
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, column
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.style.theme import TextRole, Themed
from helix_desktop.ui.kit.commands import add_shortcut
from helix_desktop.ui.kit.intents import (
    FocusComposer,
    LookAtStep,
    RedoLast,
    ShowEvent,
    ShowInTimeline,
    UndoLast,
    handles,
    perform,
)
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.timeline.card_list import CardList, HostedRow, Row, collapse_rewrites
from helix_desktop.ui.timeline.cards import CardFilter, FormCard, RunningCard, TimelineCard, TimelineRow
from helix_desktop.ui.timeline.cards_from_events import build_cards, merge_changes
from helix_desktop.ui.timeline.summary_cards import (
    CompactedMessagesCard,
    Continuation,
    ContinuedRow,
    HandoverCard,
    ObservationsCard,
    PreparedCard,
)
from helix_desktop.ui.timeline.usage_chart import UsageChart
from helix_desktop.ui.timeline.usage_points import UsagePoint, usage_points, with_current_usage
from helix_desktop.words.next_compaction import explain_acts
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.sessions import session_title
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.steps import about_tokens, looking_at_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_CAPTION_ROLES: tuple[TextRole, TextRole] = ("muted", "faint")  # what the chart's figure is of, and a note

MIN_CARDS = 10  # cards; a shorter timeline needs no filter


class TimelineState(msgspec.Struct, frozen=True):
    """All of it: cards newest first, points oldest first, tokens of the window.

    `is_managed` is False while the policy is off: nothing is compacted by itself.
    `steps` are what the scrubber can look at.
    """

    cards: tuple[TimelineCard, ...] = ()
    points: tuple[UsagePoint, ...] = ()
    window: int = 0
    threshold: float = 0.85  # of the window, from which on it is compacted
    running: RunningCard | None = None
    is_managed: bool = True
    continuations: tuple[Continuation, ...] = ()
    steps: tuple[Step, ...] = ()


class TimelineFilterBar(HostedRow):
    changed = Signal()

    def __init__(self) -> None:
        super().__init__("filter", tr("Filter timeline"))
        self.is_needed = False
        self.group: CardFilter | None = None
        self._buttons: dict[CardFilter | None, PushButton] = {}
        choice = QButtonGroup(self)
        about_compacted = tr("What is in place of older messages, or is to replace them.")
        about_cached = tr("What tools returned or were called with, and large outputs of which a part left.")
        about_yours = tr("What you pinned, left out, undid, or sent to the agent in another form.")
        compacted = STATE_WORDS["folded"]
        cached = STATE_WORDS["cached"]
        words: dict[CardFilter | None, tuple[str, str, str]] = {
            None: (tr("All"), "", ""),
            "compacted": (translate(compacted.label), compacted.color, about_compacted),
            "cached": (translate(cached.label), cached.color, about_cached),
            "yours": (tr("By you", "timeline filter: what the user did"), "", about_yours),
        }
        for group, (name, color, tip) in words.items():
            button = PushButton(name, "filter", "dot" if color else "", px=10, color=color, tip=tip)
            button.setObjectName(f"timeline-filter-{group or 'all'}")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, clicked_group=group: self.choose(clicked_group))
            choice.addButton(button)
            self._buttons[group] = button
        self._buttons[None].setChecked(True)
        self._flow = FlowBox(list(self._buttons.values()))
        self.setLayout(column(self._flow))
        self.hide()

    def choose(self, group: CardFilter | None) -> None:
        self._buttons[group].setChecked(True)
        if group != self.group:
            self.group = group
            self.changed.emit()

    def set_cards(self, cards: Sequence[TimelineCard]) -> None:
        groups = {group for card in cards for group in card.filters}
        for group, button in self._buttons.items():
            button.setVisible(group is None or group in groups)
        if self.group not in {*groups, None}:
            self.choose(None)
        self._flow.rearrange()
        has_hidden = not all(map(_is_in_all, cards))
        self.is_needed = has_hidden or (len(cards) >= MIN_CARDS and len(groups) > 1)

    def matches(self, card: TimelineCard) -> bool:
        return self.group in card.filters if self.group is not None else _is_in_all(card)


def _is_in_all(card: TimelineCard) -> bool:
    """Return False of a large output that the agent simply got whole: only its own filter shows it."""
    match card:
        case FormCard(form="full", has_failed=False, is_changed=False):
            return False
    return True


def _as_line(card: TimelineCard) -> TimelineCard:
    """Return a summary that changed no request as one line, any other card as it is."""
    match card:
        case HandoverCard(is_checkpoint=True) | ObservationsCard():
            return PreparedCard(card.seq, card.at_ms, card)
    return card


class Timeline(Themed, QWidget):
    scrolled = Signal()
    _session: Session

    def __init__(self, clock: ClockMs = wall_clock_ms, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = TimelineState()
        self._conversation: Conversation | None = None  # whose cards are shown
        self._newest_refresh = self._last_shown = 0  # numbers of refreshes: an older one may end later
        self._is_loaded = False  # whether it shows this conversation, and not the previous one
        self._pending_reveal = self._first_card = 0  # events whose cards are to be in sight
        self._past_step: Step | None = None
        self.chart = UsageChart()
        self.filter_bar = TimelineFilterBar()
        self.empty = EmptyState(
            "history",
            tr("What leaves the context appears here, and what is in its place."),
            tr("Go to chat"),
        )
        self.cards = CardList(clock)
        self._usage = self._usage_card()
        for hosted in (self._usage, self.filter_bar):
            hosted.setParent(self.cards.viewport())
            hosted.resized.connect(self.cards.refresh)
        self.setLayout(column(self.cards, self.empty))
        MinuteClock(self).ticked.connect(self.cards.update_times)
        self.cards.toggled.connect(self._show_rows)
        self.cards.verticalScrollBar().valueChanged.connect(lambda _: self.scrolled.emit())
        self.chart.point_clicked.connect(lambda seq: perform(self, ShowEvent(seq)))
        self.chart.scrubber.step_chosen.connect(lambda seq: perform(self, LookAtStep(seq)))
        self.empty.button_clicked.connect(lambda: perform(self, FocusComposer()))
        self.filter_bar.changed.connect(self._show_rows)
        here = Qt.ShortcutContext.WidgetWithChildrenShortcut
        add_shortcut(self, "Ctrl+Z", lambda: perform(self, UndoLast()), here)
        add_shortcut(self, "Ctrl+Shift+Z", lambda: perform(self, RedoLast()), here)
        self.set_state(self._state)

    def set_state(self, state: TimelineState) -> None:
        """Show another state; cards that are the same stay, and so does the place on screen."""
        self._state = state
        self._is_known = True
        self._changes = merge_changes(state.cards, state.steps)
        self.filter_bar.set_cards(self._changes)
        self._show_numbers()
        self.set_running(state.running)

    def show_usage(self, gauge: UsageGauge, seq: int, at_ms: int) -> None:
        """Draw how full the context is after event `seq`, before the rest of the log has been read again."""
        state = replace(
            self._state,
            points=with_current_usage(self._state.points, seq, gauge, at_ms),
            window=gauge.window,
            threshold=gauge.handover_share,
        )
        if state == self._state:
            return
        self._state = state
        self._show_numbers()
        self._show_rows()

    def clear(self) -> None:
        """Show nothing of the former session while another is read; what runs there is on screen already."""
        self.set_state(TimelineState(running=self._state.running))
        self._is_known = False
        self.empty.hide()
        self.cards.verticalScrollBar().setValue(0)

    def _show_rows(self) -> None:
        state = self._state
        rows: list[Row] = [self._usage]
        rows += [ContinuedRow(state.continuations)] if state.continuations else []
        rows += [self.filter_bar] if self.filter_bar.is_needed else []
        if state.running is not None and (self.filter_bar.group == "compacted" or not state.running.is_early):
            rows.append(state.running)
        cards = [card for card in self._changes if self.filter_bar.matches(card)]
        rows += self._with_open(cards if self.filter_bar.group else collapse_rewrites(map(_as_line, cards)))
        self.cards.show_rows(rows)

    def _with_open(self, rows: Sequence[Row]) -> Iterator[Row]:
        for row in rows:
            yield row
            if isinstance(row, TimelineRow) and self.cards.cards.is_open(row.key, "rewrites"):
                yield from self._with_open(row.below)

    def set_running(self, card: RunningCard | None) -> None:
        self._state = replace(self._state, running=card)
        bare = card is None and not (self._state.cards or self._state.points)
        had_focus = self.cards.hasFocus() or self.empty.button.hasFocus()
        self.empty.setVisible(bare and self._is_known)
        self.cards.setVisible(not bare)
        self.setFocusProxy(self.empty.button if bare else self.cards)  # PgUp and PgDn scroll at once
        if had_focus:  # else Qt gives the keyboard to whatever comes next
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._show_rows()

    def reveal(self, seq: int, at_top: bool = False) -> None:
        """Bring the card of an event into sight, or to the top, whatever is filtered or folded."""
        compacted = (card for card in self._state.cards if isinstance(card, CompactedMessagesCard))
        seq = next((card.seq for card in compacted if card.facts.seq == seq), seq)
        card = next((card for card in self._changes if _has(card, seq)), None)
        if card is not None and not self.filter_bar.matches(card):
            self.filter_bar.choose(None)
            if not self.filter_bar.matches(card):
                self.filter_bar.choose(card.filters[0])
        while self.cards.cards.index_of(seq) is None:
            rows = (row for row in self.cards.cards.rows if isinstance(row, TimelineRow))
            holders = (row.key for row in rows if any(_has(card, seq) for card in row.below))
            key = next((key for key in holders if not self.cards.cards.is_open(key, "rewrites")), None)
            if key is None:
                break
            self.cards.toggle(key, "rewrites")
        self.cards.reveal(seq, at_top=at_top)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def _usage_card(self) -> HostedRow:
        card = CardFrame((15, 10, 11, 7), 4)
        self._used = TextLine("", 13, 600)
        self._captions = [TextLine("", 12, role=role) for role in _CAPTION_ROLES]
        numbers = FlowBox([self._used, *self._captions])
        self.now_button = PushButton(tr("Back to now"), "link", name="back_to_now")
        self.now_button.clicked.connect(lambda: self.chart.scrubber.choose(0))
        self.now_button.hide()
        self._meaning = SelectableText("", 12, "muted")
        for part in (ResponsiveRow(numbers, [self.now_button]), self.chart, self._meaning):
            card.body.addWidget(part)
        usage = HostedRow("usage", tr("Context over time"))
        usage.setLayout(column(card))
        return usage

    def _show_numbers(self) -> None:
        state = self._state
        self._show_usage()
        self.chart.set_points(state.points, state.window, state.threshold if state.is_managed else 0)
        self.chart.scrubber.set_steps(state.steps)
        self._meaning.setText(explain_acts() if state.cards else tr("Nothing has left the context yet."))

    def show_past(self, step: Step | None) -> None:
        """Say which step is looked at; None: now, where the scrubber goes, too."""
        if step is None:
            self.chart.scrubber.look_at(0)
            if self.now_button.hasFocus():
                self.chart.scrubber.setFocus(Qt.FocusReason.OtherFocusReason)
        self._past_step = step
        self.cards.look_at(step.seq if step is not None else 0)
        self._show_usage()

    def _show_usage(self) -> None:
        """Show what the step that is looked at sent; how full the context is now, panel or top bar say."""
        state = self._state
        step = self._past_step
        self.now_button.setVisible(step is not None)
        drag = tr("Drag the circle to see earlier requests")
        texts = (tr("Context over time"), "", drag if state.steps else "")
        if step is not None:
            used = about_tokens(step, format_tokens(step.tokens))
            answered = next((point.used for point in state.points if point.seq == step.seq), 0)
            request = tr("tokens in the request")
            total = format_tokens(answered)
            if answered > step.tokens and total != format_tokens(step.tokens):
                request = tr("tokens in the request, {tokens} with the answer", tokens=total)
            texts = (used, request if step.tokens else "", looking_at_text(replace(step, tokens=0)))
        for line, words in zip((self._used, *self._captions), texts, strict=True):
            line.set_text(words)
            line.setVisible(bool(words))

    def follow(self, session: Session) -> None:
        """Show what happened to the context of the session on screen, from the next `refresh` on."""
        self._session = session
        session.changed.connect(self._leave)
        self._leave()
        session.on_refresh_page("timeline", self.refresh)

    def _leave(self) -> None:
        """Show another session, or none, from the next `refresh` on."""
        conversation = self._session.find_conversation()
        if conversation is not self._conversation:
            self.clear()
        self._conversation = conversation
        self._first_card = 0
        self._is_loaded = False

    async def refresh(self) -> None:
        """Show the log as it is now. Reads it in a thread: a long log takes longer than a frame."""
        if not self._session.has_conversation:
            return
        workspace = self._session.workspace
        conversation = self._session.conversation
        self._newest_refresh += 1
        number = self._newest_refresh
        transcript = conversation.session.transcript
        log = list(conversation.session.log)
        _, gauge = conversation.window.measure()
        last = transcript.messages.items[-1].seq if transcript.messages.items else 0
        at_ms = log[-1].at if log else 0
        if self._is_loaded:  # what follows may take a second on a busy machine
            self.show_usage(gauge, last, at_ms)
        items = conversation.window.items()  # of the handover's tokens the panel lists these, too
        sent = {row.seq: row.tokens for row in items if (row.kind, row.state) == ("handover", "summarized")}
        policy = conversation.window.policy
        fixed_tokens = conversation.window.frame.fixed_tokens
        points = await asyncio.to_thread(usage_points, log, policy, gauge.window, fixed_tokens)
        cards = await asyncio.to_thread(build_cards, log, transcript, sent, points, is_managed=policy.enabled)
        points = with_current_usage(points, last, gauge, at_ms)
        steps = await asyncio.to_thread(read_steps, log)
        continuations = await self._continuations(workspace, conversation.session.id)
        if not self._session.shows(conversation) or number < self._last_shown:
            return
        self._last_shown = number
        policy = conversation.window.policy
        self.set_state(
            TimelineState(
                cards,
                points,
                gauge.window,
                gauge.handover_share,
                self._state.running,
                policy.enabled,
                continuations,
                steps,
            )
        )
        self.reveal(self._pending_reveal or self._first_card, at_top=not self._pending_reveal)
        self._pending_reveal = self._first_card = 0
        self._is_loaded = True

    @staticmethod
    async def _continuations(workspace: OpenWorkspace, session_id: str) -> tuple[Continuation, ...]:
        with suppress(StoreError):
            others = await workspace.sessions()
            later = (other for other in others if other.origin == session_id)
            return tuple(Continuation(other.id, session_title(other.title)) for other in later)
        return ()

    @handles(ShowInTimeline)
    def reveal_soon(self, seq: int, is_handover: bool = False) -> None:
        """Show the card of an event; one that is not made yet, as soon as it is."""
        self._pending_reveal = seq
        self._session.show_page("timeline")

    @property
    def is_reading(self) -> bool:
        """Return True while a refresh is under way: what is shown may be older than the log."""
        return self._last_shown < self._newest_refresh

    @property
    def is_revealing(self) -> bool:
        return bool(self._pending_reveal)

    def set_first_card(self, seq: int) -> None:
        """Let the list begin at the card of an event at the next `refresh`."""
        self._first_card = seq

    @property
    def first_card(self) -> int | None:
        """Return the event of the first card in sight, 0 at the top; None before the first `refresh`."""
        return self.cards.first_visible_seq if self._is_loaded else None


def _has(card: TimelineCard, seq: int) -> bool:
    return card.seq == seq or any(below.seq == seq for below in card.below)
