"""Where the data lies: its folder, opened or moved from here."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from helix_desktop.config.data_dir import plan_move
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import FlowBox, column
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("About")

_KEEP, _REMOVE = "keep", "remove"


class MoveData(Intent, frozen=True):
    """Ends the app, so that its data can move to a folder; `removes_old`: the old copy goes at the end."""

    folder: str
    removes_old: bool


class DataFolder(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self._services, self._folder = session.app, session.app.data_folder
        async_actions = AsyncActions(session.actions.scope, self._show_error)
        path = label(str(self._folder), "mono", wrap=True)
        path.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        show = PushButton(tr("Show folder"), "", "folder-open", name="show_folder")
        move = PushButton(tr("Move…"), name="move_data", words=tr("Move the data to another folder"))
        self._status = label("", "note", wrap=True)
        self._status.hide()
        self.setLayout(column(path, FlowBox([show, move]), self._status, gap=6))
        show.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder))))
        move.clicked.connect(lambda: async_actions.start(self._move(), "move data"))

    async def _move(self) -> None:
        """Ask for the folder and for confirmation. Raises HelixError for a folder that cannot be used."""
        show_text(self._status, "")
        target = await dialogs.pick_folder(
            self.window(), tr("Move the data to an empty folder"), self._folder.parent
        )
        if target is None:
            return
        move = await asyncio.to_thread(plan_move, self._folder, target)
        await asyncio.to_thread(self._services.registry.check_is_outside, move.target)
        answer = await dialogs.ask(
            self.window(),
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
            perform(self, MoveData(str(move.target), answer == _REMOVE))

    def _show_error(self, error: HelixError) -> None:
        show_text(self._status, error_text(error))
