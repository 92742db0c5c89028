"""A draft that could not be saved, and why."""

from __future__ import annotations

from dataclasses import dataclass

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.words.sessions import session_title


@dataclass(frozen=True, slots=True)
class UnsavedDraft:
    """What was typed, and why it is not saved; `is_whole`: the stored draft is a former state of it."""

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    is_whole: bool
    error: StoreError

    @property
    def session_id(self) -> str:
        """Return the id of its session."""
        return self.conversation.session.id

    @property
    def title(self) -> str:
        """Return the title of its session."""
        return ellipsize_title(session_title(self.conversation.session.transcript.title))

    def merge(self, stored: str) -> str:
        """Return it with the draft that is stored."""
        return self.text if self.is_whole else stored + self.text
