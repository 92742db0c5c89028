"""What all windows share of the drafts: a session goes from one window to another."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Protocol

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.session.drafts.outgoing import OutgoingMessages
from helix_desktop.ui.session.drafts.unsaved import UnsavedDrafts


class WindowDrafts(Protocol):
    """The drafts as one window shows them, one at a time."""

    def shows(self, session_id: str) -> bool:
        """Return True if the draft of a session is on screen there."""

    def put_in_front(self, text: str) -> None:
        """Take over what was written in another window, with what was added there."""


class SharedDrafts:
    """By session: attachments, messages on their way, and drafts that could not be saved."""

    def __init__(self) -> None:
        self.window_drafts: list[WindowDrafts] = []
        self.attachments: dict[str, list[Attachment]] = {}
        self.attaching_lock = asyncio.Lock()
        """One thing is attached at a time, so that chips are in order."""
        self.unsaved = UnsavedDrafts()
        self.outgoing = OutgoingMessages()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""

    def on_screen(self, session_id: str) -> WindowDrafts | None:
        """Return those of the window that shows the draft of a session; None if none does."""
        return next((drafts for drafts in self.window_drafts if drafts.shows(session_id)), None)
