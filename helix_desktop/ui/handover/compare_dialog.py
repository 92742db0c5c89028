"""Compares two handovers of a session: the dialog, what was dropped first, and the way back to the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.summaries.handover_revision import preview_handover
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.handover.compare_data import (
    ComparedPair,
    HandoverChoice,
    compared_counts,
    compared_pair,
    handover_before,
    handover_choices,
)
from helix_desktop.ui.handover.compared_view import ComparedView
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.timeline.card_data import PREVIEW
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

_SIZE, _MIN_SIZE = (780, 720), (460, 380)
_CHOICE_CHARS = 16  # of a handover's name that are shown at least; the whole is its tooltip


class CompareDialog(Themed, SizedDialog):
    pair_requested = Signal(int, int)  # the handover before and the one after, as HandoverChoice names them
    put_back_requested = Signal(str, object)  # the title of a section, and a Bullet
    undo_requested = Signal()  # of what was put back last

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
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
        self.undo_button.clicked.connect(self.undo_requested)
        self.close_button.clicked.connect(self.accept)
        self.compared.put_back_requested.connect(self.put_back_requested)
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
        self.pair_requested.emit(self.before_box.currentData(), self.after_box.currentData())

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


def _choice_box(name: str) -> ComboBox:
    box = ComboBox()
    box.setObjectName(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHOICE_CHARS)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box


class ComparePresenter:
    """One comparison of one conversation's handovers, while its dialog is open."""

    def __init__(
        self, conversation: Conversation, async_actions: AsyncActions, parent: QWidget, theme: Theme
    ) -> None:
        self._conversation, self._async_actions = conversation, async_actions
        self._pair = (0, 0)
        self._preview: tuple[Section, ...] | None = None  # None: not read since the log went on
        self._is_open = True
        self._revisions: list[int] = []  # made by what was put back here, and not undone here; newest last
        self.dialog = CompareDialog(parent)
        self.dialog.pair_requested.connect(self._choose)
        self.dialog.put_back_requested.connect(
            lambda title, bullet: async_actions.start(self._put_back(title, bullet), "put-back")
        )
        self.dialog.undo_requested.connect(lambda: async_actions.start(self._undo(), "undo-put-back"))
        retint(self.dialog, theme)

    async def run(self, seq: int) -> None:
        """Compare handover `seq` with the one before it, until the dialog is closed."""
        self._pair = (handover_before(self._conversation.session.transcript, seq), seq)
        self._show()
        unsubscribe = self._conversation.session.on(
            HandoverMade | HandoverDiscarded | Undone | Redone, lambda _: self._show_after_change()
        )
        try:
            await exec_async(self.dialog)
        finally:
            self._is_open = False
            unsubscribe()

    def _choose(self, before: int, after: int) -> None:
        self._pair = (before, after)
        self._show()

    def _show(self) -> None:
        transcript = self._conversation.session.transcript
        self.dialog.show_choices(handover_choices(transcript), *self._pair)
        if PREVIEW in self._pair and self._preview is None:
            self._async_actions.start(self._read_preview(), "preview handover")
        else:
            self.dialog.show_pair(compared_pair(transcript, *self._pair, self._preview or ()))

    async def _read_preview(self) -> None:
        """Write the handover as it would be now, in a thread: a long log takes longer than a frame."""
        fork, window = self._conversation.session.transcript.fork(), self._conversation.window
        size = window.frame.info.window
        preview = await asyncio.to_thread(preview_handover, fork, window.policy, size)
        self._preview = preview.sections
        if self._is_open:
            self._show()

    def _show_after_change(self) -> None:
        self._preview = None
        self._show()

    async def _put_back(self, title: str, bullet: Bullet) -> None:
        before, after = self._pair
        try:
            await self._conversation.handovers.revisions.put_back(after, title, bullet)
        except HelixError as error:
            self.dialog.show_error(error)
            return
        active = self._conversation.session.transcript.window.handover
        if active is not None and self._is_open:
            self._revisions.append(active[0])
            self._pair = (before, active[0])
            self._show()
            self.dialog.show_notice(tr("Put back into {section}.", section=title), has_undo=True)

    async def _undo(self) -> None:
        if not self._revisions:
            return  # clicked twice
        before, revision = self._pair[0], self._revisions.pop()
        handover = self._conversation.session.transcript.rewrites.handovers[revision]
        try:
            await self._conversation.window.undo(revision)
        except HelixError as error:
            self.dialog.show_error(error)
            return
        if self._is_open:
            self._pair = (before, handover.revises)
            self._show()
            left = len(self._revisions)
            self.dialog.show_notice(
                tr.plural(left, "Undone. %n item is still put back.", "Undone. %n items are still put back.")
                if left
                else tr("Undone. The handover is as it was."),
                has_undo=bool(left),
            )
            if not left:
                self.dialog.close_button.setFocus()
