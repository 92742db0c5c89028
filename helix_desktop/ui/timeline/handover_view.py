"""A handover's card: tokens before and after, six sections with their sources, the ledger, undo and redo."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from helix_desktop.context.digest import ellipsize
from helix_desktop.ui.elements import Card, Line, Role
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.pill import Pill
from helix_desktop.ui.rewrite_text import trigger_text
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
from helix_desktop.ui.timeline.rows import HandoverCard, Section, title_of
from helix_desktop.ui.widgets import IconButton, line, retint

_FOCUS = 40  # characters of what a handover paid attention to
_SUMMARY = 2  # bullets that a folded card shows
_SUMMARY_FROM = ("Current Issues", "TODO Items", "Completed Work", "Technical Details")


def duration_text(milliseconds: int) -> str:
    """How long something took: `340 ms`, `1.2 s`, `3 min 10 s`."""
    if milliseconds < 1_000:  # noqa: PLR2004 - milliseconds of a second
        return f"{milliseconds} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def model_text(card: HandoverCard) -> str:
    """Who wrote the summary."""
    if card.demo:
        return "demo model"
    return card.model or "no model (ledger and extracts)"


def section_part(section: Section, role: Role, wishes: Wishes) -> Disclosure:
    """One of the six sections, its bullets one below the other."""

    def build() -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(20, 0, 0, 6)
        column.setSpacing(3)
        for bullet in section.bullets:
            view = BulletView(bullet, role)
            view.source_clicked.connect(wishes.source)
            column.addWidget(view)
        return body

    count = len(section.bullets)
    part = Disclosure(DisclosureHead(section.title, str(count) if count else "nothing", role), build)
    part.head.setEnabled(count > 0)
    return part


class HandoverView(Card):
    """Folded it says the gist; unfolded it shows everything."""

    def __init__(self, card: HandoverCard, wishes: Wishes, now_ms: int, *, unfolded: bool = False) -> None:
        super().__init__((16, 9, 12, 12), 7)
        self._card, self._wishes = card, wishes
        self._ink: Role = "faint" if card.undone else "text"
        self.parts: list[Disclosure] = []
        self._everything: QWidget | None = None
        self.setAccessibleName(
            f"{title_of(card)}, {card.before:,} to {card.after:,} tokens, {card.messages} messages"
            + (", undone" if card.undone else "")
        )
        self.body.addLayout(self._heading(now_ms))
        self._gist = self._summary()
        self.body.addWidget(self._gist)
        self.body.addWidget(FlowBox(self._pills()))
        points = sum(len(section.bullets) for section in card.sections)
        self.opener = DisclosureHead(
            "Sections and ledger", f"{len(card.sections)} sections · {points} points", "muted"
        )
        self.body.addWidget(self.opener)
        self.opener.toggled.connect(self._unfold)
        if unfolded:
            self.opener.setChecked(True)

    def _heading(self, now_ms: int) -> QHBoxLayout:
        card, row = self._card, QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(Line(title_of(card), 14, 600, self._ink))
        if card.undone:
            row.addWidget(Pill("undone", "warn"))
        row.addStretch(1)
        row.addWidget(moment(card.at_ms, now_ms))
        row.addWidget(undo_button(self._wishes, card.seq, card.undone))
        more = IconButton("ellipsis", "More", px=15, edge=28)
        more.clicked.connect(lambda: self._menu().popup(more.mapToGlobal(QPoint(0, more.height() + 4))))
        row.addWidget(more)
        return row

    def _summary(self) -> QWidget:
        gist, column = QWidget(), QVBoxLayout()
        gist.setLayout(column)
        column.setContentsMargins(0, 0, 4, 0)
        column.setSpacing(3)
        by_title = {section.title: section.bullets for section in self._card.sections}
        bullets = [bullet for title in _SUMMARY_FROM for bullet in by_title.get(title, ())[:1]]
        for bullet in bullets[:_SUMMARY]:
            view = BulletView(bullet, "faint" if self._card.undone else "muted")
            view.source_clicked.connect(self._wishes.source)
            column.addWidget(view)
        gist.setVisible(bool(bullets))
        return gist

    def _pills(self) -> list[QWidget]:
        card = self._card
        change = f"{tokens_text(card.before)} → {tokens_text(card.after)} tokens"
        pills: list[QWidget] = [
            Pill(change, "neutral" if card.undone else "accent", "gauge"),
            Pill("1 message" if card.messages == 1 else f"{card.messages} messages", glyph="message-square"),
            model_pill(model_text(card), card.calls, card.fallback, card.prompt),
            Pill(trigger_text(card.trigger, card.threshold), glyph="zap"),
            *cost_pills(card.spent, card.cost, card.demo),
            Pill(duration_text(card.duration_ms), glyph="clock"),
        ]
        if card.edited:
            pills.append(Pill("edited by you", glyph="pencil"))
        if card.focus:
            pills.append(Pill(f"focus: {ellipsize(card.focus, _FOCUS)}", glyph="search"))
        if card.index:
            pills.append(index_pill(card.index, card.index_entries, self._wishes))
        if card.inside and not card.undone:
            pills.append(inside_pill(card.inside))
        return pills

    def _unfold(self, opened: bool) -> None:
        if self._everything is None:
            self._everything = self._build_everything()
            self.body.addWidget(self._everything)
            retint(self._everything, self._theme)
        self._everything.setVisible(opened)
        self._gist.setVisible(not opened)
        self._wishes.unfolded.emit(self._card.seq, opened)

    def _build_everything(self) -> QWidget:
        everything, column = QWidget(), QVBoxLayout()
        everything.setLayout(column)
        column.setContentsMargins(0, 0, 4, 0)
        column.setSpacing(2)
        column.addWidget(line())
        column.addSpacing(4)
        self.parts = [section_part(section, self._ink, self._wishes) for section in self._card.sections]
        for part in self.parts:
            part.head.setChecked(part.head.isEnabled())
        if self._card.ledger:
            self.parts.append(ledger_part(self._card.ledger, self._ink))
        if self._card.refused:
            self.parts.append(refused_part(self._card.refused, "muted"))
        for part in self.parts:
            column.addWidget(part)
        return everything

    def _menu(self) -> QMenu:
        menu, seq = QMenu(self), self._card.seq
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for words, deed in (
            ("Show in chat", lambda: self._wishes.show_in_chat.emit(seq)),
            ("Export as Markdown…", lambda: self._wishes.export.emit(seq)),
        ):
            action = QAction(words, menu)
            action.triggered.connect(deed)
            menu.addAction(action)
        return menu
