"""User actions on a session's context: undo and redo of one change, compact, update observations, cancel."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.window.window_breakdown import covers_around
from helix_desktop.domain.errors import CompactionRefused, HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.actions import (
    CompactUpTo,
    Redo,
    RetrySummary,
    SessionAction,
    Undo,
)
from helix_desktop.ui.handover.compare_dialog import ComparePresenter
from helix_desktop.ui.handover.edit_dialog import EditPresenter
from helix_desktop.ui.handover.presenter import HandoverPresenter, StartSession
from helix_desktop.ui.kit.notices import REFUSED_COMPACTION
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext

_text = TextContext("Session")


class RewriteController(QObject):
    """Binds the commands that rewrite the window to the conversation on screen."""

    def __init__(
        self, context: ControllerContext, session_controller: SessionController, start_session: StartSession
    ) -> None:
        super().__init__(context.window)
        self._start_session = start_session
        window, views = context.window, context.views
        self._window, self._session_controller = window, session_controller
        self._async_actions = context.async_actions
        self.handover_presenter: HandoverPresenter | None = None
        self.compare_presenter: ComparePresenter | None = None
        self.edit_presenter: EditPresenter | None = None
        timeline, actions = views.timeline, window.commands
        timeline.undo_requested.connect(self.undo)
        timeline.redo_requested.connect(self.redo)
        timeline.compact_requested.connect(self.write_handover)
        timeline.compare_requested.connect(self.compare)
        timeline.edit_requested.connect(self.edit)
        timeline.run_again_requested.connect(self.run_again)
        timeline.retry_requested.connect(self.retry)
        timeline.cancel_requested.connect(self._cancel_current)
        views.chat.view.action_triggered.connect(self._on_chat_action)
        actions.compact_now.triggered.connect(self.compact)
        actions.observe_now.triggered.connect(self.observe)
        session_controller.composer.slash_commands.on_arguments("compact_now", self._compact_with_focus)

    def _start(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self._async_actions.start(coroutine, name)

    def _with_conversation(self, action: Callable[[Conversation], object]) -> None:
        if self._session_controller.conversation is None:
            return
        try:
            action(self._session_controller.conversation)
        except HelixError as error:
            self._async_actions.show_error(error)

    def undo(self, *seqs: int) -> None:
        """Undo rewrites of the window; one inside a wider one only says so, as no request would change."""

        def undo(conversation: Conversation) -> None:
            transcript = conversation.session.transcript
            around = covers_around(transcript)
            if any(transcript.can_undo(seq) and seq in around for seq in seqs):
                raise CompactionRefused(
                    _text("Nothing to undo here."),
                    _text("A later compaction covers this part of the conversation."),
                    _text("Undo the later one first."),
                )
            self._start(conversation.window.undo(*seqs), "undo")

        self._with_conversation(undo)

    def redo(self, *seqs: int) -> None:
        """Let undone rewrites hold again; a sweep that fell with another one returns with it."""

        def redo(conversation: Conversation) -> None:
            can_redo = conversation.session.transcript.can_redo
            undone = (seq if can_redo(seq) else seq - 1 for seq in seqs)
            self._start(conversation.window.redo(*undone), "redo")

        self._with_conversation(redo)

    def observe(self) -> None:
        """Have older messages observed, its price first, or put in place what waits."""
        self._with_conversation(lambda conversation: conversation.observations.start(is_price_shown=True))

    def compact(self) -> None:
        """Open the dialog of a handover, once."""
        if self.handover_presenter is None:
            self._with_conversation(
                lambda conversation: self._start(self._run_handover(conversation), "compact")
            )

    def compact_up_to(self, seq: int) -> None:
        """Open the same dialog with the range that ends at an event, or as near before it as can be.

        What the active handover covers already is summarized by running that one again.
        """

        def start(conversation: Conversation) -> None:
            active, rerun_seq = conversation.session.transcript.window.handover, 0
            if active is not None and not active[1].origin and seq <= active[1].upto:
                rerun_seq = active[0]
            self._start(self._run_handover(conversation, rerun_seq=rerun_seq, upto=seq), "compact up to here")

        if self.handover_presenter is None:
            self._with_conversation(start)

    async def _compact_with_focus(self, focus: str) -> None:
        """Open the dialog with what the handover is to dwell on, as typed behind the command.

        Where only the newest turn could be summarized, the active handover is run again with it.
        """
        conversation = self._session_controller.conversation
        if conversation is None or self.handover_presenter is not None:
            return
        active, rerun_seq = conversation.session.transcript.window.handover, 0
        if active is not None and not active[1].origin:
            proposed = conversation.handovers.proposed
            cuts = await proposed.cuts()
            is_new = bool(cuts) and (not cuts[0].kept_seq or conversation.session.transcript.turn_open)
            rerun_seq = 0 if is_new and not proposed.frees_little() else active[0]
        if self.handover_presenter is None:
            await self._run_handover(conversation, focus=focus, rerun_seq=rerun_seq)

    def write_handover(self) -> None:
        """Open the same dialog, also for a handover that a new session starts with."""
        if self.handover_presenter is None:
            self._with_conversation(
                lambda conversation: self._start(
                    self._run_handover(conversation, self._start_session), "write handover"
                )
            )

    def run_again(self, seq: int) -> None:
        """Open the dialog to write a handover again, with a focus or another range."""
        if self.handover_presenter is None:
            self._with_conversation(
                lambda conversation: self._start(
                    self._run_handover(conversation, rerun_seq=seq), "run handover again"
                )
            )

    def compare(self, seq: int) -> None:
        """Show what differs between a handover and another one, the one before it at first."""
        if self.compare_presenter is None:
            self._with_conversation(
                lambda conversation: self._start(self._run_compare(conversation, seq), "compare handovers")
            )

    async def _run_compare(self, conversation: Conversation, seq: int) -> None:
        self.compare_presenter = ComparePresenter(
            conversation, self._async_actions, self._window, self._window.theme
        )
        dialog = self.compare_presenter.dialog
        dialog.source_clicked.connect(dialog.accept)
        dialog.source_clicked.connect(self._session_controller.views.timeline.source_clicked)
        try:
            with self._reveal_new_handover(conversation):
                await self.compare_presenter.run(seq)
        finally:
            self.compare_presenter = None

    def edit(self, seq: int) -> None:
        """Open the sections of a handover in a dialog, to change them."""
        if self.edit_presenter is None:
            self._with_conversation(
                lambda conversation: self._start(self._run_edit(conversation, seq), "edit handover")
            )

    async def _run_edit(self, conversation: Conversation, seq: int) -> None:
        self.edit_presenter = EditPresenter(
            conversation, self._async_actions, self._window, self._window.theme
        )
        dialog = self.edit_presenter.dialog

        def show_source(source: int) -> None:
            if dialog.confirm_discard():
                dialog.accept()
                self._session_controller.views.timeline.source_clicked.emit(source)

        dialog.source_clicked.connect(show_source)
        try:
            with self._reveal_new_handover(conversation):
                await self.edit_presenter.run(seq)
        finally:
            self.edit_presenter = None

    def _on_chat_action(self, action: SessionAction) -> None:
        match action:
            case Undo(seqs=seqs):
                self.undo(*seqs)
            case Redo(seqs=seqs):
                self.redo(*seqs)
            case CompactUpTo(seq=seq):
                self.compact_up_to(seq)
            case RetrySummary(kind=kind):
                self.retry(kind)
            case _:
                pass

    def retry(self, attempt: str) -> None:
        """Try a handover, observations or the newest turn again."""
        if attempt == "handover":
            self.compact()
        elif attempt == "turn":
            self._with_conversation(lambda conversation: self._start(conversation.retry(), "retry"))
        else:
            self.observe()

    async def _run_handover(
        self,
        conversation: Conversation,
        start_session: StartSession | None = None,
        focus: str = "",
        rerun_seq: int = 0,
        upto: int = 0,
    ) -> None:
        self.handover_presenter = HandoverPresenter(
            conversation, self._async_actions, self._window, self._window.theme, start_session, rerun_seq
        )
        self.handover_presenter.dialog.focus_input.setText(focus)
        self._window.notices.end(REFUSED_COMPACTION)
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
        is_shown = conversation is self._session_controller.conversation and self._window.page() == "timeline"
        if is_shown and active is not None and active != previous:
            self._session_controller.reveal(active[0])

    def _cancel_current(self) -> None:
        """Cancel what the running card shows: the handover, or the observations while none is written."""
        self._with_conversation(
            lambda conversation: (
                conversation.handovers if conversation.handovers.is_busy else conversation.observations
            ).cancel()
        )
