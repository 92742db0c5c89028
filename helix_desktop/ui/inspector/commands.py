"""What keys do with a row of the inspector."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.page_keys import PageCommand, PageCommands

text = TextContext("Inspector")

CONTEXT_COMMANDS = PageCommands(
    text("Context"),
    {
        "context_text": PageCommand(text("Show sent text"), "Space"),
        "context_pin": PageCommand(text("Pin in context or unpin"), "P"),
        "context_cache": PageCommand(text("Cache now"), "C"),
        "context_recall": PageCommand(text("Recall or undo"), "R"),
        "context_exclude": PageCommand(text("Leave out or undo"), "X"),
    },
)
