"""A handover by hand from its dialog to the log: nothing is recorded before the person says so."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.draft import HandoverDraft
from helix_desktop.agent.update import CompactionMoved, Update
from helix_desktop.context.errors import HelixError, SummaryRefused
from helix_desktop.ui.dialogs import finished
from helix_desktop.ui.handover.dialog import HandoverDialog
from helix_desktop.ui.handover.rows import draft_row, reaches
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.spending.rows import estimate_text
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.timeline.rows import PHASES
from helix_desktop.ui.widgets import retint


class HandoverByHand:
    """One handover of one conversation, while its dialog is open."""

    def __init__(self, conversation: Conversation, intents: Intents, parent: QWidget, theme: Theme) -> None:
        self._conversation, self._intents = conversation, intents
        self.dialog = HandoverDialog(parent)
        self._draft: HandoverDraft | None = None
        self._writing: asyncio.Task[None] | None = None
        self._open = True
        self.dialog.write_requested.connect(self._write)
        self.dialog.cancel_requested.connect(self._stop)
        self.dialog.commit_requested.connect(lambda text: intents.start(self._commit(text), "hand over"))
        retint(self.dialog, theme)

    async def run(self) -> None:
        """Open the dialog and wait until it is closed; what is being written then ends.

        Raises CompactionRefused when there is nothing to hand over.
        """
        cuts = self._conversation.ranges()
        if not cuts:
            await self._conversation.draft_handover()  # says at once why there is nothing
        self.dialog.show_reaches(list(reaches(cuts, self._conversation.session.transcript)))
        self.dialog.reach.currentIndexChanged.connect(lambda _: self._price())
        self._price()
        leave = self._conversation.session.listen(self._update)
        try:
            await finished(self.dialog)
        finally:
            self._open = False
            leave()
            self._stop()

    def _price(self) -> None:
        """Show what a draft up to the chosen end will take."""
        upto = self.dialog.reach.currentData() or 0
        self.dialog.show_price("Counting tokens…")
        self._intents.start(self._priced(upto), "estimate handover")

    async def _priced(self, upto: int) -> None:
        try:
            text = estimate_text(await self._conversation.estimate_handover(upto=upto))
        except HelixError as error:
            text = error.what
        if self._open and upto == (self.dialog.reach.currentData() or 0):
            self.dialog.show_price(text)

    def _update(self, update: Update) -> None:
        if isinstance(update, CompactionMoved) and self._writing is not None:
            phase = update.phase.capitalize()
            for known in PHASES:
                if known == phase:
                    self.dialog.show_writing(known, update.text)

    def _write(self, focus: str, upto: int) -> None:
        if self._writing is None:
            self.dialog.show_problem()
            self.dialog.show_writing("Read")
            self._writing = self._intents.start(self._written(focus, upto), "draft handover")
            self._writing.add_done_callback(self._ended)

    async def _written(self, focus: str, upto: int) -> None:
        try:
            self._draft = await self._conversation.draft_handover(focus, upto)
        except HelixError as error:
            self._writing = None  # what is shown now can be clicked at once
            self.dialog.show_choice()
            self.dialog.show_error(error)
            if isinstance(error, SummaryRefused):
                self.dialog.show_refused(error.text)
        else:
            self.dialog.show_draft(draft_row(self._draft))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._writing is task:
            self._writing = None
        if task.cancelled() and self._open:
            self.dialog.show_choice()

    def _stop(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    async def _commit(self, text: str) -> None:
        if self._draft is None:
            return
        self.dialog.commit.setEnabled(False)
        try:
            await self._conversation.commit_handover(self._draft, text)
        except HelixError as error:
            self.dialog.show_error(error)
        else:
            self.dialog.accept()
        finally:
            self.dialog.commit.setEnabled(True)
