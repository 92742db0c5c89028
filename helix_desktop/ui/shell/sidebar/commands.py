"""What keys do in the list of sessions."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.page_keys import PageCommand, PageCommands

text = TextContext("Window")

SESSION_COMMANDS = PageCommands(
    text("Sessions"),
    {
        "session_pin": PageCommand(text("Pin or unpin"), "P"),
        "session_archive": PageCommand(text("Archive or unarchive"), "A"),
        "session_trash": PageCommand(text("Move to trash"), "Del"),
    },
)
