"""A rig with one conversation: its rows, its recorded events and its updates."""

from __future__ import annotations

from typing import Any

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import Update
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.messages import RetryScheduled


class ConversationRig:
    """The common part of every rig with a workspace; `updates` is filled by the rig."""

    workspace: OpenWorkspace
    updates: list[Update]
    _conversation: Conversation | None = None

    @property
    def conversation(self) -> Conversation:
        assert self._conversation is not None
        return self._conversation

    async def begin(self) -> Conversation:
        self._conversation = await self.workspace.create_session()
        return self._conversation

    def switch_to(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def events(self, kind: type[Event]) -> list[Any]:
        """The facts of one kind, in order."""
        return [entry.event for entry in self.conversation.session.log if isinstance(entry.event, kind)]

    def seqs(self, kind: type[Event]) -> list[int]:
        """The numbers of the events of one kind, in order."""
        return [entry.seq for entry in self.conversation.session.log if isinstance(entry.event, kind)]

    def updates_of(self, kind: type[Update]) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kind)]

    def response_resets(self) -> list[RetryScheduled]:
        """The calls that were made again."""
        return [update for update in self.updates if isinstance(update, RetryScheduled)]
