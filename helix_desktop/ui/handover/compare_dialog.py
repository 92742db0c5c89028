"""Compares two handovers of a session: what differs, what was dropped first, and the way back to the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover_revision import (
    ITEM_CHANGES,
    MISSING_CHANGES,
    ComparedItem,
    ComparedSection,
    ItemChange,
    compare_handovers,
    listed_below,
    preview_handover,
)
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.focus import FocusableScrollArea
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, clear_layout, column
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill, Tone
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.ui.timeline.card_data import PREVIEW
from helix_desktop.words.errors import error_text
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

NOTHING = 0
"""Stands for no handover where others stand as their events."""


class HandoverChoice(msgspec.Struct, frozen=True):
    """A handover to compare: its event, PREVIEW or NOTHING, and its name."""

    seq: int
    text: str


class ComparedPair(msgspec.Struct, frozen=True):
    """What differs between two handovers; `reason` says why dropped items cannot be put back, or nothing."""

    sections: tuple[ComparedSection, ...]
    summary: str
    reason: str = ""
    can_put_back: bool = False


def change_count(change: ItemChange, count: int) -> str:
    counts: dict[ItemChange, Callable[[], str]] = {
        "dropped": lambda: tr.plural(count, "%n dropped", "%n dropped"),
        "below": lambda: tr.plural(count, "%n listed below", "%n listed below"),
        "changed": lambda: tr.plural(count, "%n changed", "%n changed"),
        "moved": lambda: tr.plural(count, "%n moved", "%n moved"),
        "added": lambda: tr.plural(count, "%n added", "%n added"),
        "same": lambda: tr.plural(count, "%n unchanged", "%n unchanged"),
    }
    return counts[change]()


def compared_counts(sections: Sequence[ComparedSection]) -> str:
    """Return how many items changed in each way; empty if none did."""
    counts = {change: sum(part.count(change) for part in sections) for change in ITEM_CHANGES}
    if sum(counts.values()) == counts["same"]:
        return ""
    return " · ".join(change_count(change, count) for change, count in counts.items() if count)


def handover_choices(transcript: Transcript) -> list[HandoverChoice]:
    """Return what can be compared: the handover as it would be now, all others from the newest, nothing."""
    titles = handover_titles(transcript.written_handovers, transcript.checkpoints)
    choices = [HandoverChoice(seq, _choice_text(transcript, seq, title)) for seq, title in titles.items()]
    preview = HandoverChoice(PREVIEW, tr("As it would be now"))
    return [preview, *reversed(choices), HandoverChoice(NOTHING, tr("Nothing"))]


def handover_before(transcript: Transcript, seq: int) -> int:
    """Return the handover that was made before one, or NOTHING; before the preview, the active one."""
    if seq == PREVIEW:
        return transcript.window.handover[0] if transcript.window.handover else NOTHING
    return max((other for other in transcript.written_handovers if other < seq), default=NOTHING)


def compared_pair(
    transcript: Transcript, before: int, after: int, preview: Sequence[Section]
) -> ComparedPair:
    """Return what differs between two handovers; `preview` are the sections as they would be now."""
    handovers = transcript.written_handovers

    def sections(seq: int) -> Sequence[Section]:
        return preview if seq == PREVIEW else handovers[seq].sections if seq in handovers else ()

    below = listed_below(handovers[after]) if after in handovers else ()
    compared = compare_handovers(sections(before), sections(after), below)
    if before == NOTHING and after != NOTHING:
        summary = tr("Nothing is before it: every item is new.")
    else:
        summary = compared_counts(compared) or tr("No differences")
    refusal = _refusal(transcript, after)
    is_any_missing = any(section.count(change) for section in compared for change in MISSING_CHANGES)
    return ComparedPair(compared, summary, refusal if is_any_missing else "", not refusal)


def _refusal(transcript: Transcript, after: int) -> str:
    """Return why nothing can be put back into a handover; empty if it can."""
    active = transcript.window.handover
    if after == PREVIEW:
        return tr("Nothing can be put back here: the handover as it would be now isn't saved.")
    if active is None:
        return tr("Nothing can be put back: no handover is active.")
    if after != active[0]:
        return tr("Items can be put back into the active handover only. Choose it under After.")
    if active[1].origin:
        return tr("Nothing can be put back here: this handover is of another session.")
    return ""


def _choice_text(transcript: Transcript, seq: int, title: str) -> str:
    active = transcript.window.handover
    if active is not None and seq == active[0]:
        return tr("{title} (active, e{event})", title=title, event=str(seq))
    if transcript.can_redo(seq):
        return tr("{title} (undone, e{event})", title=title, event=str(seq))
    return tr("{title} (e{event})", title=title, event=str(seq))


_TONES: dict[ItemChange, Tone] = {
    "dropped": "warn",
    "below": "neutral",
    "changed": "accent",
    "moved": "neutral",
    "added": "ok",
    "same": "neutral",
}


class ComparedView(Themed, FocusableScrollArea):
    """Shows ComparedSections; it keeps its place when others come."""

    put_back_requested = Signal(str, object)  # the title of a section, and a Bullet

    def __init__(self) -> None:
        super().__init__()
        self._sections, page = column(gap=4), QWidget()
        page.setObjectName("page")
        page.setLayout(self._sections)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Differences"))

    def show_sections(self, sections: Sequence[ComparedSection], *, can_put_back: bool) -> None:
        """Show what differs, at the same place; sections without any difference are closed."""
        bar = self.verticalScrollBar()
        place = bar.value()
        clear_layout(self._sections)
        for section in sections:
            self._sections.addWidget(self._section(section, can_put_back))
        self._sections.addStretch(1)
        retint(self, self._theme)
        QTimer.singleShot(0, self, lambda: bar.setValue(place))  # the new sections have their heights then

    def _section(self, section: ComparedSection, can_put_back: bool) -> Disclosure:
        different = [item for item in section.items if item.change != "same"]

        def build() -> QWidget:
            body, rows = _body()
            for kind, items in groupby(different, _kind):
                for at, item in enumerate(items):
                    rows.addWidget(self._item(section.title, item, kind, can_put_back, has_pill=not at))
            same = [item for item in section.items if item.change == "same"]
            if same and different:
                rows.addWidget(self._same(same))
            else:
                for item in same:
                    rows.addWidget(self._bullet(item.after))
            return body

        counts = [
            change_count(change, section.count(change)) for change in ITEM_CHANGES if section.count(change)
        ]
        part = Disclosure(DisclosureHead(section.title, " · ".join(counts) or tr("empty"), "text"), build)
        part.head.setEnabled(bool(section.items))
        part.head.setChecked(bool(different))
        return part

    def _same(self, items: Sequence[ComparedItem]) -> Disclosure:
        """Return the items without a difference, closed."""

        def build() -> QWidget:
            body, rows = _body()
            for item in items:
                rows.addWidget(self._bullet(item.after))
            return body

        return Disclosure(DisclosureHead(change_count("same", len(items)), "", "muted"), build)

    def _item(
        self, title: str, item: ComparedItem, kind: str, can_put_back: bool, *, has_pill: bool
    ) -> QWidget:
        """Return an item; the first one of its kind names the kind."""
        words, rows = QWidget(), QVBoxLayout()
        words.setLayout(rows)
        rows.setContentsMargins(0, 2, 0, 4)
        rows.setSpacing(4)
        text = (item.before or item.after or Bullet("")).text
        if has_pill:
            rows.addWidget(FlowBox([Pill(kind, _TONES[item.change])]))
        if item.change == "changed":
            rows.addWidget(self._bullet(item.before, item.before_spans, is_struck_out=True))
        is_missing = item.change in MISSING_CHANGES
        bullet = self._bullet(item.before if is_missing else item.after, item.after_spans)
        if is_missing and can_put_back:
            button = self._put_back_button(title, item.before)
            rows.addWidget(ResponsiveRow(bullet, [button], at_top=True))
        else:
            rows.addWidget(bullet)
        words.setAccessibleName(tr("{change}: {text}", change=kind, text=text))
        return words

    def _put_back_button(self, title: str, bullet: Bullet | None) -> PushButton:
        assert bullet is not None  # it was in a section before
        button = PushButton(tr("Put back"), "link", "undo-2", px=14, name="put_back")
        button.setAccessibleName(tr("Put back: {text}", text=bullet.text))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.put_back_requested.emit(title, bullet))
        return button

    def _bullet(
        self, bullet: Bullet | None, marks: Sequence[tuple[int, int]] = (), *, is_struck_out: bool = False
    ) -> BulletView:
        assert bullet is not None
        return BulletView(
            bullet,
            "faint" if is_struck_out else "text",
            is_flagged=False,
            marks=marks,
            is_struck_out=is_struck_out,
        )


def _kind(item: ComparedItem) -> str:
    return tr("Moved from {section}", section=item.moved_from) if item.moved_from else _name(item.change)


def _name(change: ItemChange) -> str:
    return {
        "dropped": tr("Dropped"),
        "below": tr("Listed below the sections"),
        "changed": tr("Changed"),
        "moved": tr("Moved"),
        "added": tr("Added"),
        "same": tr("Unchanged"),
    }[change]


def _body() -> tuple[QWidget, QVBoxLayout]:
    body, rows = QWidget(), QVBoxLayout()
    body.setLayout(rows)
    set_margins(rows, 20, 0, 4, 6)
    rows.setSpacing(3)
    return body, rows


_SIZE, _MIN_SIZE = (780, 720), (460, 380)
_CHOICE_CHARS = 16  # of a handover's name that are shown at least; the whole is its tooltip


class CompareDialog(Themed, SizedDialog):
    """While it runs, the comparison of one conversation's handovers."""

    _conversation: Conversation
    _start: StartCoroutine

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self._pair = (0, 0)
        self._preview: tuple[Section, ...] | None = None  # None: not read since the log went on
        self._is_open = False
        self._revisions: list[int] = []  # made by what was put back here, and not undone here; newest last
        self.setModal(True)
        self.setWindowTitle(tr("Compare handovers"))
        self.before_box, self.after_box = _choice_box("compare-before"), _choice_box("compare-after")
        self.counts = label("", "muted", wrap=True)
        self.counts.setObjectName("compare-counts")
        self.reason = label("", "note", wrap=True)
        self.reason.setObjectName("compare-reason")
        self.notice = label("", "note", wrap=True)
        self.notice.setObjectName("compare-notice")
        self.undo_button = PushButton(tr("Undo"), "link", "undo-2", px=14, name="undo")
        self.close_button = PushButton(tr("Close"), name="close")
        self.compared = ComparedView()
        self._notice_row = ResponsiveRow(self.notice, [self.undo_button])
        self._lay_out()
        self.before_box.activated.connect(lambda _: self._request())
        self.after_box.activated.connect(lambda _: self._request())
        self.undo_button.clicked.connect(lambda: self._start(self._undo(), "undo-put-back"))
        self.close_button.clicked.connect(self.accept)
        self.compared.put_back_requested.connect(
            lambda title, bullet: self._start(self._put_back(title, bullet), "put-back")
        )
        self.show_notice("")

    def perform(self, intent: Intent) -> None:
        """Close, as what a chip shows is behind it."""
        self.accept()
        perform(self.parentWidget(), intent)

    def show_choices(self, choices: Sequence[HandoverChoice], before: int, after: int) -> None:
        for box, seq in ((self.before_box, before), (self.after_box, after)):
            box.clear()
            for choice in choices:
                box.addItem(choice.text, choice.seq)
            box.setCurrentIndex(max(0, box.findData(seq)))
            box.setToolTip(box.currentText())

    def show_pair(self, pair: ComparedPair) -> None:
        """Show what differs, at the same place; sections without any difference are closed."""
        self.counts.setText(pair.summary)
        show_text(self.reason, pair.reason)
        self.compared.show_sections(pair.sections, can_put_back=pair.can_put_back)
        height = (_SIZE if compared_counts(pair.sections) else _MIN_SIZE)[1]
        if not self.isVisible() or self.height() < height:  # it does not shrink under the pointer
            self.fit_height(height)

    def show_notice(self, text: str, *, has_undo: bool = False) -> None:
        restyle(self.notice, "role", "note")
        self.notice.setText(text)
        self._notice_row.setVisible(bool(text))
        self.undo_button.setVisible(has_undo)
        if text:
            announce(self, text)
        if has_undo:
            self.undo_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_error(self, error: HelixError) -> None:
        self.show_notice(error_text(error))
        restyle(self.notice, "role", "error")

    def _request(self) -> None:
        self.show_notice("")
        self.compared.verticalScrollBar().setValue(0)
        self._pair = (self.before_box.currentData(), self.after_box.currentData())
        self._show_pair()

    def _lay_out(self) -> None:
        pickers = QHBoxLayout()
        pickers.setSpacing(16)
        for name, box in ((tr("Before"), self.before_box), (tr("After"), self.after_box)):
            box.setAccessibleName(name)
            pickers.addLayout(column(label(name, "muted"), box, gap=4), 1)
        buttons = FlowBox([self.close_button], right_from=0)
        title = label(tr("Compare handovers"), "title")
        layout = column(title, margins=DIALOG_MARGINS, gap=10)
        layout.addLayout(pickers)
        for widget in (self.counts, self.reason):
            layout.addWidget(widget)
        layout.addWidget(self.compared, 1)
        layout.addWidget(self._notice_row)
        layout.addWidget(buttons)
        self.setLayout(layout)

    async def run(self, conversation: Conversation, start: StartCoroutine, seq: int) -> None:
        """Compare handover `seq` with the one before it, until the dialog is closed."""
        self._conversation, self._start, self._is_open = conversation, start, True
        self._pair = (handover_before(self._conversation.session.transcript, seq), seq)
        self._show_pair()
        unsubscribe = self._conversation.session.on(
            HandoverMade | HandoverDiscarded | Undone | Redone, lambda _: self._show_after_change()
        )
        try:
            await exec_async(self)
        finally:
            self._is_open = False
            unsubscribe()

    def _show_pair(self) -> None:
        transcript = self._conversation.session.transcript
        self.show_choices(handover_choices(transcript), *self._pair)
        if PREVIEW in self._pair and self._preview is None:
            self._start(self._read_preview(), "preview handover")
        else:
            self.show_pair(compared_pair(transcript, *self._pair, self._preview or ()))

    async def _read_preview(self) -> None:
        """Write the handover as it would be now, in a thread: a long log takes longer than a frame."""
        fork, window = self._conversation.session.transcript.fork(), self._conversation.window
        size = window.frame.info.window
        preview = await asyncio.to_thread(preview_handover, fork, window.policy, size)
        self._preview = preview.sections
        if self._is_open:
            self._show_pair()

    def _show_after_change(self) -> None:
        self._preview = None
        self._show_pair()

    async def _put_back(self, title: str, bullet: Bullet) -> None:
        before, after = self._pair
        try:
            await self._conversation.handovers.revisions.put_back(after, title, bullet)
        except HelixError as error:
            self.show_error(error)
            return
        active = self._conversation.session.transcript.window.handover
        if active is not None and self._is_open:
            self._revisions.append(active[0])
            self._pair = (before, active[0])
            self._show_pair()
            self.show_notice(tr("Put back into {section}.", section=title), has_undo=True)

    async def _undo(self) -> None:
        if not self._revisions:
            return  # clicked twice
        before, revision = self._pair[0], self._revisions.pop()
        handover = self._conversation.session.transcript.rewrites.handovers[revision]
        try:
            await self._conversation.window.undo(revision)
        except HelixError as error:
            self.show_error(error)
            return
        if self._is_open:
            self._pair = (before, handover.revises)
            self._show_pair()
            left = len(self._revisions)
            self.show_notice(
                tr.plural(left, "Undone. %n item is still put back.", "Undone. %n items are still put back.")
                if left
                else tr("Undone. The handover is as it was."),
                has_undo=bool(left),
            )
            if not left:
                self.close_button.setFocus()


def _choice_box(name: str) -> ComboBox:
    box = ComboBox()
    box.setObjectName(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHOICE_CHARS)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box
