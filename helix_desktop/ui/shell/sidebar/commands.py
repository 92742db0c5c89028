"""What keys do in the list of sessions."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.kit.commands import Command, CommandTable

text = TextContext("Window")


class SessionCommands(CommandTable):
    """They work while the keyboard is there."""

    title = text("Sessions")
    session_pin = Command(text("Pin or unpin"), None, "P")
    session_archive = Command(text("Archive or unarchive"), None, "A")
    session_trash = Command(text("Move to trash"), None, "Del")
