"""Every keyboard shortcut of the window, for the guide's page of them."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.shell.actions import WindowActions, shortcut_lines
from helix_desktop.words.translation import translate

text = TextContext("Window")

_OUTSIDE_MENUS = (
    (text("Send message"), "Enter, Ctrl+Enter"),
    (text("New line in message"), "Shift+Enter"),
    (text("Earlier message, next message"), "Up, Down"),
    (text("Complete a file, cached output or command"), "Ctrl+Space"),
    (text("Next or previous result"), "F3, Shift+F3"),
    (text("Recall a cache entry"), "Ctrl+Enter"),
    (text("Recall a part of a cache entry"), "R"),
    (text("Verify a cache entry"), "V"),
    (text("Quick look at a cache entry"), "Space"),
    (text("Pin or unpin a cache entry or session"), "P"),
    (text("Archive or unarchive a session"), "A"),
    (text("Move a cache entry or session to the trash"), "Del"),
)


def shortcuts(actions: WindowActions) -> tuple[tuple[str, str], ...]:
    """Return each command with its keys as portable text; several keys are parted by ", "."""
    return (*shortcut_lines(actions), *((translate(words), keys) for words, keys in _OUTSIDE_MENUS))
