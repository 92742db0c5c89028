"""A manual handover from its dialog to the log: nothing is recorded before the user confirms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import CompactionProgress
from helix_desktop.agent.window.handover_writer import WHOLE_SESSION, HandoverDraft, HandoverScope
from helix_desktop.context.summaries.handover_revision import (
    compare_handovers,
    editable_sections,
    from_markdown,
)
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.handover.dialog import (
    WHOLE_CONVERSATION,
    HandoverDialog,
    draft_row,
    handover_ranges,
    nearest_range,
    whole_range,
)
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.models import writer_name
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compact")

StartSession = Callable[[HandoverMade], Coroutine[Any, Any, None]]
"""Starts a session with a handover and shows it."""


class HandoverPresenter:
    """One handover of one conversation, while its dialog is open."""

    def __init__(
        self,
        conversation: Conversation,
        async_actions: AsyncActions,
        parent: QWidget,
        start_session: StartSession | None = None,
        rerun_seq: int = 0,
    ) -> None:
        """With `start_session`, a handover of every message can be written for a new session.

        With `rerun_seq`, the active handover, it is written again, and the draft is compared with it.
        """
        self._conversation, self._async_actions = conversation, async_actions
        self._handovers, self._repeated_seq = conversation.handovers, rerun_seq
        self._writer, self._scope = conversation.handovers.writer, HandoverScope(rerun_seq)
        titles = handover_titles(conversation.session.transcript.rewrites.handovers)
        self.dialog = HandoverDialog(parent, titles.get(rerun_seq, ""))
        self._start_session = start_session
        self._draft: HandoverDraft | None = None
        self._is_whole = False  # whether the draft is for a new session
        self._draft_task: asyncio.Task[None] | None = None
        self._is_open = True
        self._undone_seq = 0  # of the undone handover of the chosen range
        self.dialog.redo_requested.connect(self._redo)
        self.dialog.write_requested.connect(self._start_draft)
        self.dialog.cancel_requested.connect(self._stop)
        self.dialog.draft_page.compare_requested.connect(self._compare)
        self.dialog.commit_requested.connect(
            lambda text: async_actions.start(self._commit(text), "commit-handover")
        )

    async def run(self, upto: int = 0) -> None:
        """Open the dialog and wait until it is closed; what is being written then ends.

        With `upto` the range ends at that event, or as near before it as it can.
        Raises CompactionRefused when there is nothing to compact.
        """
        transcript = self._conversation.session.transcript
        cuts = await self._writer.cuts(upto, self._scope)
        if not cuts and self._start_session is None:
            await self._writer.draft(scope=self._scope)  # says at once why there is nothing
        for_new_session = (
            [whole_range(transcript.messages.counts())] if self._start_session is not None else []
        )
        ranges = handover_ranges(cuts, transcript, is_same_first=bool(self._repeated_seq))
        self.dialog.show_ranges([*ranges, *for_new_session])
        if upto:
            self.dialog.range_box.setCurrentIndex(nearest_range(cuts, upto))
        self.dialog.range_box.currentIndexChanged.connect(lambda _: self._estimate())
        self._estimate()
        await self._show_saved_draft(upto)
        unsubscribe = self._conversation.session.on(CompactionProgress, self._show_progress)
        try:
            await exec_async(self.dialog)
        finally:
            self._is_open = False
            unsubscribe()
            self._stop()
            if self._draft is not None:
                text = self.dialog.editor.toPlainText()
                await self._handovers.save_draft(self._draft, text, self._repeated_seq, self._is_whole)

    async def _show_saved_draft(self, upto: int) -> None:
        """Show the draft that the user left before, unless they chose another range or focus now."""
        saved = self._handovers.restore_draft(self._repeated_seq, self._start_session is not None)
        if saved is None:
            return
        saved_upto = WHOLE_CONVERSATION if saved.is_whole else saved.draft.cut.upto
        focus, own_focus = saved.draft.event.focus, self.dialog.focus_input.text().strip()
        is_other = own_focus not in ("", focus) or (
            upto and self.dialog.range_box.currentData() != saved_upto
        )
        if is_other or self.dialog.range_box.findData(saved_upto) < 0:
            return
        self._draft, self._is_whole = saved.draft, saved.is_whole
        parts = await self._writer.parts_as_sent(saved.draft, saved.is_whole)
        row = draft_row(saved.draft, parts, self._conversation.session.transcript, self._is_whole)
        self.dialog.show_saved_draft(row, saved_upto, saved.text, focus)

    def _estimate(self) -> None:
        upto = self.dialog.range_box.currentData() or 0
        self._show_undone(upto)
        self.dialog.show_estimate(tr("Counting tokens…"))
        self._async_actions.start(self._show_estimate(upto), "estimate-handover")

    def _show_undone(self, upto: int) -> None:
        """Offer the newest undone handover of the same messages, which takes no request."""
        session = self._conversation.session
        handovers = session.transcript.rewrites.handovers
        undone = (
            seq
            for seq in sorted(handovers, reverse=True)
            if handovers[seq].upto == upto and not handovers[seq].origin and session.transcript.can_redo(seq)
        )
        self._undone_seq = 0 if self._repeated_seq else next(undone, 0)
        at_ms = session.log[self._undone_seq - 1].at if self._undone_seq else 0
        self.dialog.show_undone_summary(format_moment(at_ms))

    def _redo(self) -> None:
        """Let the undone handover hold again."""
        self._async_actions.start(self._conversation.window.redo(self._undone_seq), "redo")
        self.dialog.accept()

    async def _show_estimate(self, upto: int) -> None:
        try:
            estimate = await self._writer.estimate(upto, self._scope_of(upto))
            text = f"{estimate_text(estimate)} · {writer_name(estimate.model, estimate.demo)}"
            frees_little = self._writer.frees_little(upto, self._scope_of(upto))
        except HelixError as error:
            text, frees_little = translate(error.what), False
        if self._is_open and upto == (self.dialog.range_box.currentData() or 0):
            self.dialog.show_estimate(text)
            self.dialog.show_gain_warning(is_shown=frees_little)

    def _scope_of(self, upto: int) -> HandoverScope:
        return WHOLE_SESSION if upto == WHOLE_CONVERSATION else self._scope

    def _compare(self, text: str) -> None:
        """Show what differs between a text of the sections and the handover that is written again."""
        transcript = self._conversation.session.transcript
        former_handover = transcript.rewrites.handovers[self._repeated_seq]
        try:
            sections = from_markdown(text, frozenset(item.seq for item in transcript.messages.items))
        except InvalidInput as error:
            self.dialog.show_error(error)
        else:
            self.dialog.show_problem()
            self.dialog.draft_page.show_comparison(
                compare_handovers(editable_sections(former_handover), sections)
            )

    def _show_progress(self, update: CompactionProgress) -> None:
        if self._draft_task is not None and update.phase != "idle":
            self.dialog.show_writing(update.phase, update.text)

    def _start_draft(self, focus: str, upto: int) -> None:
        if self._draft_task is None:
            self.dialog.show_problem()
            self.dialog.show_writing("read")
            self._draft_task = self._async_actions.start(self._run_draft(focus, upto), "draft-handover")
            self._draft_task.add_done_callback(self._on_draft_done)

    async def _run_draft(self, focus: str, upto: int) -> None:
        try:
            scope = self._scope_of(upto)
            draft = await self._writer.draft(
                focus, upto, scope
            )  # until then the former one can still be used
            await self._discard()
            self._draft, self._is_whole = draft, scope.is_whole
            parts = await self._writer.parts_as_sent(draft, scope.is_whole)
        except HelixError as error:
            self._draft_task = None  # what is shown now can be clicked at once
            self.dialog.show_choice()
            self.dialog.show_error(error)
        else:
            transcript = self._conversation.session.transcript
            row = draft_row(draft, parts, transcript, self._is_whole)
            self._draft_task = None  # what is shown now can be clicked at once
            self.dialog.show_draft(row)
            if self._repeated_seq:
                self._compare(draft.text)
                self.dialog.draft_page.focus_text()

    async def _discard(self) -> None:
        """Count what a draft cost that is not used."""
        draft, self._draft = self._draft, None
        if draft is not None:
            await self._writer.discard(draft)

    def _on_draft_done(self, task: asyncio.Task[None]) -> None:
        if self._draft_task is task:
            self._draft_task = None
        if task.cancelled() and self._is_open:
            self.dialog.show_choice()

    def _stop(self) -> None:
        if self._draft_task is not None:
            self._draft_task.cancel()

    async def _commit(self, text: str) -> None:
        if self._draft is None:
            return
        self.dialog.show_committing(is_committing=True)
        try:
            if self._is_whole and self._start_session is not None:
                edited = await self._writer.apply_edits(self._draft, text)
                self._async_actions.start(self._start_session(edited), "new session")
            else:
                await self._writer.commit(self._draft, text)
        except HelixError as error:
            self.dialog.show_error(error)
        else:
            self._draft = None
            self.dialog.accept()
        finally:
            self.dialog.show_committing(is_committing=False)
            if self.dialog.problem:
                self.dialog.draft_page.focus_text()  # the button lost the keyboard while it was off
