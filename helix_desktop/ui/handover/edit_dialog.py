"""Edits a recorded handover: the dialog with its six fields and the original, and the way to the log."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.window.handover_writer import RevisionDraft
from helix_desktop.context.summaries.handover_revision import (
    ComparedSection,
    compare_handovers,
    editable_sections,
    from_fields,
    listed_below,
)
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.handover.compare_data import compared_counts
from helix_desktop.ui.handover.compared_view import ComparedView
from helix_desktop.ui.handover.edit_data import (
    EditedField,
    EditRefusal,
    RevisionCheck,
    edit_refusal,
    edited_fields,
    revision_check,
)
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.timeline.summary_coverage_view import SummaryCoverageView
from helix_desktop.words.errors import error_text
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.translation import Translator

tr = Translator("Edit handover")

_MIN_LINES, _MAX_LINES = 2, 16  # of a field; longer text scrolls inside
_FRAME_PX = 30  # of a field, above and below its lines


class _WrappingField(TextArea):
    """A field that says when it has another width: its document then has other lines, and says nothing."""

    wrapped = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.wrapped.emit()


class SectionEditor(QWidget):
    """A title, whether it differs from the original, and the sentences, one on each line."""

    changed = Signal()

    def __init__(self, field: EditedField) -> None:
        super().__init__()
        self._field = field
        self.editor = _WrappingField(field.text)
        self.editor.setObjectName(f"section:{field.title}")
        self.editor.setAccessibleName(field.title)
        self.editor.setPlaceholderText(tr("Nothing recorded"))
        self.editor.setTabChangesFocus(True)
        self.pill = Pill(tr("Edited"), "accent")
        self.reset_button = PushButton(tr("Reset"), "link", "undo-2", px=14, name=f"reset:{field.title}")
        self.reset_button.setToolTip(tr("Back to the text as it was first recorded"))
        self.reset_button.setAccessibleName(tr("Reset {section}", section=field.title))
        self.reset_button.clicked.connect(self._reset)
        head = row(label(field.title, "strong"), self.pill, None, self.reset_button)
        self.setLayout(column(head, self.editor, gap=4))
        self.editor.textChanged.connect(self._on_text)
        self.editor.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())
        self.editor.wrapped.connect(self._fit)
        self._on_text()
        self._fit()

    @property
    def title(self) -> str:
        return self._field.title

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    @property
    def is_changed(self) -> bool:
        """Return True if the text is not what is in the context."""
        return self.text.strip() != self._field.text.strip()

    def set_editable(self, editable: bool) -> None:
        self.editor.setReadOnly(not editable)
        self._on_text()

    def add_sentence(self, text: str) -> None:
        """Add a sentence at the end, as one step of the field's own undo."""
        cursor = self.editor.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(f"\n- {text}" if self.text.strip() else f"- {text}")

    def _reset(self) -> None:
        cursor = self.editor.textCursor()  # keeps the field's own undo, which setPlainText would clear
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(self._field.original)
        self.editor.setFocus()
        announce(self, tr("{section} is as it was first recorded.", section=self.title))

    def _on_text(self) -> None:
        differs = self.text.strip() != self._field.original.strip()
        self.pill.setVisible(differs)
        self.reset_button.setVisible(differs and not self.editor.isReadOnly())
        self.changed.emit()

    def _fit(self) -> None:
        needed = round(self.editor.document().size().height())
        lines = max(_MIN_LINES, min(_MAX_LINES, needed))
        scrolls = needed > _MAX_LINES
        policy = Qt.ScrollBarPolicy
        self.editor.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if scrolls else policy.ScrollBarAlwaysOff
        )
        self.editor.setFixedHeight(lines * self.editor.fontMetrics().lineSpacing() + _FRAME_PX)


_SIZE, _MIN_SIZE = (820, 760), (480, 420)
_PAUSE_MS = 250  # without a key before what was typed is checked


