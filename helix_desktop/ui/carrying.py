"""Carries a workspace into a file, and a file into a workspace: dialogs, progress, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.context.archive import SUFFIX, Exported, Progress, exported_text, imported_text
from helix_desktop.context.digest import size_text
from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.frame.rows import Banner, BannerAction, JobRow, Level
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk

_FILTER = f"Workspaces (*{SUFFIX});;All files (*)"
_GROUP = "carrying"
_DONE = "carried"
_SHOW = "show"
_LOOK_MS = 100
T = TypeVar("T")


class Stage(Protocol):
    """Where workspaces are shown: the shell."""

    active: str

    async def open_workspace(self, identity: str) -> None:
        """Show a workspace."""
        ...

    async def leave(self, identity: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        ...


class Carrying(QObject):
    """Binds the rail's entries for export and import to the desk's carrier."""

    def __init__(self, window: MainWindow, intents: Intents, desk: Desk, stage: Stage) -> None:
        super().__init__(window)
        self._window, self._desk, self._stage = window, desk, stage
        self._jobs: dict[str, _Job] = {}
        self._written = Path()
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._show_jobs)
        start, rail = intents.start, window.rail
        rail.export_requested.connect(lambda identity: start(self.export(identity), "export"))
        rail.import_requested.connect(lambda identity: start(self.take_in(identity), "import"))
        window.jobs.cancel_requested.connect(self._cancel)
        window.banners.acted.connect(self._acted)

    async def export(self, identity: str) -> None:
        """Ask for a file, and write the workspace to it. Raises HelixError."""
        carrier, name = self._desk.carrier, self._desk.registry.get(identity).name
        path = await dialogs.pick_save_file(self._window, f"Export {name}", carrier.file_name(identity))
        if path is None:
            return
        place = path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)
        done = await self.run(f"Exporting {name}", lambda tell: carrier.export(identity, place, tell))
        if done is not None:
            self._tell_written(identity, done)

    async def take_in(self, identity: str) -> None:
        """Ask for a file, and merge it into the workspace, which is closed meanwhile. Raises HelixError."""
        name = self._desk.registry.get(identity).name
        path = await dialogs.pick_file(self._window, f"Import into {name}", _FILTER)
        if path is not None:
            await self.merge(identity, path)

    async def merge(self, identity: str, path: Path) -> None:
        """Merge a file into the workspace, which is closed meanwhile. Raises HelixError."""
        carrier = self._desk.carrier
        if not await self._may_close(identity):
            return
        shown = identity == self._stage.active
        if identity in self._desk.rooms:
            await self._stage.leave(identity)
        try:
            done = await self.run(
                f"Importing {path.name}", lambda tell: carrier.take_in(identity, path, tell)
            )
        finally:
            if shown and self._stage.active == identity:
                await self._stage.open_workspace(identity)
        if done is not None:
            words = imported_text(done)
            self._window.banners.show_banner(
                Banner(_DONE, "info", f"{path.name} was imported.", words, workspace=self._about(identity))
            )

    async def _may_close(self, identity: str) -> bool:
        """Whether nothing runs in a workspace, or the person says that it may be stopped."""
        room = self._desk.rooms.get(identity)
        if room is None or not any(one.running for one in room.conversations):
            return True
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            "Stop what runs in this workspace?",
            "A workspace is closed while a file is imported into it. What was said so far is kept.",
            (Choice("", "Keep it running"), Choice("stop", "Stop and import", "primary")),
        )
        return answer == "stop"

    async def run(self, text: str, work: Callable[[Progress], Awaitable[T]]) -> T | None:
        """Do it as a job with progress; None when the person has cancelled it."""
        return await self._done(_Job(text, True), work)

    async def watch(self, text: str, work: Callable[[Progress], Awaitable[T]]) -> T:
        """Do it as a job that is shown once it tells how far it is, and that cannot be cancelled."""
        done = await self._done(_Job(text, False), work)
        assert done is not None  # only a cancelled job has no result
        return done

    async def _done(self, job: _Job, work: Callable[[Progress], Awaitable[T]]) -> T | None:
        identity = f"{_GROUP}-{id(job)}"
        self._jobs[identity] = job
        self._show_jobs()
        self._look.start()
        try:
            async with asyncio.timeout(None) as job.limit:
                return await work(job.tell)
        except TimeoutError:
            return None
        finally:
            del self._jobs[identity]
            if not self._jobs:
                self._look.stop()
            self._show_jobs()

    def _show_jobs(self) -> None:
        rows = [
            JobRow(identity, job.words, job.share, job.cancellable)
            for identity, job in self._jobs.items()
            if job.cancellable or job.share is not None
        ]
        self._window.jobs.show_jobs(rows, _GROUP)

    def _cancel(self, identity: str) -> None:
        job = self._jobs.get(identity)
        if job is not None and job.limit is not None:
            job.limit.reschedule(0)

    def _tell_written(self, identity: str, done: Exported) -> None:
        self._written = Path(done.path)
        what = f"{self._written.name} was written: {size_text(done.file_size)}, verified."
        whole = not (done.held.missing or done.held.left_out)
        action = BannerAction(_SHOW, "Show folder")
        level: Level = "info" if whole else "warning"
        words, about = exported_text(done), self._about(identity)
        self._window.banners.show_banner(
            Banner(_DONE, level, what, words, actions=(action,), workspace=about)
        )

    def _about(self, identity: str) -> str:
        """Return the workspace that a result goes with; one that is not on screen is told of everywhere."""
        return identity if identity == self._stage.active else ""

    def _acted(self, banner: str, action: str) -> None:
        if (banner, action) == (_DONE, _SHOW):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._written.parent)))


class _Job:
    """One piece of work: its words, and how far it is, told from another thread."""

    def __init__(self, text: str, cancellable: bool) -> None:
        self._text, self.cancellable = text, cancellable
        self._far: tuple[int, int] = (0, 0)
        self.limit: asyncio.Timeout | None = None

    def tell(self, done: int, size: int) -> None:
        self._far = done, size

    @property
    def share(self) -> float | None:
        """0 to 1; None as long as it is not known."""
        done, size = self._far
        return min(1.0, done / size) if size else None

    @property
    def words(self) -> str:
        share = self.share
        return self._text if share is None else f"{self._text} · {share * 100:.0f} %"
