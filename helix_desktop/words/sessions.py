"""Sessions as text."""

from __future__ import annotations

from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.words.translation import Translator

tr = Translator("Sessions")


def session_title(title: str) -> str:
    """Return a session's title as the user reads it; one without a title of its own is a new session."""
    return tr("New session") if title in {"", NEW_TITLE} else title
