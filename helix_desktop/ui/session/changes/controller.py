"""User actions on changes of files: accept, revert, redo, copy, open, cover more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import RevertPlan, RevertSelection
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.system.files import may_run
from helix_desktop.ui.changes.change_actions import (
    AcceptChanges,
    CopyPatch,
    OpenInEditor,
    RedoChanges,
    RevertChanges,
    RevertHunk,
    ShowUncoveredPlaces,
)
from helix_desktop.ui.changes.coverage import UncoveredPlacesDialog
from helix_desktop.ui.changes.rows import FileRow
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import UNDONE_CHANGES, Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.changes.revert_flow import RevertFlow, RevertOutcome
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

text = TextContext("Changes")
tr = Translator("Changes")

MakePlan = Callable[[WorkspaceChanges, str], Coroutine[Any, Any, RevertPlan]]


class ChangesController(QObject):
    def __init__(self, window: MainWindow, session: Session, reverts: RevertFlow) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._session, self._reverts, self._changes = session, reverts, window.pages.changes
        self._detail, self._start = self._changes.detail, session.start
        window.intents.add(self)
        reverts.undo = lambda done: self._start(self._undo(done), "undo revert")

    @handles(PutAutoRun)
    async def put_auto_run(
        self, change_ids: tuple[str, ...], restore: bool, capture_id: str, paths: tuple[str, ...]
    ) -> None:
        """Restore what was taken back of a call, or take it back."""
        workspace, session_id = self._session.workspace, self._session.id
        store = workspace.services.auto_run
        if store is None:
            return
        if session_id:
            await self._session.conversation.put_auto_run(change_ids, restore=restore)
        else:
            for change_id in change_ids:
                await store.put(change_id, restore=restore)
        if change_ids:
            if not await store.unreported():
                self._window.notices.end(UNDONE_CHANGES, workspace.id)
            count = len(change_ids)
            what = (
                tr.plural(count, "%n file restored.", "%n files restored.")
                if restore
                else tr.plural(
                    count, "%n file taken back. It is kept.", "%n files taken back. They are kept."
                )
            )
            take_back = PutAutoRun(change_ids, restore=False)
            undo = Answer(tr("Undo"), lambda: self._window.perform(take_back), ",".join(change_ids))
            notice = Notice(
                "auto_run",
                what,
                answers=(undo,) if restore else (),
                workspace_id=workspace.id,
                session_id=session_id,
                is_brief=True,
            )
            await self._changes.refresh()  # what is on screen when it is reported
            self._session.notify(notice)
        if paths:
            await self.revert(RevertSelection((capture_id,), paths))

    @handles(RevertChanges)
    async def revert(self, selection: RevertSelection) -> None:
        """Take back what is selected, after a look at what that does."""
        await self._carry_out(lambda changes, session_id: changes.plan(session_id, selection))

    @handles(RevertHunk)
    async def revert_hunk(self, file: FileRow, hunk: int, is_redo: bool) -> None:
        """Take a hunk back, or do one again that was taken back."""
        selection = RevertSelection(file.capture_ids, (file.path,), (hunk,), scope="hunk")
        if is_redo:
            await self._carry_out(lambda changes, session_id: changes.plan_hunk_redo(session_id, selection))
        else:
            await self.revert(selection)

    @handles(RedoChanges)
    async def redo(self, capture_id: str, paths: Sequence[str]) -> None:
        """Do again what was taken back of a capture, or by one: of these paths, or (none named) of all."""
        await self._carry_out(lambda changes, session_id: changes.plan_redo(session_id, capture_id, paths))

    async def _undo(self, done: RevertOutcome) -> None:
        await self._carry_out(
            lambda changes, session_id: changes.plan_redo(session_id, done.capture_id),
            done.session_id,
            done.plan,
        )

    async def _carry_out(
        self, make_plan: MakePlan, origin: str = "", undone: RevertPlan | None = None
    ) -> None:
        """Carry out a plan for the session on screen, or (named) for another that a revert stands in."""
        workspace, session_id = self._session.workspace, self._session.conversation.session.id
        plan = await make_plan(workspace.changes, origin or session_id)
        done = await self._reverts.carry_out(workspace, origin or session_id, plan)
        await self._changes.refresh()  # what is on screen when it is reported
        if done is not None:
            self._reverts.report(workspace, session_id, done, undone)

    @handles(AcceptChanges)
    async def accept(self, paths: Sequence[str]) -> None:
        """Accept changes of these paths; none named: all."""
        await self._session.workspace.changes.accept(self._session.conversation.session.id, paths)
        await self._changes.refresh()

    @handles(CopyPatch)
    async def copy_patch(self, selection: RevertSelection) -> None:
        workspace, session_id = self._session.workspace, self._session.conversation.session.id
        if any(selection.capture_ids):
            patch = await workspace.changes.patch(session_id, selection)
        else:  # of no capture: what differs from the last commit
            patch = await self._services.git.changes(workspace.id).patch(selection.paths)
        QGuiApplication.clipboard().setText(patch)
        self._detail.show_copied()

    @handles(OpenInEditor)
    async def open_in_editor(self, path: str) -> None:
        """Open a file of the workspace in the program that the system has for it. Raises HelixError."""
        folder = Path(self._services.registry.get(self._session.workspace.id).path)
        place = folder / path
        if not await asyncio.to_thread(_is_shown_when_opened, place, folder):
            place = folder
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(place))):
            raise HelixError(
                text("Couldn't open {file}.", file=path),
                text("No program is set up for this kind of file."),
                text("Choose one in your file manager."),
            )

    @handles(ShowUncoveredPlaces)
    async def show_uncovered_places(self) -> None:
        """Show what can't be undone, and let the user cover more."""
        changes = self._session.workspace.changes
        dialog = UncoveredPlacesDialog(self._window)
        dialog.show_coverage(changes.coverage)
        dialog.include_requested.connect(lambda *what: self._start(changes.include(*what), "include"))
        retint(dialog, self._window.theme)
        unsubscribe = changes.listen(lambda: dialog.show_coverage(changes.coverage))
        try:
            await exec_async(dialog)
        finally:
            unsubscribe()


def _is_shown_when_opened(place: Path, folder: Path) -> bool:
    """Return True for a file in the folder, by no link out of it, that the system does not run."""
    try:
        return place.resolve().is_relative_to(folder.resolve()) and not may_run(place)
    except OSError:
        return False
