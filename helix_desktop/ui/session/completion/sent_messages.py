"""The messages that the user sent in a session, for the composer's Up key."""

from __future__ import annotations

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.events.conversation import MessageQueued, UserSpoke

_MAX_MESSAGES = 200


def sent_messages(conversation: Conversation | None) -> tuple[str, ...]:
    """Return a session's messages as they were typed, newest first, each once; one that waits too."""
    if conversation is None:
        return ()
    texts: dict[str, None] = {}
    for entry in reversed(conversation.session.log):
        if isinstance(entry.event, UserSpoke | MessageQueued) and entry.event.text.strip():
            texts.setdefault(entry.event.prompt.typed_text if entry.event.prompt else entry.event.text)
            if len(texts) >= _MAX_MESSAGES:
                break
    return tuple(texts)
