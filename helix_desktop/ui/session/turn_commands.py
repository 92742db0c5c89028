"""The commands about the running turn: they are enabled while there is one."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.session import CallStarted, EventRecorded, TurnChanged
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.shell.actions import enable_action
from helix_desktop.words.translation import Translator

tr = Translator("Session")


class TurnCommands(QObject):
    """Enables Stop, Steer, and Stop and send, as the conversation on screen allows."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._commands, self._session_controller = context.window.commands, session_controller
        self._commands.stop_and_send.triggered.connect(session_controller.next_messages.stop_and_send_first)
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
        idle, unsendable = tr("The agent isn't running"), tr("No message waits for a running command")
        enable_action(self._commands.stop, is_running, idle)
        enable_action(self._commands.steer, is_running, idle)
        enable_action(self._commands.stop_and_send, is_running and can_send, unsendable)
