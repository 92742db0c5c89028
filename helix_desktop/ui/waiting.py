"""What a person does with the messages that wait for the agent."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui.chat.queue_list import QueueList
from helix_desktop.ui.composing import Composing
from helix_desktop.ui.intents import Intents


class Bench(Protocol):
    """Where they wait: the work on screen."""

    conversation: Conversation | None
    composing: Composing

    def refresh_soon(self) -> None:
        """Show what waits as it is now."""
        ...


class Waiting(QObject):
    """Binds the list above the composer to the queue of the conversation on screen."""

    def __init__(self, shown: QueueList, bench: Bench, intents: Intents) -> None:
        super().__init__(shown)
        self._bench, self._intents = bench, intents
        shown.edited.connect(lambda seq, text: self._start(seq, "edit", text))
        shown.moved.connect(lambda seq, by: self._start(seq, "move", by))
        shown.removed.connect(lambda seq: self._start(seq, "remove", None))
        shown.steered.connect(lambda seq, on: self._start(seq, "steer", on))
        shown.resumed.connect(self._resume)
        shown.orphaned.connect(bench.composing.take_in)

    def _start(self, seq: int, deed: str, given: object) -> None:
        conversation = self._bench.conversation
        if conversation is not None:
            self._intents.start(self._do(conversation, seq, deed, given), f"{deed} waiting message")

    async def _do(self, conversation: Conversation, seq: int, deed: str, given: object) -> None:
        queue = conversation.queue
        match deed, given:
            case "edit", str(text):
                if not await queue.edit(seq, text):
                    self._bench.composing.take_in(text)  # it was sent a moment before
            case "move", int(by):
                await queue.move(seq, by)
            case "remove", _:
                await queue.remove(seq)
            case "steer", bool(on):
                await queue.steer(seq, on)
        self._bench.refresh_soon()

    def _resume(self) -> None:
        if self._bench.conversation is not None:
            self._bench.conversation.resume()
