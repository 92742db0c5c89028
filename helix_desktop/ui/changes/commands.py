"""What keys do in the page of changes."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.kit.commands import Command, CommandTable

text = TextContext("Changes")


class ChangesCommands(CommandTable):
    """They work while the keyboard is there."""

    title = text("Changes")
    changes_filter = Command(text("Go to filter"), None, "/")
    changes_accept = Command(text("Mark as reviewed"), None, "A")
    changes_revert = Command(text("Revert or redo"), None, "R")
    changes_open = Command(text("Open in editor"), None, "O")
