"""The handover as it would be now, on top of the timeline: what it says and misses, what to do with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.boxes import clear_layout, column, line
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead, ledger_disclosure
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.intents import CompareHandover, ContinueSession, CopyText, WriteHandover, perform
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import PREVIEW, Continuation, PreviewCard
from helix_desktop.ui.timeline.cards import session_pill
from helix_desktop.ui.timeline.handover_view import section_disclosure
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.rewrites import gist_bullets, ordered_sections
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

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
        self.setAccessibleName(" · ".join(filter(None, (self._title.text(), status, card.coverage))))
        if card == self._card:
            return
        self._card = card
        self._messages.set_text(card.messages)
        self._coverage.show_coverage(card.coverage, card.missing)
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
