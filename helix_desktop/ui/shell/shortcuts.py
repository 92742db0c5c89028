"""Every keyboard shortcut of the window, for the guide's page of them."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.shell.actions import WindowActions, shortcut_lines
from helix_desktop.ui.shell.key_bindings import PAGES, KeyBindings, command_title
from helix_desktop.words.translation import translate

text = TextContext("Window")

_OUTSIDE_MENUS = (
    (text("Send message"), "Enter, Ctrl+Enter"),
    (text("New line in message"), "Shift+Enter"),
    (text("Earlier message, next message"), "Up, Down"),
    (text("Complete a file, cached output or command"), "Ctrl+Space"),
    (text("Next or previous result"), "F3, Shift+F3"),
)


def shortcuts(actions: WindowActions, bindings: KeyBindings) -> tuple[tuple[str, str], ...]:
    """Return each command with its keys as portable text; several keys are parted by ", "."""
    fixed = ((translate(words), keys) for words, keys in _OUTSIDE_MENUS)
    commands = (command for page in PAGES for command in page.commands)
    of_pages = ((command_title(command), ", ".join(bindings.keys(command))) for command in commands)
    return (*shortcut_lines(actions), *fixed, *(line for line in of_pages if line[1]))
