"""Messages of the user: on their way to the log, and those that wait and can be edited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment, QueueChanged
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.messages import QueuedMessage
from helix_desktop.domain.slash_command import PromptSource
from helix_desktop.domain.unicode_safety import repair_surrogates


class UserMessage(msgspec.Struct, frozen=True):
    """A message that is not recorded yet.

    `tokens` counts its text; None: not counted yet. `queued_seq` is the event that queued it, 0 if none did.
    `prompt` is the prompt file that the text was made from.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    tokens: int | None = None
    queued_seq: int = 0
    prompt: PromptSource | None = None


class MessageTooLarge(HelixError):
    """A message fills the window by itself."""


class TurnStart:
    """The start of one turn: over once its first event is recorded, or will never be."""

    def __init__(self) -> None:
        self._seq: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def end(self, seq: int = 0) -> None:
        """End the start with the seq of the recorded event, 0 if there is none; do nothing if it ended."""
        if not self._seq.done():
            self._seq.set_result(seq)

    async def wait(self) -> int:
        """Return the seq of the recorded event; 0 if the turn ended without it."""
        return await asyncio.shield(self._seq)


_Change = Callable[[list[QueuedMessage], int], list[QueuedMessage]]


class MessageQueue:
    """The queued messages of one session. Changing one that was already sent does nothing, returns False."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.sending_seq = 0  # seq of the message that is about to start a turn

    @property
    def pending(self) -> list[QueuedMessage]:
        """The queued messages in sending order."""
        return [message for message in self._queued_messages() if message.seq != self.sending_seq]

    def _queued_messages(self) -> list[QueuedMessage]:
        queued = self._session.transcript.queued_messages
        return [QueuedMessage(seq, message.text, message.steer) for seq, message in queued.items()]

    async def edit(self, seq: int, text: str) -> bool:
        repaired = repair_surrogates(text)
        return await self._change(
            seq,
            lambda messages, index: _replace_at(
                messages, index, msgspec.structs.replace(messages[index], text=repaired)
            ),
        )

    async def steer(self, seq: int, enabled: bool = True) -> bool:
        """Make a message steer the running turn at its next step, or wait for the end of the turn."""
        return await self._change(
            seq,
            lambda messages, index: _replace_at(
                messages, index, msgspec.structs.replace(messages[index], steer=enabled)
            ),
        )

    async def move(self, seq: int, offset: int) -> bool:
        """Move a message by `offset` places, negative for earlier; stop at the ends of the queue."""
        return await self._change(seq, lambda messages, index: _move_by(messages, index, offset))

    async def remove(self, seq: int) -> bool:
        return await self._change(seq, lambda messages, index: [*messages[:index], *messages[index + 1 :]])

    async def _change(self, seq: int, change: _Change) -> bool:
        is_queued = False

        def decide() -> list[Event]:
            nonlocal is_queued
            sending = [message for message in self._queued_messages() if message.seq == self.sending_seq]
            messages = self.pending
            index = next((i for i, message in enumerate(messages) if message.seq == seq), None)
            is_queued = index is not None
            changed = messages if index is None else change(messages, index)
            return [] if changed == messages else [QueueChanged((*sending, *changed))]

        await self._session.record_decided(decide)
        return is_queued


def _replace_at(messages: list[QueuedMessage], index: int, message: QueuedMessage) -> list[QueuedMessage]:
    return [*messages[:index], message, *messages[index + 1 :]]


def _move_by(messages: list[QueuedMessage], index: int, offset: int) -> list[QueuedMessage]:
    others = [*messages[:index], *messages[index + 1 :]]
    new_index = min(max(index + offset, 0), len(others))
    return [*others[:new_index], messages[index], *others[new_index:]]
