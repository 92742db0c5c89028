"""The commands about the running turn: they are enabled while there is one."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.session import CallStarted, EventRecorded, TurnChanged
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.shell.commands import RUNNING_AGENT, SENDABLE_MESSAGE


class TurnCommands(QObject):
    """Enables Stop, Steer, and Stop and send, as the conversation on screen allows."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._commands, self._session_controller = context.window.commands, session_controller
        session_controller.session_changed.connect(self._show_now)
        session_controller.on(TurnChanged, lambda turn: self._show(turn.running))
        session_controller.on(CallStarted | EventRecorded, lambda _: self._show_now())
        self._show_now()

    def _show_now(self) -> None:
        conversation = self._session_controller.conversation
        self._show(conversation is not None and conversation.is_running)

    def _show(self, is_running: bool) -> None:
        conversation = self._session_controller.conversation
        can_send = bool(conversation and conversation.running_calls.running and conversation.queue.pending)
        self._commands.meet(RUNNING_AGENT, is_running)
        self._commands.meet(SENDABLE_MESSAGE, is_running and can_send)
