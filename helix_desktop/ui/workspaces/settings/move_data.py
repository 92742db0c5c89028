"""Asks where the data directory is to be moved, says what stands in the way, and lets the app do it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, Signal

from helix_desktop.config.data_dir import plan_move
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.data_folder import DataFolder
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("About")
_KEEP, _REMOVE = "keep", "remove"


class MoveDataPresenter(QObject):
    """Binds a part of the settings about the data folder. The window must end before its data can move."""

    confirmed = Signal(str, bool)
    """The new folder, and whether the old copy is to be removed at the end."""

    def __init__(self, part: DataFolder, window: MainWindow, session: Session) -> None:
        super().__init__(part)
        self._part, self._window, self._services = part, window, session.app
        self._async_actions = AsyncActions(session.actions.scope, self._show_error)
        part.show_folder(self._services.data_folder)
        part.move_requested.connect(lambda: self._async_actions.start(self.prompt(), "move data"))

    async def prompt(self) -> None:
        """Ask for the folder and for confirmation. Raises HelixError for a folder that cannot be used."""
        self._part.show_status("")
        source = self._services.data_folder
        target = await dialogs.pick_folder(
            self._window, tr("Move the data to an empty folder"), source.parent
        )
        if target is None:
            return
        move = await asyncio.to_thread(plan_move, source, target)
        await asyncio.to_thread(self._services.registry.check_is_outside, move.target)
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            tr("Move {size} to {folder}?", size=format_size(move.size), folder=str(move.target)),
            tr(
                "Helix Desktop closes, copies and verifies the data, and opens again. Running tasks stop. "
                "If the move is interrupted, the data stays where it is."
            ),
            (
                DialogChoice("", tr("Cancel")),
                DialogChoice(_KEEP, tr("Move and keep old copy"), "primary"),
                DialogChoice(_REMOVE, tr("Move and remove old copy"), "danger"),
            ),
        )
        if answer:
            self.confirmed.emit(str(move.target), answer == _REMOVE)

    def _show_error(self, error: HelixError) -> None:
        self._part.show_status(error_text(error))
