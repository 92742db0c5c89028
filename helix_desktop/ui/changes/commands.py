"""What keys do in the page of changes."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.page_keys import PageCommand, PageCommands

text = TextContext("Changes")

CHANGES_COMMANDS = PageCommands(
    text("Changes"),
    {
        "changes_filter": PageCommand(text("Go to filter"), "/"),
        "changes_accept": PageCommand(text("Accept"), "A"),
        "changes_revert": PageCommand(text("Revert or redo"), "R"),
        "changes_open": PageCommand(text("Open in editor"), "O"),
    },
)
