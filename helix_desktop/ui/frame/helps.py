"""What a window shows on request to find one's way: all commands, and the page of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMainWindow

from helix_desktop.ui.actions import Actions
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.widgets import retint

if TYPE_CHECKING:
    from helix_desktop.ui.frame.command_panel import CommandPanel
    from helix_desktop.ui.frame.keys import KeysDialog


class Helps:
    """Both are made when they are asked for: the first paint does not wait for them."""

    def __init__(self, window: QMainWindow, commands: Actions) -> None:
        self._window, self._commands = window, commands
        self.keys: KeysDialog | None = None
        self.panel: CommandPanel | None = None
        commands.keys.triggered.connect(self._show_keys)

    def offer_commands(self, theme: Theme) -> None:
        """Show all commands, in the colours of a theme."""
        from helix_desktop.ui.frame.command_panel import CommandPanel

        if self.panel is None:
            self.panel = CommandPanel(self._window, self._window.menuBar(), self._commands.all_commands)
        retint(self.panel, theme)
        self.panel.open()

    def close(self) -> None:
        """Take the page of keys along when the window closes."""
        if self.keys is not None:
            self.keys.close()

    def _show_keys(self) -> None:
        from helix_desktop.ui.frame.keys import KeysDialog

        self.keys = self.keys or KeysDialog(self._window)
        self.keys.show()
