"""Asks where the data directory is to be moved, says what stands in the way, and lets the app do it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal

from helix_desktop.config.moving import plan_move
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import HelixError
from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.dialog import SettingsDialog

_KEEP, _REMOVE = "keep", "remove"


class DataMoving(QObject):
    """Binds the button of the About page. The window itself must end before its data can move."""

    agreed = Signal(str, bool)
    """The new folder, and whether the old copy is to be removed at the end."""

    def __init__(self, dialog: SettingsDialog, window: MainWindow, intents: Intents, desk: Desk) -> None:
        super().__init__(dialog)
        self._dialog, self._window, self._desk = dialog, window, desk
        self._intents = Intents(intents.scope, self._tell)
        dialog.about.move_requested.connect(lambda: self._intents.start(self.ask(), "move data"))

    async def ask(self) -> None:
        """Ask for the folder and for the person's word. Raises HelixError for a folder that will not do."""
        self._dialog.about.say("")
        source = self._desk.data_folder
        target = await dialogs.pick_folder(self._dialog, "Move the data to an empty folder", source.parent)
        if target is None:
            return
        move = await asyncio.to_thread(plan_move, source, target)
        answer = await dialogs.ask(
            self._dialog,
            self._window.theme,
            f"Move {size_text(move.size)} to {move.target}?",
            "Helix Desktop closes, copies and verifies everything, and opens again. What runs is stopped. "
            "If it is cut off, the data stays where it is.",
            (
                Choice("", "Cancel"),
                Choice(_KEEP, "Move, keep the old copy", "primary"),
                Choice(_REMOVE, "Move and remove it", "danger"),
            ),
        )
        if answer:
            self.agreed.emit(str(move.target), answer == _REMOVE)

    def _tell(self, error: HelixError) -> None:
        self._dialog.about.say(str(error))
