"""What keys do in the cache browser."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.kit.commands import Command, CommandTable

text = TextContext("Cache")


class CacheCommands(CommandTable):
    """They work while the keyboard is there."""

    title = text("Cache")
    cache_filter = Command(text("Go to filter"), None, "/")
    cache_recall = Command(text("Recall into message"), None, "Ctrl+Return")
    cache_verify = Command(text("Verify"), None, "V")
    cache_pin = Command(text("Pin or unpin"), None, "P")
    cache_trash = Command(text("Move to trash"), None, "Del")
    cache_save = Command(text("Save to file"), None, "Ctrl+S")
    cache_copy = Command(text("Copy content"), None, "Ctrl+Shift+C")
