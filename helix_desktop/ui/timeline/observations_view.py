"""The card of observations or a reflection: dated facts by priority, quotes, ledger, and the way back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from helix_desktop.domain.events.summary import Bullet, Observation
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import IconLabel, SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.disclosure import (
    Disclosure,
    DisclosureHead,
    ledger_disclosure,
    refused_disclosure,
)
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill, Tone
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import TextRole
from helix_desktop.ui.kit.intents import ShowEvent, perform
from helix_desktop.ui.timeline.bullet_view import BulletView, source_pill
from helix_desktop.ui.timeline.card_data import ObservationsCard, Unfolded, card_title
from helix_desktop.ui.timeline.cards import (
    TimeLabel,
    cost_pills,
    icon_line,
    index_pills,
    inside_pill,
    model_pill,
    undo_button,
    undone_pill,
)
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.numbers import format_integer, format_token_count
from helix_desktop.words.rewrite_explanations import (
    STATE_WORDS,
    explain_merged_observations,
    explain_observations,
)
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

text = TextContext("Timeline")
tr = Translator("Timeline")

_VITAL, _MINOR = 1, 3  # the usual one between them is not named
_PRIORITIES: dict[int, tuple[TranslatableText, Tone, TextRole]] = {
    _VITAL: (text("Important", "priority of a fact"), "accent", "text"),
    _MINOR: (text("Minor", "priority of a fact"), "neutral", "muted"),
}
_PRIORITY_PX = 106  # width of the column of priorities: a translated word is longer


def _state_pill(card: ObservationsCard) -> Pill:
    if card.is_undone:
        return undone_pill()
    if card.inside:
        return inside_pill(card.inside)
    if not card.placed_seq:
        return Pill(tr("Not sent yet"))
    pill = Pill(translate(STATE_WORDS["in_window"].label), "accent")
    pill.setToolTip(translate(STATE_WORDS["observed"].tooltip))
    return pill


class ObservationsView(Card):
    def __init__(self, card: ObservationsCard, now_ms: int, unfolded: Unfolded) -> None:
        super().__init__((14, 9, 12, 11), 6)
        self._card = card
        self._text_role: TextRole = "faint" if card.is_undone else "text"
        size, self._state = format_token_count(card.event.tokens), _state_pill(card)
        self.setAccessibleName(" · ".join((card_title(card), size, self._state.text())))
        self.setToolTip(explain_merged_observations() if card.event.reflection else explain_observations())
        self.body.addWidget(self._heading(now_ms))
        self.parts = self._make_parts()
        self.body.addWidget(self.parts[0])
        self._rest = self._make_rest()
        self._rest.hide()
        self.body.addWidget(self._rest)
        self.parts[0].head.toggled.connect(self._rest.setVisible)
        self.parts[0].head.toggled.connect(lambda opened: unfolded.update({card.seq: opened}))
        self.parts[0].head.setChecked(unfolded.get(card.seq, False))

    def _heading(self, now_ms: int) -> QWidget:
        card = self._card
        icon = IconLabel("sparkles" if card.event.reflection else "eye", px=15, color_token="muted")
        title = TextLine(card_title(card), 14, 600, self._text_role)
        end: list[QWidget] = [TimeLabel(card.at_ms, now_ms)]
        if card.placed_seq:
            end.append(undo_button(card.placed_seq, card.is_undone, card.inside, card.carries))
        return icon_line(icon, FlowBox([title, self._state]), end)

    def _make_rest(self) -> QWidget:
        card, rest = self._card, QWidget()
        inside = column(gap=6)
        for part in self.parts[1:]:
            inside.addWidget(part)
        inside.addWidget(FlowBox(self._pills()))
        if card.missing.lines:
            inside.addWidget(SummaryCoverageView(card.missing, is_folded=True))
        rest.setLayout(inside)
        return rest

    def _pills(self) -> list[QWidget]:
        card = self._card
        pills: list[QWidget] = [
            Pill(format_token_count(card.event.tokens), "neutral" if card.is_undone else "accent", "gauge"),
            Pill(card.messages, icon_name="message-square"),
            model_pill(card),
            *cost_pills(card),
            Pill(format_exact_duration(card.event.duration_ms), icon_name="clock"),
        ]
        return [*pills, *index_pills(card)]

    def _make_parts(self) -> list[Disclosure]:
        card = self._card
        parts = [Disclosure(DisclosureHead(tr("Details"), "", self._text_role), self._facts)]
        if card.quotes:
            parts.append(self._part(tr("Your messages, word for word"), len(card.quotes), self._quotes))
        if card.event.ledger:
            parts.append(ledger_disclosure(card.event.ledger, self._text_role))
        if card.event.refused:
            parts.append(refused_disclosure(card.event.refused))
        return parts

    def _part(self, title: str, count: int, build: Callable[[], QWidget]) -> Disclosure:
        return Disclosure(DisclosureHead(title, format_integer(count), self._text_role), build)

    def _facts(self) -> QWidget:
        body, lines = _column()
        day = ""
        for fact in self._card.event.observations:
            if (this := utc_day(fact.at)) != day:
                day = this
                lines.addSpacing(2 if lines.count() else 0)
                lines.addWidget(TextLine(day, 12, 600, "muted"))
            lines.addLayout(self._fact(fact))
        return body

    def _fact(self, fact: Observation) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        holder = QWidget()
        role: TextRole = "text"
        holder.setFixedWidth(scaled(_PRIORITY_PX))
        inside = QHBoxLayout(holder)
        inside.setContentsMargins(0, 2, 0, 0)
        if fact in self._card.over:
            pill, role = Pill(tr("Past", "fact that no longer holds")), "faint"
            pill.setToolTip(tr("A later fact says that it is no longer true. It left the context."))
            inside.addWidget(pill, 0, Qt.AlignmentFlag.AlignRight)
        elif fact.priority in _PRIORITIES:
            words, tone, role = _PRIORITIES[fact.priority]
            pill = Pill(translate(words), tone)
            pill.setToolTip(tr("Priority {number} of {count}", number=fact.priority, count=_MINOR))
            inside.addWidget(pill, 0, Qt.AlignmentFlag.AlignRight)
        row.addWidget(holder, 0, Qt.AlignmentFlag.AlignTop)
        view = BulletView(Bullet(fact.text, fact.sources), "faint" if self._card.is_undone else role)
        row.addWidget(view, 1)
        return row

    def _quotes(self) -> QWidget:
        body, lines = _column()
        for quote in self._card.quotes:
            row = QHBoxLayout()
            row.setSpacing(8)
            source = source_pill(quote.sources[0])
            source.clicked.connect(lambda _=False, seq=quote.sources[0]: perform(self, ShowEvent(seq)))
            row.addWidget(source, 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(SelectableText(quote.text, 13, self._text_role), 1)
            lines.addLayout(row)
        return body


def _column() -> tuple[QWidget, QVBoxLayout]:
    body = QWidget()
    lines = QVBoxLayout(body)
    set_margins(lines, 20, 0, 0, 6)
    lines.setSpacing(3)
    return body, lines
