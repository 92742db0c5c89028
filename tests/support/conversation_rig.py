"""A rig with one conversation: what it says, what it recorded, what it told."""

from __future__ import annotations

from typing import Any

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import ResponseReset, Update
from helix_desktop.domain.events.session import Event


class ConversationRig:
    """What every rig over a room has; `updates` is filled by the rig."""

    workspace: OpenWorkspace
    updates: list[Update]
    _conversation: Conversation | None = None

    @property
    def conversation(self) -> Conversation:
        """The conversation."""
        assert self._conversation is not None
        return self._conversation

    async def begin(self) -> Conversation:
        """Begin the conversation."""
        self._conversation = await self.workspace.create_session()
        return self._conversation

    def events(self, kind: type[Event]) -> list[Any]:
        """The facts of one kind, in order."""
        return [one.event for one in self.conversation.session.log if isinstance(one.event, kind)]

    def response_resets(self) -> list[ResponseReset]:
        """The calls that were made again."""
        return [one for one in self.updates if isinstance(one, ResponseReset)]
