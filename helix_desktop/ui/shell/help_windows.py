"""What a window shows on request to find one's way: all commands, and the page of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMainWindow

from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.shell.actions import WindowActions

if TYPE_CHECKING:
    from helix_desktop.ui.shell.command_palette import CommandPalette
    from helix_desktop.ui.shell.shortcuts_dialog import ShortcutsDialog


class HelpWindows:
    """Both are made when they are asked for: the first paint does not wait for them."""

    def __init__(self, window: QMainWindow, commands: WindowActions) -> None:
        self._window, self._commands = window, commands
        self.shortcuts_dialog: ShortcutsDialog | None = None
        self.command_palette: CommandPalette | None = None
        commands.keys.triggered.connect(self._show_keys)

    def show_commands(self, theme: Theme) -> None:
        """Show all commands, in the colors of a theme."""
        from helix_desktop.ui.shell.command_palette import CommandPalette

        if self.command_palette is None:
            self.command_palette = CommandPalette(
                self._window, self._window.menuBar(), self._commands.all_commands
            )
        retint(self.command_palette, theme)
        self.command_palette.open()

    def close(self) -> None:
        """Take the page of keys along when the window closes."""
        if self.shortcuts_dialog is not None:
            self.shortcuts_dialog.close()

    def _show_keys(self) -> None:
        from helix_desktop.ui.shell.shortcuts_dialog import ShortcutsDialog

        self.shortcuts_dialog = self.shortcuts_dialog or ShortcutsDialog(self._window)
        self.shortcuts_dialog.show()
