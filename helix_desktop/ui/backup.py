"""Backs up all workspaces into a folder: one file each, with progress, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.context.archive import Exported, Progress
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import HelixError, InputUnusable
from helix_desktop.ui import dialogs
from helix_desktop.ui.carrying import Carrying
from helix_desktop.ui.frame.rows import Banner, BannerAction, Level
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.workspaces.record import WorkspaceRecord

_DONE, _SHOW = "backed up", "show"
_STEPS = 1_000  # of the bar, for each workspace
_NAMED = 3  # workspaces that could not be written, told by name


class _Made(NamedTuple):
    """What came of a backup so far: files, and the names of what is not whole, with why."""

    asked: int
    files: list[Exported]
    troubles: list[tuple[str, str]]


class Backup(QObject):
    """Binds the command to the desk's carrier."""

    def __init__(self, window: MainWindow, intents: Intents, desk: Desk, carrying: Carrying) -> None:
        super().__init__(window)
        self._window, self._desk, self._carrying = window, desk, carrying
        self._folder = Path()
        window.commands.back_up.triggered.connect(lambda: intents.start(self.back_up(), "back up"))
        window.banners.acted.connect(self._acted)

    async def back_up(self) -> None:
        """Ask for a folder, and write each workspace to a file in it. Raises InputUnusable."""
        records = self._desk.carrier.stored()
        if not records:
            raise InputUnusable("There is nothing to back up.", "Nothing was stored in any workspace yet.")
        folder = await dialogs.pick_folder(self._window, "Back up all workspaces into a folder")
        if folder is None:
            return
        made = _Made(len(records), [], [])
        noun = "1 workspace" if made.asked == 1 else f"{made.asked} workspaces"
        ended = await self._carrying.run(
            f"Backing up {noun}", lambda tell: self._write(records, folder, made, tell)
        )
        self._folder = folder
        self._tell(made, cancelled=ended is None)

    async def _write(
        self, records: Sequence[WorkspaceRecord], folder: Path, made: _Made, tell: Progress
    ) -> bool:
        for number, record in enumerate(records):

            def far(done: int, size: int, before: int = number) -> None:
                tell(before * _STEPS + done * _STEPS // max(1, size), len(records) * _STEPS)

            try:
                one = await self._desk.carrier.back_up(record.id, folder, far)
            except HelixError as error:
                made.troubles.append((record.name, " ".join(filter(None, (error.what, error.why)))))
                continue
            made.files.append(one)
            lost = len(one.held.missing) + len(one.held.left_out)
            if lost:
                made.troubles.append((record.name, f"{lost} of its parts are damaged and not in the file."))
        return True

    def _tell(self, made: _Made, cancelled: bool) -> None:
        written = len(made.files)
        size = size_text(sum(one.file_size for one in made.files))
        share = f"{written} of {made.asked}" if written < made.asked else f"{written}"
        noun = "workspace was" if made.asked == 1 else "workspaces were"
        what = f"{share} {noun} backed up" + (f": {size}, verified." if written else ".")
        if cancelled:
            what = f"The backup was cancelled. {what}"
        told = [f"{name}: {why}" for name, why in made.troubles[:_NAMED]]
        if len(made.troubles) > _NAMED:
            told.append(f"And {len(made.troubles) - _NAMED} more.")
        actions = (BannerAction(_SHOW, "Show folder"),) if written else ()
        level: Level = "warning" if made.troubles else "info"
        why = "\n".join(told) or f"In {self._folder}"
        self._window.banners.show_banner(Banner(_DONE, level, what, why, actions=actions))

    def _acted(self, banner: str, action: str) -> None:
        if (banner, action) == (_DONE, _SHOW):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