class EditDialog(Themed, SizedDialog):
    edited = Signal()  # the text changed, and no key was pressed for a while
    compare_requested = Signal()
    save_requested = Signal()
    action_requested = Signal(object)  # the EditRefusal whose button was clicked

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Edit handover"))
        self._title = Pill("", icon_name="layers")
        self._lead = label(
            tr(
                "Each line is a sentence; [e12] names the event it comes from. The original stays in the "
                "log, and undo restores the text from before your changes."
            ),
            "muted",
            wrap=True,
        )
        self.sections: list[SectionEditor] = []
        self._refusal: EditRefusal | None = None
        self._is_valid, self._warned = True, False
        self.reason = label("", "note", wrap=True)
        self.reason.setObjectName("edit-reason")
        self.action_button = PushButton("", "link", name="edit-action")
        self._reason_row = ResponsiveRow(self.reason, [self.action_button])
        self._fields, self._pages, self.compared = column(gap=12), QStackedWidget(), ComparedView()
        self.counts = label("", "muted", wrap=True)
        self.tokens = Pill("", "accent", "gauge")
        self.tokens.setToolTip(
            tr("What the handover takes in the context, with your own messages that it quotes")
        )
        self.coverage = SummaryCoverageView()
        self.coverage.setObjectName("edit-coverage")
        self._problem = label("", "error", wrap=True)
        self.compare_button = PushButton("", name="compare-original")
        self.cancel_button = PushButton(tr("Cancel"), name="cancel")
        self.save_button = PushButton(tr("Save changes"), "primary", name="save")
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._lay_out()
        self._connect()
        self.show_problem()

    @property
    def is_changed(self) -> bool:
        return any(section.is_changed for section in self.sections)

    @property
    def is_comparing(self) -> bool:
        return self._pages.currentIndex() == 1

    @property
    def problem(self) -> str:
        return "" if self._problem.isHidden() else self._problem.text()

    @property
    def fields(self) -> dict[str, str]:
        """Return the text of each section, by its title."""
        return {section.title: section.text for section in self.sections}

    def show_handover(self, title: str, fields: Sequence[EditedField]) -> None:
        self._title.set_text(title)
        clear_layout(self._fields)
        self.sections = [SectionEditor(field) for field in fields]
        for section in self.sections:
            section.changed.connect(self._on_changed)
            self._fields.addWidget(section)
        self._fields.addStretch(1)
        self._pages.setCurrentIndex(0)
        self.show_problem()
        self.show_refusal(None)
        retint(self, self._theme)
        self.sections[0].editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_refusal(self, refusal: EditRefusal | None) -> None:
        """Say why the handover cannot be edited, with what can be done; None: it can."""
        self._refusal = refusal
        self._reason_row.setVisible(refusal is not None)
        if refusal is not None:
            self.reason.setText(refusal.reason)
            self.action_button.setText(refusal.label)
            self.action_button.setVisible(bool(refusal.action))
            announce(self, refusal.reason)
        for section in self.sections:
            section.set_editable(refusal is None)
        self._update_buttons()

    def show_check(self, check: RevisionCheck) -> None:
        self.tokens.set_text(check.tokens)
        self.tokens.setVisible(bool(check.tokens))
        self.coverage.show_missing(check.missing)

    def show_comparison(self, compared: Sequence[ComparedSection]) -> None:
        self.counts.setText(compared_counts(compared) or tr("The same as the original."))
        self.compared.show_sections(compared, can_put_back=self._refusal is None)
        self._pages.setCurrentIndex(1)
        self._update_buttons()

    def show_fields(self) -> None:
        self._pages.setCurrentIndex(0)
        self._update_buttons()

    def put_back(self, title: str, bullet: Bullet) -> None:
        """Add a sentence of the original to its section."""
        sources = ", ".join(f"e{seq}" for seq in bullet.sources)
        section = next((part for part in self.sections if part.title == title), self.sections[0])
        section.add_sentence(f"{bullet.text} [{sources}]" if sources else bullet.text)
        announce(self, tr("Put back into {section}.", section=section.title))

    def show_error(self, error: HelixError) -> None:
        self.show_problem(error_text(error))

    def show_invalid(self, error: HelixError | None) -> None:
        """Show that the sections cannot be saved as they are; None: they can."""
        self._is_valid = error is None
        self.show_problem("" if error is None else error_text(error))
        self._update_buttons()

    def show_problem(self, message: str = "") -> None:
        self._warned = False
        restyle(self._problem, "role", "error")
        show_text(self._problem, message)

    def confirm_discard(self) -> bool:
        """Return True if no change would be lost, or the user asked for it a second time."""
        if not self.is_changed or self._warned:
            return True
        self.show_problem(tr("Your changes aren't saved. Cancel again to discard them."))
        self._warned = True
        return False

    def reject(self) -> None:
        """Go back from the comparison first; drop changes only when asked for a second time."""
        if self.is_comparing:
            self.show_fields()
        elif self.confirm_discard():
            super().reject()

    def _lay_out(self) -> None:
        page = QWidget()
        page.setObjectName("page")
        set_margins(self._fields, 0, 0, 12, 0)
        page.setLayout(self._fields)
        scroll = VerticalScrollArea(page)  # no stop of its own: its fields are
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setAccessibleName(tr("Sections"))
        compared = QWidget()
        compared.setLayout(column(self.counts, self.compared, gap=8))
        for part in (scroll, compared):
            self._pages.addWidget(part)
        buttons = FlowBox([self.compare_button, self.cancel_button, self.save_button], right_from=1)
        head = FlowBox([label(tr("Edit handover"), "title"), self._title])
        words = column(head, self._lead, gap=5)
        check = column(FlowBox([self.tokens]), self.coverage, gap=6)
        layout = column(words, self._reason_row, margins=DIALOG_MARGINS, gap=12)
        layout.addWidget(self._pages, 1)
        layout.addLayout(check)
        for below in (self._problem, buttons):
            layout.addWidget(below)
        self.setLayout(layout)

    def _connect(self) -> None:
        self._pause.timeout.connect(self.edited)
        self.compare_button.clicked.connect(self._toggle_comparison)
        self.cancel_button.clicked.connect(self.reject)
        self.save_button.clicked.connect(self.save_requested)
        self.action_button.clicked.connect(lambda: self.action_requested.emit(self._refusal))
        self.compared.put_back_requested.connect(self.put_back)

    def perform(self, intent: Intent) -> None:
        """Close, as what a chip shows is behind it; unless the user wants to keep what was changed."""
        if self.confirm_discard():
            self.accept()
            perform(self.parentWidget(), intent)

    def _toggle_comparison(self) -> None:
        if self.is_comparing:
            self.show_fields()
        else:
            self.compare_requested.emit()

    def _on_changed(self) -> None:
        if self._warned:
            self.show_problem()
        self._update_buttons()
        self._pause.start()

    def _update_buttons(self) -> None:
        comparing = self.is_comparing
        self.compare_button.setText(tr("Back to fields") if comparing else tr("Compare with original"))
        self.save_button.setEnabled(self._refusal is None and self._is_valid and self.is_changed)
        self.cancel_button.setText(tr("Close") if self._refusal is not None else tr("Cancel"))


