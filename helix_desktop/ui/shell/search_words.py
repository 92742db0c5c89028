"""What users also call a command or a page: the command palette finds it by these words, too."""

from __future__ import annotations

from PySide6.QtGui import QAction

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.shell.commands import WindowCommands
from helix_desktop.words.translation import translate

text = TextContext("Search words")

PLACE_WORDS: dict[str, TranslatableText] = {
    "settings:providers": text("api key model server ollama openai anthropic"),
    "settings:roles": text("summarizer extracts fast main long texts"),
    "settings:appearance": text("appearance theme font size motion sound notifications"),
    "settings:keyboard": text("shortcuts hotkeys keys bindings"),
    "settings:instructions": text("agents.md rules prompt"),
    "settings:policy": text("threshold handover compaction cache profile"),
    "settings:permissions": text("approval allow deny rules sandbox"),
    "settings:mcp": text("tools plugins extensions"),
    "settings:data": text("storage disk retention backup folder"),
    "settings:about": text("version license diagnostics"),
    "guide:context": text("window tokens"),
    "guide:cached": text("marker output recall digest"),
    "guide:compacted": text("handover note observations facts summary summarize"),
    "guide:policy": text("profile threshold"),
    "guide:changes": text("revert diff files"),
}
"""By the names of the actions that lead to pages of the settings and topics of the guide."""


def matches_search_words(needle: str, action: QAction, own_words: str) -> bool:
    """Return True if every typed word is in a command's own words, or begins one of its search words."""
    name = action.objectName()
    command = WindowCommands.commands.get(name)
    also = PLACE_WORDS.get(name) if command is None else command.also
    search_words = translate(also or "").casefold().split()
    own = own_words.casefold()
    return all(
        typed in own or any(word.startswith(typed) for word in search_words)
        for typed in needle.casefold().split()
    )
