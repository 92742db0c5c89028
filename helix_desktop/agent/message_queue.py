"""The queue: messages that wait for the agent, in the person's hands until they are sent."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.domain.events.session import Event, QueueChanged
from helix_desktop.domain.messages import QueuedMessage
from helix_desktop.domain.unicode_safety import repair_surrogates

_Change = Callable[[list[QueuedMessage], int], list[QueuedMessage]]


class MessageQueue:
    """What waits in one session. A message that is sent already is left alone, and False says so."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.sending_seq = 0  # the one that is about to begin a turn

    @property
    def pending(self) -> list[QueuedMessage]:
        """The messages in the order in which they are sent."""
        return [one for one in self._queued_messages() if one.seq != self.sending_seq]

    def _queued_messages(self) -> list[QueuedMessage]:
        queued = self._session.transcript.queued_messages
        return [QueuedMessage(seq, one.text, one.steer) for seq, one in queued.items()]

    async def edit(self, seq: int, text: str) -> bool:
        """Give a message other words."""
        said = repair_surrogates(text)
        return await self._change(
            seq, lambda line, at: _replace_at(line, at, msgspec.structs.replace(line[at], text=said))
        )

    async def steer(self, seq: int, enabled: bool = True) -> bool:
        """Let a message steer the running turn at its next step, or wait for the end of the turn."""
        return await self._change(
            seq, lambda line, at: _replace_at(line, at, msgspec.structs.replace(line[at], steer=enabled))
        )

    async def move(self, seq: int, offset: int) -> bool:
        """Send a message earlier (negative) or later by so many places, as far as there are any."""
        return await self._change(seq, lambda line, at: _move_by(line, at, offset))

    async def remove(self, seq: int) -> bool:
        """Take a message away: it is not sent."""
        return await self._change(seq, lambda line, at: [*line[:at], *line[at + 1 :]])

    async def _change(self, seq: int, change: _Change) -> bool:
        found = False

        def decided() -> list[Event]:
            nonlocal found
            first = [one for one in self._queued_messages() if one.seq == self.sending_seq]
            line = self.pending
            at = next((place for place, one in enumerate(line) if one.seq == seq), None)
            found = at is not None
            changed = line if at is None else change(line, at)
            return [] if changed == line else [QueueChanged((*first, *changed))]

        await self._session.record_decided(decided)
        return found


def _replace_at(messages: list[QueuedMessage], index: int, message: QueuedMessage) -> list[QueuedMessage]:
    return [*messages[:index], message, *messages[index + 1 :]]


def _move_by(messages: list[QueuedMessage], index: int, offset: int) -> list[QueuedMessage]:
    rest = [*messages[:index], *messages[index + 1 :]]
    place = min(max(index + offset, 0), len(rest))
    return [*rest[:place], messages[index], *rest[place:]]
