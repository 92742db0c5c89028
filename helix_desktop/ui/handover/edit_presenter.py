"""A recorded handover that the user edits, from its dialog to the log."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session_updates import EventRecorded, Update
from helix_desktop.agent.window.handover_draft import RevisionDraft
from helix_desktop.context.summaries.handover_revision import (
    compare_handovers,
    editable_sections,
    from_fields,
    listed_below,
)
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.handover.edit_data import (
    EditRefusal,
    edit_refusal,
    edited_fields,
    revision_check,
)
from helix_desktop.ui.handover.edit_dialog import EditDialog
from helix_desktop.words.handover_titles import handover_titles


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
        unsubscribe = self._conversation.session.listen(self._on_update)
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

    def _on_update(self, update: Update) -> None:
        if (
            self._draft is not None
            and isinstance(update, EventRecorded)
            and isinstance(update.recorded.event, HandoverMade | HandoverDiscarded | Undone | Redone)
        ):
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
