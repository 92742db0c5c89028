"""User actions on the messages that wait for the agent."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui.chat.composer.queue_list import QueueList
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.session.composer_controller import ComposerController


class SessionHost(Protocol):
    """Where they wait: the work on screen."""

    conversation: Conversation | None
    composer: ComposerController

    def schedule_refresh(self) -> None:
        """Show what waits as it is now."""
        ...


class MessageQueueController(QObject):
    """Binds the list above the composer to the queue of the conversation on screen."""

    def __init__(self, queue_list: QueueList, host: SessionHost, async_actions: AsyncActions) -> None:
        super().__init__(queue_list)
        self._host, self._async_actions = host, async_actions
        queue_list.edited.connect(lambda seq, text: self._start(seq, "edit", text))
        queue_list.moved.connect(lambda seq, by: self._start(seq, "move", by))
        queue_list.removed.connect(lambda seq: self._start(seq, "remove", None))
        queue_list.steered.connect(lambda seq, on: self._start(seq, "steer", on))
        queue_list.resumed.connect(self._resume)
        queue_list.edit_orphaned.connect(host.composer.prepend)

    def _start(self, seq: int, action: str, value: object) -> None:
        conversation = self._host.conversation
        if conversation is not None:
            self._async_actions.start(
                self._apply(conversation, seq, action, value), f"{action} waiting message"
            )

    async def _apply(self, conversation: Conversation, seq: int, action: str, value: object) -> None:
        queue = conversation.queue
        match action, value:
            case "edit", str(text):
                if not await queue.edit(seq, text):
                    self._host.composer.prepend(text)  # it was sent a moment before
            case "move", int(by):
                await queue.move(seq, by)
            case "remove", _:
                await queue.remove(seq)
            case "steer", bool(on):
                await queue.steer(seq, on)
        self._host.schedule_refresh()

    def _resume(self) -> None:
        if self._host.conversation is not None:
            self._host.conversation.send_next_queued()
