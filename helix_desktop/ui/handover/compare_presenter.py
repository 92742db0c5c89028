"""A comparison of a session's handovers, from its dialog to the log and back."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session_updates import EventRecorded, Update
from helix_desktop.context.summaries.continued_handover import preview_handover
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.handover.compare_data import (
    compared_pair,
    handover_before,
    handover_choices,
)
from helix_desktop.ui.handover.compare_dialog import CompareDialog
from helix_desktop.ui.timeline.card_data import PREVIEW
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")


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
        unsubscribe = self._conversation.session.listen(self._on_update)
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

    def _on_update(self, update: Update) -> None:
        if isinstance(update, EventRecorded) and isinstance(
            update.recorded.event, HandoverMade | HandoverDiscarded | Undone | Redone
        ):
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
