"""Messages on their way: until one is recorded, the draft of its session begins with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.question import Question
from helix_desktop.domain.slash_command import SlashInput
from helix_desktop.domain.store import Draft


@dataclass(eq=False, slots=True)
class OutgoingMessage:
    """A message on its way, with what goes along; `steer`: into the running turn.

    `question` waited when it was sent, with these `options` marked: it is the answer. So did the approvals of
    the calls `denied`: it is why they are.

    `typed` is the command of a prompt file that the text is. `is_settled`: it is recorded, or in the draft
    again, so that no draft is to begin with it. `task` sends it.
    """

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    attachments: list[Attachment]
    steer: bool = False
    typed: SlashInput | None = None
    question: Question | None = None
    options: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    is_settled: bool = False
    task: asyncio.Task[None] | None = None


class OutgoingMessages:
    """Those of all sessions, oldest first."""

    def __init__(self) -> None:
        self._messages: list[OutgoingMessage] = []

    def add(self, message: OutgoingMessage) -> None:
        self._messages.append(message)

    def remove(self, message: OutgoingMessage) -> None:
        """Forget a message whose text is stored."""
        self._messages.remove(message)

    async def settle(self, workspace_id: str) -> None:
        """Wait until those of a workspace are recorded, or in the drafts of their sessions again."""
        tasks = [message.task for message in self._in(workspace_id) if message.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    def change(self, change: Callable[[Draft], Draft], workspace_id: str) -> None:
        """Change the texts of those of a workspace that could not be settled, and what goes along."""
        for message in self._in(workspace_id):
            draft = change(Draft(message.text, tuple(message.attachments)))
            message.text, message.attachments = draft.text, [*draft.attachments]

    def _in(self, workspace_id: str) -> list[OutgoingMessage]:
        return [message for message in self._messages if message.workspace.id == workspace_id]

    def not_on_screen(self, conversation: Conversation | None) -> list[OutgoingMessage]:
        return [message for message in self._messages if message.conversation is not conversation]

    def with_draft(self, session_id: str, text: str, attachments: Sequence[Attachment]) -> Draft:
        """Return what is to be stored as a session's draft: what is on its way, then what is written."""
        waiting = [message for message in self._of(session_id) if not message.is_settled]
        sent = [attachment for message in waiting for attachment in message.attachments]
        others = (attachment for attachment in attachments if attachment not in sent)
        return Draft("".join(message.text for message in waiting) + text, (*sent, *others))

    def without(self, session_id: str, draft: Draft) -> Draft:
        text, attachments = draft.text, draft.attachments
        for message in self._of(session_id):
            if text.startswith(message.text):
                text = text.removeprefix(message.text)
                attachments = tuple(item for item in attachments if item not in message.attachments)
        return Draft(text, attachments)

    def _of(self, session_id: str) -> Iterator[OutgoingMessage]:
        return (message for message in self._messages if message.conversation.session.id == session_id)
