"""What keys do in the cache browser."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.page_keys import PageCommand, PageCommands

text = TextContext("Cache")

CACHE_COMMANDS = PageCommands(
    text("Cache"),
    {
        "cache_filter": PageCommand(text("Go to filter"), "/"),
        "cache_recall": PageCommand(text("Recall into message"), "Ctrl+Return"),
        "cache_verify": PageCommand(text("Verify"), "V"),
        "cache_pin": PageCommand(text("Pin or unpin"), "P"),
        "cache_trash": PageCommand(text("Move to trash"), "Del"),
        "cache_save": PageCommand(text("Save to file"), "Ctrl+S"),
        "cache_copy": PageCommand(text("Copy content"), "Ctrl+Shift+C"),
    },
)
