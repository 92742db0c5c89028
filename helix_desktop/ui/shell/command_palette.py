"""Every command of the window's menus and every prompt file, found by a few letters of its words."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF
from PySide6.QtGui import QPainter, QStandardItem
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.quick_picker import LineDelegate, QuickPicker
from helix_desktop.ui.shell.switcher.commands import COMMAND_PX, CommandList, command_at, paint_command
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_MAX_LINES = 11


class _Delegate(LineDelegate):
    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        paint_command(self, painter, box, index)


class CommandPalette(QuickPicker):
    def __init__(self, window: QWidget, commands: CommandList) -> None:
        super().__init__(
            window,
            tr("Command palette"),
            tr("Search commands"),
            tr("No matching commands"),
            tr("run", "what the Enter key does"),
            _MAX_LINES,
        )
        self._commands = commands
        commands.changed.connect(self.refresh)
        self.set_delegate(_Delegate(self.list_view, COMMAND_PX))

    def find_items(self, needle: str) -> Iterator[QStandardItem]:
        """Return the commands that can be used now, with these words in them or in their menu's name."""
        return self._commands.find(needle)

    def accept_item(self, index: QModelIndex) -> None:
        """Do the command of a line, with the keyboard where it was before."""
        action = command_at(index)
        if action is not None:
            self._commands.note_use(action)
            self.dismiss()
            action.trigger()
