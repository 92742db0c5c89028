"""A handover's card: tokens before and after, sections with their sources, the ledger, undo and redo."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QMenu, QVBoxLayout, QWidget

from helix_desktop.domain.events.summary import Section
from helix_desktop.domain.text_format import ellipsize, ellipsize_title
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column, line
from helix_desktop.ui.design.layout.disclosure import (
    Disclosure,
    DisclosureHead,
    ledger_disclosure,
    refused_disclosure,
)
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.menus import popup_below
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import TextRole, retint
from helix_desktop.ui.kit.intents import (
    CompareHandover,
    ContinueSession,
    EditHandover,
    ExportHandover,
    RunHandoverAgain,
    ShowEvent,
    perform,
)
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import HandoverCard, Unfolded
from helix_desktop.ui.timeline.card_texts import card_title
from helix_desktop.ui.timeline.cards import (
    TimeLabel,
    cost_pills,
    index_pill,
    model_pill,
    replaced_pill,
    session_pill,
    undo_button,
    undone_pill,
)
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.numbers import format_integer, format_token_count
from helix_desktop.words.rewrite_explanations import STATE_WORDS, explain_checkpoint
from helix_desktop.words.rewrite_reasons import trigger_text
from helix_desktop.words.rewrites import (
    context_change_text,
    gist_sections,
    ordered_sections,
    revision_size_text,
)
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_MAX_FOCUS_CHARS = 40  # characters of what a handover paid attention to
_SIDE_BY_SIDE_PX = 520  # pixels from which two sections are beside each other


def section_disclosure(section: Section, role: TextRole, *, is_flagged: bool = True) -> Disclosure:
    """Return one of the sections, its bullets one below the other; see BulletView for `is_flagged`."""

    def build() -> QWidget:
        body = QWidget()
        lines = QVBoxLayout(body)
        set_margins(lines, 20, 0, 0, 6)
        lines.setSpacing(3)
        for bullet in section.bullets:
            view = BulletView(bullet, role, is_flagged=is_flagged)
            lines.addWidget(view)
        return body

    count = len(section.bullets)
    note = format_integer(count) if count else tr("empty")
    part = Disclosure(DisclosureHead(section.title, note, role), build)
    part.head.setEnabled(count > 0)
    return part


class _OpenPoints(QWidget):
    """Current issues and to-do items: side by side, one below the other where that is too narrow."""

    def __init__(self, card: HandoverCard) -> None:
        super().__init__()
        self._flow = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._flow.setContentsMargins(0, 0, 0, 4)
        self._flow.setSpacing(10)
        role: TextRole = "faint" if card.is_undone else "text"
        for section in gist_sections(card.sections):
            lines = column(gap=3)
            lines.addWidget(TextLine(section.title, 12, 600, "faint" if card.is_undone else "muted"))
            for bullet in section.bullets:
                view = BulletView(bullet, role, is_flagged=not card.origin)
                lines.addWidget(view)
            lines.addStretch(1)
            self._flow.addLayout(lines, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        is_wide = self.width() >= scaled(_SIDE_BY_SIDE_PX)
        across = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if self._flow.direction() != across:
            self._flow.setDirection(across)
        super().resizeEvent(event)


class HandoverView(Card):
    """What is open by it comes first; unfolded it shows everything, with what it took."""

    def __init__(self, card: HandoverCard, now_ms: int, unfolded: Unfolded) -> None:
        super().__init__((14, 9, 12, 12), 7)
        self._card, self._unfolded = card, unfolded
        self._text_role: TextRole = "faint" if card.is_undone else "text"
        self.parts: list[Disclosure] = []
        self._details: QWidget | None = None
        parts = [card_title(card), _messages_text(card), _size_text(card)]
        if card.is_undone:
            parts.append(tr("Undone"))
        self.setAccessibleName(" · ".join(parts))
        self.body.addWidget(self._heading(now_ms))
        self.body.addWidget(_OpenPoints(card))
        points = sum(len(section.bullets) for section in card.sections)
        note = tr.plural(points, "%n point", "%n points")
        self.opener = DisclosureHead(tr("Full handover"), note, "muted")
        self.body.addWidget(self.opener)
        self.opener.toggled.connect(self._unfold)
        if unfolded.get(card.seq, False):
            self.opener.setChecked(True)

    def _heading(self, now_ms: int) -> QWidget:
        card = self._card
        title = TextLine(card_title(card), 14, 600, self._text_role)
        compare = PushButton(tr("Compare…"), "link", name="compare")
        compare.setAccessibleName(tr("Compare {title} with another handover", title=card_title(card)))
        compare.clicked.connect(lambda: perform(self, CompareHandover(card.seq)))
        edit = PushButton(tr("Edit…"), "link", name="edit")
        edit.setAccessibleName(tr("Edit {title}", title=card_title(card)))
        edit.clicked.connect(lambda: perform(self, EditHandover(card.seq)))
        for button in (compare, edit):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if card.origin:
            edit.hide()
        end: list[QWidget] = [TimeLabel(card.at_ms, now_ms), compare, edit]
        if not (card.is_checkpoint or card.origin):
            end.insert(0, TextLine(_size_text(card), 12, role="muted"))
        if not card.is_checkpoint:
            inside = card.replaced_by or card.inside
            end.append(undo_button(card.seq, card.is_undone, inside, card.carries))
        more = IconButton("ellipsis", tr("More actions"), px=15, edge=28)
        more.setObjectName("more")
        more.clicked.connect(lambda: popup_below(self._menu(), more))
        words: list[QWidget] = [title, *self._state_pills()]
        if card.origin:
            name = ellipsize_title(session_title(card.origin_title), _MAX_FOCUS_CHARS)
            words.append(session_pill(tr("From “{title}”", title=name), card.origin))
        return ResponsiveRow(FlowBox(words), end, corner=more)

    def _state_pills(self) -> list[Pill]:
        """Return whether the context has it, or why not."""
        card = self._card
        if card.is_undone:
            return [undone_pill()]
        if replacement := card.replaced_by or card.inside:
            return [replaced_pill(replacement)]
        if card.is_checkpoint:
            prepared = Pill(tr("Not sent"))
            prepared.setToolTip(explain_checkpoint())
            return [prepared]
        return [Pill(translate(STATE_WORDS["in_window"].label), "accent")]

    def _pills(self) -> list[QWidget]:
        card = self._card
        if card.origin:
            return self._origin_pills()
        messages = Pill(_messages_text(card), icon_name="message-square")
        messages.setToolTip(
            explain_checkpoint() if card.is_checkpoint else translate(STATE_WORDS["handed_over"].tooltip)
        )
        is_active = not (card.is_undone or card.is_checkpoint)
        pills: list[QWidget] = [
            Pill(_size_text(card), "accent" if is_active else "neutral", "gauge"),
            messages,
            model_pill(card),
        ]
        pills += self._source_pills()
        pills += cost_pills(card)
        if not card.is_revision:
            pills.append(Pill(format_exact_duration(card.duration_ms), icon_name="clock"))
        if card.is_edited:
            pills.append(Pill(tr("Edited by you"), icon_name="pencil"))
        if card.focus:
            focus = ellipsize(card.focus, _MAX_FOCUS_CHARS)
            pills.append(Pill(tr("Focus: {focus}", focus=focus), icon_name="search"))
        if card.index:
            pills.append(index_pill(card.index, card.index_entries))
        return pills

    def _source_pills(self) -> list[QWidget]:
        card, pills = self._card, list[QWidget]()
        if card.read:
            read = format_token_count(card.read)
            pills.append(Pill(tr("Read {tokens}", tokens=read), icon_name="eye"))
        if not card.is_checkpoint:
            pills.append(Pill(trigger_text(card.trigger, card.threshold), icon_name="zap"))
        if card.checkpoint:
            updated = Pill(tr("Updates {title}", title=card.checkpoint), icon_name="bookmark")
            updated.setToolTip(tr("Written from that one and what came after it"))
            pills.append(updated)
        return pills

    def _origin_pills(self) -> list[QWidget]:
        """Return what is known of a handover that another session left to this one."""
        card = self._card
        pills: list[QWidget] = [
            Pill(format_token_count(card.after), "accent", "gauge"),
            Pill(_messages_text(card), icon_name="message-square"),
            model_pill(card),
        ]
        if card.index:
            pills.append(index_pill(card.index, card.index_entries))
        return pills

    def _unfold(self, is_open: bool) -> None:
        if self._details is None:
            self._details = self._build_details()
            self.body.addWidget(self._details)
            retint(self._details, self._theme)
        self._details.setVisible(is_open)
        self._unfolded[self._card.seq] = is_open

    def _build_details(self) -> QWidget:
        everything, rest = QWidget(), QVBoxLayout()
        everything.setLayout(rest)
        set_margins(rest, 0, 0, 4, 0)
        rest.setSpacing(2)
        rest.addWidget(line())
        rest.addSpacing(4)
        above = gist_sections(self._card.sections)
        self.parts = [
            section_disclosure(section, self._text_role, is_flagged=not self._card.origin)
            for section in ordered_sections(self._card.sections)
            if section not in above
        ]
        for part in self.parts:
            part.head.setChecked(part.head.isEnabled())
        if self._card.quotes:
            self.parts.append(_quotes_disclosure(self._card.quotes, self._text_role))
        if self._card.ledger:
            self.parts.append(ledger_disclosure(self._card.ledger, self._text_role))
        if self._card.refused:
            self.parts.append(refused_disclosure(self._card.refused))
        for part in self.parts:
            rest.addWidget(part)
        rest.addSpacing(4)
        rest.addWidget(FlowBox(self._pills()))
        if self._card.coverage or self._card.missing.lines:
            rest.addWidget(SummaryCoverageView(self._card.coverage, self._card.missing, is_folded=True))
        return everything

    def _menu(self) -> QMenu:
        menu, seq = QMenu(self), self._card.seq
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        is_live = not (self._card.is_undone or self._card.inside or self._card.replaced_by)
        is_own, is_placed = not self._card.origin, not self._card.is_checkpoint
        for words, callback, is_enabled in (
            (tr("Show in chat"), lambda: perform(self, ShowEvent(seq)), is_placed),
            (tr("Compare…"), lambda: perform(self, CompareHandover(seq)), True),
            (tr("Edit…"), lambda: perform(self, EditHandover(seq)), is_own),
            (
                tr("Run again…"),
                lambda: perform(self, RunHandoverAgain(seq)),
                is_own and is_live and is_placed,
            ),
            (tr("Start new session"), lambda: perform(self, ContinueSession(seq)), True),
            (tr("Share document…"), lambda: perform(self, ExportHandover(seq)), True),
        ):
            action = QAction(words, menu)
            action.setEnabled(is_enabled)
            action.triggered.connect(callback)
            menu.addAction(action)
        return menu


def _quotes_disclosure(quotes: Sequence[str], role: TextRole) -> Disclosure:
    """Return what the user said in another session, word for word."""
    head = DisclosureHead(
        tr("Your messages there, word for word"), tr.plural(len(quotes), "%n message", "%n messages"), role
    )

    def build() -> QWidget:
        words = SelectableText("\n\n".join(quotes), 13, "muted")
        set_margins(words, 20, 0, 0, 4)
        return words

    return Disclosure(head, build)


def _size_text(card: HandoverCard) -> str:
    """Return what became of the context; an edit changes so little that only the difference shows it."""
    if card.is_checkpoint:
        return tr("Not sent · {tokens}", tokens=format_token_count(card.after))
    text = revision_size_text if card.is_revision else context_change_text
    return text(card.before, card.after)


def _messages_text(card: HandoverCard) -> str:
    if card.is_checkpoint:
        return tr("{messages} covered", messages=card.messages)
    return tr("{messages} compacted", messages=card.messages)
