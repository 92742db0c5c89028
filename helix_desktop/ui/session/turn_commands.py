"""User actions on the running turn, which are enabled while there is one, and questions beside it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import CallStarted, EventRecorded, TurnChanged
from helix_desktop.ui.chat.actions import ControlTurn
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.intents import AskSideQuestion, Steer, StopAgent, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.next_messages import CONTINUE
from helix_desktop.ui.shell.commands import RUNNING_AGENT, SENDABLE_MESSAGE
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_ACTIONS: dict[str, Callable[[Conversation], Coroutine[Any, Any, None]]] = {
    "continue": lambda conversation: conversation.continue_turn(CONTINUE),
    "retry": lambda conversation: conversation.retry(),
    "send_without_images": lambda conversation: conversation.retry_without_images(),
    "stop": lambda conversation: conversation.stop(),
}


class TurnCommands(QObject):
    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session, self._chat = window, session, window.pages.chat
        window.intents.add(self)
        window.stop_offered.connect(self._chat.composer.offer_stop)
        session.changed.connect(self._enable)
        session.on(TurnChanged, lambda turn: self._show_running(turn.running))
        session.on(CallStarted | EventRecorded, lambda _: self._enable())
        self._enable()

    def _enable(self) -> None:
        self._show_running(self._session.has_conversation and self._session.conversation.is_running)

    def _show_running(self, is_running: bool) -> None:
        conversation = self._session.find_conversation()
        can_send = bool(conversation and conversation.running_calls.running and conversation.queue.pending)
        self._window.commands.meet(RUNNING_AGENT, is_running)
        self._window.commands.meet(SENDABLE_MESSAGE, is_running and can_send)
        self._chat.composer.set_running(is_running)
        self._chat.todo_panel.set_running(is_running)

    @handles(ControlTurn)
    def control(self, how: str) -> None:
        """Continue, retry or stop the turn, or make its announced retry now."""
        if how == "try_now":
            self._session.conversation.retry_now()
        else:
            self._session.start(_ACTIONS[how](self._session.conversation), how)

    @handles(StopAgent)
    async def stop(self) -> None:
        await self._session.conversation.stop()

    @handles(Steer)
    def steer(self) -> None:
        """Send what is typed into the running turn."""
        self._chat.composer.steer()

    @handles(AskSideQuestion)
    def ask(self, question: str) -> None:
        """Ask what was typed, or let the user write it; the composer is free meanwhile."""
        self._session.start(self._ask(question), "side question")

    async def _ask(self, question: str) -> None:
        asked = question or await dialogs.get_text(
            self._window,
            tr("Ask a side question"),
            accept_label=tr("Ask"),
            why=tr("The model answers from the current context. Question and answer stay out of it."),
        )
        if asked:
            self._chat.view.follow_end()
            await self._session.conversation.side_questions.ask(asked)
