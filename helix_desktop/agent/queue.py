"""The queue: messages that wait for the agent, in the person's hands until they are sent."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.context.event import Event, QueueChanged
from helix_desktop.context.message import InLine
from helix_desktop.context.signs import whole

_Change = Callable[[list[InLine], int], list[InLine]]


class Queue:
    """What waits in one session. A message that is sent already is left alone, and False says so."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.leaving = 0  # the one that is about to begin a turn

    @property
    def waiting(self) -> list[InLine]:
        """The messages in the order in which they are sent."""
        return [one for one in self._line() if one.seq != self.leaving]

    def _line(self) -> list[InLine]:
        queued = self._session.transcript.queued
        return [InLine(seq, one.text, one.steer) for seq, one in queued.items()]

    async def edit(self, seq: int, text: str) -> bool:
        """Give a message other words."""
        said = whole(text)
        return await self._change(
            seq, lambda line, at: _put(line, at, msgspec.structs.replace(line[at], text=said))
        )

    async def steer(self, seq: int, on: bool = True) -> bool:
        """Let a message steer the running turn at its next step, or wait for the end of the turn."""
        return await self._change(
            seq, lambda line, at: _put(line, at, msgspec.structs.replace(line[at], steer=on))
        )

    async def move(self, seq: int, by: int) -> bool:
        """Send a message earlier (negative) or later by so many places, as far as there are any."""
        return await self._change(seq, lambda line, at: _moved(line, at, by))

    async def remove(self, seq: int) -> bool:
        """Take a message away: it is not sent."""
        return await self._change(seq, lambda line, at: [*line[:at], *line[at + 1 :]])

    async def _change(self, seq: int, change: _Change) -> bool:
        found = False

        def decided() -> list[Event]:
            nonlocal found
            first = [one for one in self._line() if one.seq == self.leaving]
            line = self.waiting
            at = next((place for place, one in enumerate(line) if one.seq == seq), None)
            found = at is not None
            changed = line if at is None else change(line, at)
            return [] if changed == line else [QueueChanged((*first, *changed))]

        await self._session.record_decided(decided)
        return found


def _put(line: list[InLine], at: int, one: InLine) -> list[InLine]:
    return [*line[:at], one, *line[at + 1 :]]


def _moved(line: list[InLine], at: int, by: int) -> list[InLine]:
    rest = [*line[:at], *line[at + 1 :]]
    place = min(max(at + by, 0), len(rest))
    return [*rest[:place], line[at], *rest[place:]]
