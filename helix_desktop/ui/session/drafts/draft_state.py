"""What is known of drafts by session, in all windows: a session goes from one window to another."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.session.drafts.outgoing import OutgoingMessages
from helix_desktop.ui.session.drafts.unsaved_drafts import UnsavedDrafts


class DraftState:
    """Attachments, messages on their way, and drafts that could not be saved."""

    def __init__(self) -> None:
        self.attachments: dict[str, list[Attachment]] = {}
        self.attaching_lock = asyncio.Lock()
        """One thing is attached at a time, so that chips are in order."""
        self.unsaved = UnsavedDrafts()
        self.outgoing = OutgoingMessages()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""
