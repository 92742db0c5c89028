"""A rig with one conversation: what it says, what it recorded, what it told."""

from __future__ import annotations

from typing import Any

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import ArrivalVoided, Update
from helix_desktop.context.event import Event


class Talking:
    """What every rig over a room has; `updates` is filled by the rig."""

    room: Room
    updates: list[Update]
    _talk: Conversation | None = None

    @property
    def talk(self) -> Conversation:
        """The conversation."""
        assert self._talk is not None
        return self._talk

    async def begin(self) -> Conversation:
        """Begin the conversation."""
        self._talk = await self.room.begin()
        return self._talk

    def events(self, kind: type[Event]) -> list[Any]:
        """The facts of one kind, in order."""
        return [one.event for one in self.talk.session.log if isinstance(one.event, kind)]

    def retries(self) -> list[ArrivalVoided]:
        """The calls that were made again."""
        return [one for one in self.updates if isinstance(one, ArrivalVoided)]