class EditPresenter:
    """One handover of one conversation, while the dialog that edits it is open."""

    def __init__(
        self, conversation: Conversation, async_actions: AsyncActions, parent: QWidget, theme: Theme
    ) -> None:
        self._conversation, self._async_actions = conversation, async_actions
        self._draft: RevisionDraft | None = None
        self._is_open, self._checks = True, 0
        self._below: tuple[Bullet, ...] = ()
        self.dialog = EditDialog(parent)
        self.dialog.edited.connect(lambda: async_actions.start(self._check(), "check-edited-handover"))
        self.dialog.compare_requested.connect(self._compare)
        self.dialog.compared.put_back_requested.connect(lambda _title, _bullet: self._compare())
        self.dialog.save_requested.connect(lambda: async_actions.start(self._save(), "save-handover"))
        self.dialog.action_requested.connect(
            lambda refusal: async_actions.start(self._act_on(refusal), "edit-handover")
        )
        retint(self.dialog, theme)

    async def run(self, seq: int) -> None:
        """Edit handover `seq`, until the dialog is closed."""
        await self._show(seq)
        unsubscribe = self._conversation.session.on(
            HandoverMade | HandoverDiscarded | Undone | Redone, lambda _: self._show_after_change()
        )
        try:
            await exec_async(self.dialog)
        finally:
            self._is_open = False
            unsubscribe()

    async def _show(self, seq: int) -> None:
        draft = await self._conversation.handovers.revisions.draft(seq)
        if not self._is_open:
            return
        self._draft, transcript = draft, self._conversation.session.transcript
        titles = handover_titles(transcript.written_handovers, transcript.checkpoints)
        self.dialog.show_handover(titles[seq], edited_fields(draft))
        self._show_check(draft, draft.handover)
        self.dialog.show_refusal(edit_refusal(transcript, seq))

    def _show_after_change(self) -> None:
        if self._draft is not None:
            transcript = self._conversation.session.transcript
            self.dialog.show_refusal(edit_refusal(transcript, self._draft.seq))

    def _sections(self, draft: RevisionDraft) -> tuple[Section, ...]:
        return from_fields(self.dialog.fields, draft.valid_seqs)

    async def _check(self) -> None:
        """Show what the sections take and name now; an older check that ends later is dropped."""
        if self._draft is None or not self._is_open:
            return
        self._checks += 1
        number, draft = self._checks, self._draft
        try:
            sections = self._sections(draft)
        except InvalidInput as error:
            self.dialog.show_invalid(error)
            return
        self.dialog.show_invalid(None)
        event = draft.handover
        if self.dialog.fields != {field.title: field.text for field in edited_fields(draft)}:
            event = await self._conversation.handovers.revisions.check(draft, sections)
        if number == self._checks and self._is_open:
            self._show_check(draft, event)

    def _show_check(self, draft: RevisionDraft, event: HandoverMade) -> None:
        self._below = listed_below(event)
        conversation = self._conversation
        sent = conversation.handovers.revisions.tokens_as_sent(draft.handover)
        self.dialog.show_check(revision_check(draft, event, sent))

    def _compare(self) -> None:
        """Show what differs from the original; nothing typed leaves every sentence dropped."""
        if self._draft is None:
            return
        try:
            sections = self._sections(self._draft)
        except InvalidInput:
            sections = ()
        original = editable_sections(self._draft.original)
        self.dialog.show_comparison(compare_handovers(original, sections, self._below))

    async def _save(self) -> None:
        if self._draft is None:
            return
        self.dialog.save_button.setEnabled(False)
        try:
            await self._conversation.handovers.revisions.record(self._draft, self._sections(self._draft))
        except HelixError as error:
            self.dialog.show_error(error)
            self.dialog.save_button.setEnabled(True)
        else:
            self.dialog.accept()

    async def _act_on(self, refusal: EditRefusal) -> None:
        if not self.dialog.confirm_discard():
            return
        try:
            if refusal.action == "redo":
                await self._conversation.window.redo(refusal.seq)
            await self._show(refusal.seq)
        except HelixError as error:
            self.dialog.show_error(error)
