"""A handover's card, and the one of the handover as it would be now: what it says, what to do with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QMenu, QWidget

from helix_desktop.domain.events.summary import Section
from helix_desktop.domain.text_format import ellipsize, ellipsize_title
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import clear_layout, column, line, pane
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
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.intents import (
    CompareHandover,
    ContinueSession,
    CopyText,
    EditHandover,
    ExportHandover,
    RunHandoverAgain,
    ShowEvent,
    WriteHandover,
    perform,
)
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import (
    PREVIEW,
    Continuation,
    HandoverCard,
    PreviewCard,
    Unfolded,
    card_title,
)
from helix_desktop.ui.timeline.cards import (
    TimeLabel,
    cost_pills,
    index_pills,
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
    gist_bullets,
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
        views = [BulletView(bullet, role, is_flagged=is_flagged) for bullet in section.bullets]
        return pane(column(*views, margins=(20, 0, 0, 6), gap=3))

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
        for section in gist_sections(card.event.sections):
            lines = column(gap=3)
            lines.addWidget(TextLine(section.title, 12, 600, "faint" if card.is_undone else "muted"))
            for bullet in section.bullets:
                lines.addWidget(BulletView(bullet, role, is_flagged=not card.event.origin))
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
        points = sum(len(section.bullets) for section in card.event.sections)
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
        if card.event.origin:
            edit.hide()
        end: list[QWidget] = [TimeLabel(card.at_ms, now_ms), compare, edit]
        if not (card.is_checkpoint or card.event.origin):
            end.insert(0, TextLine(_size_text(card), 12, role="muted"))
        if not card.is_checkpoint:
            inside = card.replaced_by or card.inside
            end.append(undo_button(card.seq, card.is_undone, inside, card.carries))
        more = IconButton("ellipsis", tr("More actions"), px=15, edge=28)
        more.setObjectName("more")
        more.clicked.connect(lambda: popup_below(self._menu(), more))
        words: list[QWidget] = [title, *self._state_pills()]
        if card.event.origin:
            name = ellipsize_title(session_title(card.event.origin_title), _MAX_FOCUS_CHARS)
            words.append(session_pill(tr("From “{title}”", title=name), card.event.origin))
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
        if card.event.origin:
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
        if not card.event.revises:
            pills.append(Pill(format_exact_duration(card.event.duration_ms), icon_name="clock"))
        if card.event.edited:
            pills.append(Pill(tr("Edited by you"), icon_name="pencil"))
        if card.event.focus:
            focus = ellipsize(card.event.focus, _MAX_FOCUS_CHARS)
            pills.append(Pill(tr("Focus: {focus}", focus=focus), icon_name="search"))
        return [*pills, *index_pills(card)]

    def _source_pills(self) -> list[QWidget]:
        card, pills = self._card, list[QWidget]()
        if card.read:
            read = format_token_count(card.read)
            pills.append(Pill(tr("Read {tokens}", tokens=read), icon_name="eye"))
        if not card.is_checkpoint:
            pills.append(Pill(trigger_text(card.event.trigger, card.event.threshold), icon_name="zap"))
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
        return [*pills, *index_pills(card)]

    def _unfold(self, is_open: bool) -> None:
        if self._details is None:
            self._details = self._build_details()
            self.body.addWidget(self._details)
            retint(self._details, self._theme)
        self._details.setVisible(is_open)
        self._unfolded[self._card.seq] = is_open

    def _build_details(self) -> QWidget:
        above = gist_sections(self._card.event.sections)
        self.parts = [
            section_disclosure(section, self._text_role, is_flagged=not self._card.event.origin)
            for section in ordered_sections(self._card.event.sections)
            if section not in above
        ]
        for part in self.parts:
            part.head.setChecked(part.head.isEnabled())
        if self._card.event.quotes:
            self.parts.append(
                _quotes_disclosure([quote.text for quote in self._card.event.quotes], self._text_role)
            )
        if self._card.event.ledger:
            self.parts.append(ledger_disclosure(self._card.event.ledger, self._text_role))
        if self._card.event.refused:
            self.parts.append(refused_disclosure(self._card.event.refused))
        missing = self._card.missing
        below = [SummaryCoverageView(missing, is_folded=True)] if missing.lines else []
        pills = FlowBox(self._pills())
        return pane(column(line(), 4, *self.parts, 4, pills, *below, margins=(0, 0, 4, 0), gap=2))

    def _menu(self) -> QMenu:
        menu, seq = EntryMenu(self), self._card.seq
        is_live = not (self._card.is_undone or self._card.inside or self._card.replaced_by)
        is_own, is_placed = not self._card.event.origin, not self._card.is_checkpoint
        can_run_again = is_own and is_live and is_placed
        menu.add("show", tr("Show in chat"), ShowEvent(seq), is_enabled=is_placed)
        menu.add("compare", tr("Compare…"), CompareHandover(seq))
        menu.add("edit", tr("Edit…"), EditHandover(seq), is_enabled=is_own)
        menu.add("run-again", tr("Run again…"), RunHandoverAgain(seq), is_enabled=can_run_again)
        menu.add("continue", tr("Start new session"), ContinueSession(seq))
        menu.add("share", tr("Share document…"), ExportHandover(seq))
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
    text = revision_size_text if card.event.revises else context_change_text
    return text(card.before, card.after)


def _messages_text(card: HandoverCard) -> str:
    if card.is_checkpoint:
        return tr("{messages} covered", messages=card.messages)
    return tr("{messages} compacted", messages=card.messages)


_MAX_TITLE_CHARS = 40  # characters of another session's title


class PreviewView(Card):
    """Shows a PreviewCard: the gist at once, all of it on demand; the same card is not built twice."""

    def __init__(self) -> None:
        super().__init__((16, 11, 12, 12), 7)
        self._card: PreviewCard | None = None
        self._parts: list[Disclosure] = []
        self._title = SelectableText(tr("Handover as it would be now"), 14, weight=600)
        self._status = SelectableText("", 13, "muted")
        self._gist, self._details = QWidget(), QWidget()
        self._gist_column, self._details_column = column(gap=3), column(gap=2)
        self._gist.setLayout(self._gist_column)
        self._details.setLayout(self._details_column)
        self._details.hide()
        self._coverage = SummaryCoverageView(is_folded=True)
        self._messages = Pill("", icon_name="message-square")
        self._continuations: tuple[Continuation, ...] = ()
        self._links = QWidget()
        self._links.setLayout(column(gap=4))
        self._links.hide()
        self._without_model = Pill(tr("Without a model"), icon_name="list")
        self._without_model.setToolTip(tr("Made from the log. Nothing is saved or sent."))
        self.write_button = _button(tr("Write with a model…"), "pencil", "present-write")
        self.write_button.setToolTip(tr("Write a draft, read and edit it, then compact or start a session"))
        self.session_button = _button(tr("Start new session"), "plus", "present-session")
        self.session_button.setToolTip(tr("Start a session whose context begins with this handover"))
        self.compare_button = _button(tr("Compare…"), "git-compare", "present-compare")
        self.compare_button.setToolTip(tr("What the active handover says otherwise"))
        self.compare_button.hide()
        self.copy_button = _button(tr("Copy"), "copy", "present-copy")
        self.copy_button.setToolTip(tr("Copy the whole handover as Markdown"))
        self.opener = DisclosureHead(tr("Full handover"), "", "muted")
        self._lay_out()
        self.write_button.clicked.connect(lambda: perform(self, WriteHandover()))
        self.session_button.clicked.connect(lambda: perform(self, ContinueSession(0)))
        self.compare_button.clicked.connect(lambda: perform(self, CompareHandover(PREVIEW)))
        self.copy_button.clicked.connect(self._copy)
        self.opener.toggled.connect(lambda _: self._show_details())

    def _lay_out(self) -> None:
        buttons = [self.write_button, self.session_button, self.compare_button, self.copy_button]
        for widget in (self._title, self._status, line(), self._gist, self._coverage):
            self.body.addWidget(widget)
        self.body.addWidget(FlowBox([self._messages, self._without_model]))
        self.body.addWidget(FlowBox(buttons))
        self.body.addWidget(self._links)
        self.body.addWidget(self.opener)
        self.body.addWidget(self._details)

    def set_card(self, card: PreviewCard, status: str) -> None:
        """Show another handover, and how full the context is; what is open stays open."""
        self._status.setText(status)
        self.setAccessibleName(f"{self._title.text()} · {status}")
        if card == self._card:
            return
        self._card = card
        self._messages.set_text(card.messages)
        self._coverage.show_missing(card.missing)
        bullets = [BulletView(bullet, "text") for bullet in gist_bullets(card.sections)]
        self._fill(self._gist, bullets)
        self._gist.setVisible(bool(bullets) and not self.opener.isChecked())
        self._show_details()

    def set_continuations(self, continuations: tuple[Continuation, ...]) -> None:
        if continuations == self._continuations:
            return
        self._continuations = continuations
        pills = [
            session_pill(
                tr("Continued in “{title}”", title=ellipsize_title(other.title, _MAX_TITLE_CHARS)),
                other.session_id,
            )
            for other in continuations
        ]
        self._fill(self._links, [FlowBox(pills)] if pills else [])
        self._links.setVisible(bool(pills))

    def _copy(self) -> None:
        if self._card is not None:
            perform(self, CopyText(self._card.markdown))
            show_copied(self.copy_button)

    def _show_details(self) -> None:
        is_open, card = self.opener.isChecked(), self._card
        self._details.setVisible(is_open)
        self._gist.setVisible(not is_open)
        if card is None:
            return
        unfolded = {part.head.text(): part.head.isChecked() for part in self._parts if part.head.isEnabled()}
        focused = next((part.head.text() for part in self._parts if part.head.hasFocus()), "")
        self._parts = []
        if is_open:
            self._parts = [section_disclosure(section, "text") for section in ordered_sections(card.sections)]
            if card.ledger:
                self._parts.append(ledger_disclosure(card.ledger, "text"))
        for part in self._parts:
            is_section = part.head.objectName() != "ledger"
            part.head.setChecked(part.head.isEnabled() and unfolded.get(part.head.text(), is_section))
        self._fill(self._details, self._parts)
        for part in self._parts:
            if part.head.text() == focused:
                part.head.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill(self, box: QWidget, parts: Sequence[QWidget]) -> None:
        layout = box.layout()
        assert layout is not None  # set when it was made
        clear_layout(layout)
        for part in parts:
            layout.addWidget(part)
            retint(part, self._theme)
            part.show()  # at once, so that it can take the keyboard


def _button(text: str, icon: str, name: str) -> PushButton:
    button = PushButton(text, "", icon, px=14, name=name)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(text)
    return button
