"""Sessions as text: their titles and modes."""

from __future__ import annotations

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.text_format import one_line
from helix_desktop.domain.unicode_safety import without_direction_signs
from helix_desktop.words.translation import Translator

tr = Translator("Sessions")


def session_title(title: str) -> str:
    """Return a session's title as the user reads it, on one line and in the direction of its own letters.

    One without a title of its own is a new session.
    """
    line = one_line(without_direction_signs(title))
    return tr("New session") if line in {"", NEW_TITLE} else line


def mode_text(mode: PermissionMode) -> str:
    match mode:
        case "ask":
            return tr("Ask mode: the agent asks before edits, and commands that do more than read")
        case "plan":
            return tr("Plan mode: the agent only reads and plans")
        case "auto":
            return tr("Auto mode: the agent edits files and runs sandboxed commands without asking")
