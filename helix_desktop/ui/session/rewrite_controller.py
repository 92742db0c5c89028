"""User actions on a session's context: undo and redo of one change, compact, update observations, cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.window.window_breakdown import covers_around
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.actions import CompactUpTo
from helix_desktop.ui.handover.compare_dialog import ComparePresenter
from helix_desktop.ui.handover.edit_dialog import EditPresenter
from helix_desktop.ui.handover.presenter import HandoverPresenter, StartSession
from helix_desktop.ui.kit.intents import (
    CancelCompaction,
    Compact,
    CompareHandover,
    EditHandover,
    Observe,
    Redo,
    RetrySummary,
    RunHandoverAgain,
    ShowInTimeline,
    Undo,
    WriteHandover,
    handles,
)
from helix_desktop.ui.kit.notices import REFUSED_COMPACTION, Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.last_change import CONTEXT_CHANGE, also_changed
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.card_data import UndoCard
from helix_desktop.ui.timeline.card_texts import card_title
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.words.action_labels import action_label

_text = TextContext("Session")


class RewriteController(QObject):
    """Binds the commands that rewrite the window to the conversation on screen."""

    def __init__(self, window: MainWindow, session: Session, start_session: StartSession) -> None:
        super().__init__(window)
        self._window, self._session, self._start_session = window, session, start_session
        self.handover_presenter: HandoverPresenter | None = None
        self.compare_presenter: ComparePresenter | None = None
        self.edit_presenter: EditPresenter | None = None
        window.intents.add(self)

    @handles(Undo)
    async def undo(self, seqs: tuple[int, ...]) -> None:
        """Undo rewrites of the window; one inside a wider one only says so, as no request would change.

        Raises CompactionRefused then.
        """
        conversation = self._session.conversation
        transcript = conversation.session.transcript
        around = covers_around(transcript)
        if any(transcript.can_undo(seq) and seq in around for seq in seqs):
            raise CompactionRefused(
                _text("Nothing to undo here."),
                _text("A later compaction covers this part of the conversation."),
                _text("Undo the later one first."),
            )
        await conversation.window.undo(*seqs)
        await self._say_what_went_along(conversation, seqs)

    async def _say_what_went_along(self, conversation: Conversation, seqs: tuple[int, ...]) -> None:
        """Name all that one click undid, if it was more than one change."""
        log, transcript = list(conversation.session.log), conversation.session.transcript
        if len(seqs) == 1 and not transcript.rewrites.attached_to(seqs[0]):
            return
        cards = await asyncio.to_thread(build_cards, log, transcript)
        names = (card_title(card) for card in cards if isinstance(card, UndoCard) and card.target == seqs[0])
        redo = Answer(action_label("redo"), lambda: self._window.perform(Redo(seqs)), "redo", ends=True)
        self._window.notices.notify(
            Notice(
                CONTEXT_CHANGE,
                next(names, ""),
                also_changed(cards, transcript, seqs),
                answers=(redo,),
                session_id=conversation.session.id,
                is_brief=True,
                ends_with=(Undone, Redone),
            )
        )

    @handles(Redo)
    async def redo(self, seqs: tuple[int, ...]) -> None:
        """Let undone rewrites hold again; a sweep that fell with another one returns with it."""
        can_redo = self._session.transcript.can_redo
        await self._session.conversation.window.redo(*(seq if can_redo(seq) else seq - 1 for seq in seqs))

    @handles(Observe)
    def observe(self) -> None:
        """Have older messages observed, its price first, or put in place what waits. Raises HelixError."""
        self._session.conversation.observations.start(is_price_shown=True)

    @handles(Compact)
    async def compact(self, focus: str) -> None:
        """Open the dialog of a handover, once; with what it is to dwell on, as typed.

        Where only the newest turn could be summarized, the active handover is run again with a typed focus.
        """
        conversation = self._session.conversation
        if self.handover_presenter is not None:
            return
        active, rerun_seq = conversation.session.transcript.window.handover, 0
        if focus and active is not None and not active[1].origin:
            proposed = conversation.handovers.writer
            cuts = await proposed.cuts()
            is_new = bool(cuts) and (not cuts[0].kept_seq or conversation.session.transcript.turn_open)
            rerun_seq = 0 if is_new and not proposed.frees_little() else active[0]
        await self._run_handover(focus=focus, rerun_seq=rerun_seq)

    @handles(CompactUpTo)
    async def compact_up_to(self, seq: int) -> None:
        """Open the same dialog with the range that ends at an event, or as near before it as can be.

        What the active handover covers already is summarized by running that one again.
        """
        active, rerun_seq = self._session.transcript.window.handover, 0
        if active is not None and not active[1].origin and seq <= active[1].upto:
            rerun_seq = active[0]
        await self._run_handover(rerun_seq=rerun_seq, upto=seq)

    @handles(WriteHandover)
    async def write_handover(self) -> None:
        """Open the same dialog, also for a handover that a new session starts with."""
        await self._run_handover(self._start_session)

    @handles(RunHandoverAgain)
    async def run_again(self, seq: int) -> None:
        """Open the dialog to write a handover again, with a focus or another range."""
        await self._run_handover(rerun_seq=seq)

    @handles(CompareHandover)
    async def compare(self, seq: int) -> None:
        """Show what differs between a handover and another one, the one before it at first."""
        conversation = self._session.conversation
        if self.compare_presenter is not None:
            return
        self.compare_presenter = ComparePresenter(
            conversation, self._session.actions, self._window, self._window.theme
        )
        try:
            with self._reveal_new_handover(conversation):
                await self.compare_presenter.run(seq)
        finally:
            self.compare_presenter = None

    @handles(EditHandover)
    async def edit(self, seq: int) -> None:
        """Open the sections of a handover in a dialog, to change them."""
        conversation = self._session.conversation
        if self.edit_presenter is not None:
            return
        self.edit_presenter = EditPresenter(
            conversation, self._session.actions, self._window, self._window.theme
        )
        try:
            with self._reveal_new_handover(conversation):
                await self.edit_presenter.run(seq)
        finally:
            self.edit_presenter = None

    @handles(RetrySummary)
    def retry(self, kind: str) -> None:
        """Try a handover, observations or the newest turn again."""
        if kind == "handover":
            self._session.perform(Compact())
        elif kind == "observations":
            self.observe()
        else:
            self._session.start(self._session.conversation.retry(), "retry")

    async def _run_handover(
        self, start_session: StartSession | None = None, focus: str = "", rerun_seq: int = 0, upto: int = 0
    ) -> None:
        conversation = self._session.conversation
        if self.handover_presenter is not None:
            return
        self.handover_presenter = HandoverPresenter(
            conversation, self._session.actions, self._window, self._window.theme, start_session, rerun_seq
        )
        self.handover_presenter.dialog.focus_input.setText(focus)
        self._session.notices.end(REFUSED_COMPACTION)
        try:
            with self._reveal_new_handover(conversation):
                await self.handover_presenter.run(upto)
        finally:
            self.handover_presenter = None

    @contextmanager
    def _reveal_new_handover(self, conversation: Conversation) -> Iterator[None]:
        """Bring the card of a handover that a dialog made into sight: it stands above the one it is of."""
        previous = conversation.session.transcript.window.handover
        yield
        active = conversation.session.transcript.window.handover
        is_shown = self._session.shows(conversation) and self._window.page() == "timeline"
        if is_shown and active is not None and active != previous:
            self._session.perform(ShowInTimeline(active[0]))

    @handles(CancelCompaction)
    def cancel_current(self) -> None:
        """Cancel what the running card shows: the handover, or the observations while none is written."""
        conversation = self._session.conversation
        (conversation.handovers if conversation.handovers.is_busy else conversation.observations).cancel()
