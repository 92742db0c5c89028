"""What a person does to the window of a session: undo, redo, hand over, observe, pin, cancel."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event_rewrite import FormChosen, SweepMade
from helix_desktop.context.rewrite_kind import RIDING
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.handover.by_hand import HandoverByHand
from helix_desktop.ui.inspector.rows import WindowRow
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.work import Screens, Work


class Rewriting(QObject):
    """Binds the commands that rewrite the window to the conversation on screen."""

    def __init__(self, window: MainWindow, screens: Screens, work: Work, intents: Intents) -> None:
        super().__init__(window)
        self._window, self._work, self._intents = window, work, intents
        self.by_hand: HandoverByHand | None = None
        timeline, actions = screens.timeline, window.commands
        timeline.undo_requested.connect(self.undo)
        timeline.redo_requested.connect(self.redo)
        timeline.compact_requested.connect(self.hand_over)
        timeline.retry_requested.connect(self.retry)
        timeline.cancel_requested.connect(self._cancel_shown)
        screens.inspector.pin_toggled.connect(self.pin)
        actions.compact_now.triggered.connect(self.hand_over)
        actions.observe_now.triggered.connect(self.observe)
        actions.undo_compaction.triggered.connect(self.undo_last)
        window.jobs.cancel_requested.connect(self._cancel)

    def _do(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._intents.start(work, name)

    def _with(self, use: Callable[[Conversation], object]) -> None:
        if self._work.conversation is None:
            return
        try:
            use(self._work.conversation)
        except HelixError as error:
            self._intents.tell(error)

    def undo(self, seq: int) -> None:
        """Undo a rewrite of the window."""
        self._with(lambda one: self._do(one.undo(seq), "undo"))

    def redo(self, seq: int) -> None:
        """Let an undone rewrite hold again; a sweep that fell with another one returns with it."""

        def redo(one: Conversation) -> None:
            known = one.session.transcript
            self._do(one.redo(seq if known.can_redo(seq) else seq - 1), "redo")

        self._with(redo)

    def undo_last(self) -> None:
        """Undo the newest rewrite that made the window smaller."""

        def undo(one: Conversation) -> None:
            last = last_compaction(one.session.transcript)
            if last:
                self.undo(last)

        self._with(undo)

    def pin(self, row: WindowRow) -> None:
        """Pin the output of a row of the inspector, or take its pin off."""

        def pin(one: Conversation) -> None:
            self._do(one.unpin(row.seq) if row.kind == "pinned" else one.pin(row.seq), "pin")

        self._with(pin)

    def observe(self) -> None:
        """Have older messages observed now, or what waits put in place; the timeline shows how far it is."""
        self._with(Conversation.observe)

    def hand_over(self) -> None:
        """Open the dialog of a handover, once."""
        if self.by_hand is None:
            self._with(lambda one: self._do(self._handed_over(one), "hand over by hand"))

    def act(self, action: str, seq: int) -> None:
        """Do what the button of a chat row says; `seq` is the row's event."""
        match action:
            case "undo":
                self.undo(seq)
            case "redo":
                self.redo(seq)
            case "compact_again":
                self.retry("handover")
            case "observe_again":
                self.retry("observations")

    def retry(self, attempt: str) -> None:
        """Try a handover or observations again."""
        if attempt == "handover":
            self.hand_over()
        else:
            self.observe()

    async def _handed_over(self, conversation: Conversation) -> None:
        self.by_hand = HandoverByHand(conversation, self._intents, self._window, self._window.theme)
        try:
            await self.by_hand.run()
        finally:
            self.by_hand = None

    def _cancel(self, job: str) -> None:
        if job == "observation":
            self._with(Conversation.cancel_observation)
        elif job == "compaction":
            self._with(Conversation.cancel_compaction)

    def _cancel_shown(self) -> None:
        self._cancel(next(iter(self._window.jobs.job_ids()), ""))


def last_compaction(transcript: Transcript) -> int:
    """The newest rewrite that made the window smaller and holds; what rides on another is undone with it."""
    held = [
        seq
        for seq, one in transcript.rewrites.made.items()
        if not isinstance(one, FormChosen)
        and not (isinstance(one, SweepMade) and one.reason in RIDING)
        and transcript.can_undo(seq)
    ]
    return max(held, default=0)
