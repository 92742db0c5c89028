"""What keys do with a row of the inspector."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.kit.commands import Command, CommandTable

text = TextContext("Inspector")


class ContextCommands(CommandTable):
    """They work while the keyboard is there."""

    title = text("Context")
    context_text = Command(text("Show sent text"), None, "Space")
    context_pin = Command(text("Pin in context or unpin"), None, "P")
    context_cache = Command(text("Cache now"), None, "C")
    context_recall = Command(text("Recall or undo"), None, "R")
    context_exclude = Command(text("Leave out or undo"), None, "X")
