"""The card of observations or a reflection: dated facts by priority, quotes, ledger, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from helix_desktop.ui.elements import Card, Line, Role, Words
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.pill import Pill, Tone
from helix_desktop.ui.timeline.cards import (
    Wishes,
    cost_pills,
    index_pill,
    inside_pill,
    model_pill,
    moment,
    undo_button,
)
from helix_desktop.ui.timeline.disclosure import Disclosure, DisclosureHead, ledger_part, refused_part
from helix_desktop.ui.timeline.flow import BulletView, FlowBox
from helix_desktop.ui.timeline.handover_view import duration_text
from helix_desktop.ui.timeline.rows import Bullet, Fact, ObservationsCard, title_of
from helix_desktop.ui.widgets import IconLabel

_VITAL, _USUAL, _MINOR = 1, 2, 3
_PRIORITIES: dict[int, tuple[str, Tone, Role]] = {
    _VITAL: ("vital", "accent", "text"),
    _USUAL: ("useful", "neutral", "text"),
    _MINOR: ("minor", "neutral", "muted"),
}
_PRIORITY_PX = 52  # width of the column of priorities


def state_of(card: ObservationsCard) -> tuple[str, Tone]:
    """Whether observations wait, stand in the window, or were undone."""
    if card.undone:
        return "undone", "warn"
    return ("in place", "accent") if card.placed else ("waiting", "neutral")


class ObservationsView(Card):
    """The most important facts at once; opens onto all of them."""

    def __init__(
        self, card: ObservationsCard, wishes: Wishes, now_ms: int, *, unfolded: bool = False
    ) -> None:
        super().__init__((14, 9, 12, 11), 6)
        self._card, self._wishes = card, wishes
        self._ink: Role = "faint" if card.undone else "text"
        state, _ = state_of(card)
        self.setAccessibleName(
            f"{title_of(card)}, {len(card.facts)} facts, {card.before:,} to {card.after:,} tokens, {state}"
        )
        self.body.addLayout(self._heading(now_ms))
        self.body.addWidget(FlowBox(self._pills()))
        self.parts = self._make_parts()
        for part in self.parts:
            self.body.addWidget(part)
        self.parts[0].head.toggled.connect(lambda opened: wishes.unfolded.emit(card.seq, opened))
        self.parts[0].head.setChecked(unfolded)

    def _heading(self, now_ms: int) -> QHBoxLayout:
        card, row = self._card, QHBoxLayout()
        row.setSpacing(9)
        row.addWidget(IconLabel("sparkles" if card.reflection else "eye", px=15, ink="muted"))
        row.addWidget(Line(title_of(card), 14, 600, self._ink))
        row.addWidget(Pill(*state_of(card)))
        row.addStretch(1)
        row.addWidget(moment(card.at_ms, now_ms))
        if card.placed:
            row.addWidget(undo_button(self._wishes, card.placed, card.undone))
        return row

    def _pills(self) -> list[QWidget]:
        card = self._card
        change = f"{tokens_text(card.before)} → {tokens_text(card.after)} tokens"
        model = "demo model" if card.demo else card.model or "no model (extracts)"
        pills: list[QWidget] = [
            Pill(change, "neutral" if card.undone else "accent", "gauge"),
            Pill(
                "1 message" if card.messages == 1 else f"{card.messages:,} messages", glyph="message-square"
            ),
            model_pill(model, card.calls, card.fallback, card.prompt),
            *cost_pills(card.spent, card.cost, card.demo),
            Pill(duration_text(card.duration_ms), glyph="clock"),
        ]
        if card.index:
            pills.append(index_pill(card.index, card.index_entries, self._wishes))
        if card.inside and not card.undone:
            pills.append(inside_pill(card.inside))
        return pills

    def _make_parts(self) -> list[Disclosure]:
        card = self._card
        count = "1 fact" if len(card.facts) == 1 else f"{len(card.facts):,} facts"
        parts = [self._part("What was observed", count, self._facts)]
        if card.quotes:
            said = "1 message" if len(card.quotes) == 1 else f"{len(card.quotes)} messages"
            parts.append(self._part("Your words, kept verbatim", said, self._quotes))
        if card.ledger:
            parts.append(ledger_part(card.ledger, self._ink))
        if card.refused:
            parts.append(refused_part(card.refused, "muted"))
        return parts

    def _part(self, title: str, note: str, build: Callable[[], QWidget]) -> Disclosure:
        return Disclosure(DisclosureHead(title, note, self._ink), build)

    def _facts(self) -> QWidget:
        body, column = _column()
        day = ""
        for fact in self._card.facts:
            if (this := _day(fact.at_ms)) != day:
                day = this
                column.addSpacing(2 if column.count() else 0)
                column.addWidget(Line(day, 12, 600, "muted"))
            column.addLayout(self._fact(fact))
        return body

    def _fact(self, fact: Fact) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        words, tone, role = _PRIORITIES.get(fact.priority, _PRIORITIES[_USUAL])
        pill = Pill(words, tone)
        pill.setToolTip(f"Priority {fact.priority} of {_MINOR}")
        holder = QWidget()
        holder.setFixedWidth(max(_PRIORITY_PX, pill.width()))
        inside = QHBoxLayout(holder)
        inside.setContentsMargins(0, 2, 0, 0)
        inside.addWidget(pill, 0, Qt.AlignmentFlag.AlignRight)
        row.addWidget(holder, 0, Qt.AlignmentFlag.AlignTop)
        view = BulletView(Bullet(fact.text, fact.sources), "faint" if self._card.undone else role)
        view.source_clicked.connect(self._wishes.source)
        row.addWidget(view, 1)
        return row

    def _quotes(self) -> QWidget:
        body, column = _column()
        for quote in self._card.quotes:
            row = QHBoxLayout()
            row.setSpacing(8)
            source = Pill(f"e{quote.sources[0]}", mono=True, clickable=True)
            source.setToolTip("Show the message in the chat")
            source.clicked.connect(lambda _=False, seq=quote.sources[0]: self._wishes.source.emit(seq))
            row.addWidget(source, 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(Words(quote.text, 13, self._ink), 1)
            column.addLayout(row)
        return body


def _column() -> tuple[QWidget, QVBoxLayout]:
    body = QWidget()
    column = QVBoxLayout(body)
    column.setContentsMargins(20, 0, 0, 6)
    column.setSpacing(3)
    return body, column


def _day(at_ms: int) -> str:
    """The date as the window's message has it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
