"""A user's message on its way to the log, and the start of the turn that it begins."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.slash_command import PromptSource


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
