"""Saves selected cache entries to a folder or a zip, as a job with Cancel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.services.entry_export import ExportedEntries, export_to_folder, export_to_zip
from helix_desktop.ui.cache.entry_actions import ExportEntries
from helix_desktop.ui.design.dialogs import choose, pick_folder, pick_save_file
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Notice, show_folder
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_ZIP = ".zip"


class CacheExportController(QObject):
    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session = window, session
        window.intents.add(self)

    @handles(ExportEntries)
    async def export(self, digests: Sequence[str]) -> None:
        """Ask for the kind of file and its place, and write entries to it. Raises HelixError."""
        choices = (
            ("folder", tr("Folder"), tr("One file for each output, and a list of what they are.")),
            ("zip", tr("Zip"), tr("The same in one file.")),
        )
        title = tr.plural(len(digests), "Export %n cached output", "Export %n cached outputs")
        kind = await choose(self._window, self._window.theme, title, choices)
        if kind:
            await (self._to_folder(digests) if kind == "folder" else self._to_zip(digests))

    async def _to_folder(self, digests: Sequence[str]) -> None:
        folder = await pick_folder(self._window, tr("Save cached outputs to a folder"))
        if folder is not None:
            await self.save_to_folder(digests, folder)

    async def _to_zip(self, digests: Sequence[str]) -> None:
        path = await pick_save_file(self._window, tr("Save cached outputs as a zip"), f"cache{_ZIP}", _ZIP)
        if path is not None:
            await self.save_as_zip(digests, path)

    async def save_to_folder(self, digests: Sequence[str], folder: Path) -> None:
        """Write entries into a folder. Raises HelixError."""
        store, done = self._session.workspace.store, ExportedEntries(folder)

        async def save(on_progress: OnProgress) -> bool:
            try:
                await export_to_folder(store, digests, done, on_progress)
            except HelixError:
                self._report(done, folder, tr("Saving stopped."))
                raise
            return True

        ended = await self._session.job(
            _job_text(len(digests)), save, tr("What was saved so far stays in the folder.")
        )
        self._report(done, folder, tr("Saving canceled.") if ended is None else "")

    async def save_as_zip(self, digests: Sequence[str], path: Path) -> None:
        """Write entries into a zip. Raises HelixError."""
        store, done = self._session.workspace.store, ExportedEntries(path)

        async def save(on_progress: OnProgress) -> bool:
            await export_to_zip(store, digests, done, on_progress)
            return True

        outcome = tr("No new file is left. A file that was there stays as it is.")
        if await self._session.job(_job_text(len(digests)), save, outcome):
            self._report(done, path.parent)

    def _report(self, done: ExportedEntries, folder: Path, end: str = "") -> None:
        """Say what was saved; `end` says that it ended before its time."""
        what = tr.plural(
            done.files, "%n entry saved to {place}.", "%n entries saved to {place}.", place=done.place.name
        )
        why = tr("{size}. The file index.json lists what they are.", size=format_size(done.size))
        if end:
            what = end
            why = tr.plural(
                done.files, "%n entry was saved to {place}.", "%n entries were saved to {place}.",
                place=done.place.name,
            )  # fmt: skip
        damaged = tr.plural(
            done.damaged, "%n damaged entry was left out.", "%n damaged entries were left out."
        )
        self._session.notify(
            Notice(
                "entries_saved",
                what,
                " ".join((why, damaged)) if done.damaged else why,
                answers=(show_folder(folder),),
                level="warning" if done.damaged else "info",
                workspace_id=self._session.workspace_id,
            )
        )


def _job_text(count: int) -> str:
    return tr.plural(count, "Saving %n entry", "Saving %n entries")
