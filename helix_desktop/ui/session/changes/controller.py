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
from helix_desktop.ui.changes.presenter import ChangesPresenter
from helix_desktop.ui.changes.rows import FileRow
from helix_desktop.ui.changes.uncovered_places_dialog import UncoveredPlacesDialog
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
    """Binds the page of changes to the session on screen."""

    def __init__(
        self, window: MainWindow, session: Session, reverts: RevertFlow, changes: ChangesPresenter
    ) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._session, self._reverts, self._changes = session, reverts, changes
        actions, start = window.pages.changes.change_actions, session.start
        self._detail, self._start = window.pages.changes.detail, start
        actions.accept_requested.connect(lambda paths: start(self._accept(paths), "accept changes"))
        actions.revert_requested.connect(lambda what: start(self._revert(what), "revert"))
        actions.hunk_revert_requested.connect(lambda *what: start(self._revert_hunk(*what), "revert"))
        actions.hunk_redo_requested.connect(lambda *what: start(self._redo_hunk(*what), "redo"))
        actions.redo_requested.connect(lambda *what: start(self._redo(*what), "redo"))
        actions.patch_requested.connect(lambda what: start(self._copy_patch(what), "copy patch"))
        actions.editor_requested.connect(lambda path: start(self._open(path), "open in editor"))
        actions.places_requested.connect(lambda: start(self._show_places(), "coverage"))
        window.pages.changes.undone.restore_requested.connect(
            lambda change_id: self._window.perform(PutAutoRun((change_id,), restore=True))
        )
        window.intents.add(self)
        reverts.undo = lambda done: start(self._undo(done), "undo revert")

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
            self._window.notices.notify(notice)
        if paths:
            await self._revert(RevertSelection((capture_id,), paths))

    async def _revert(self, selection: RevertSelection) -> None:
        await self._carry_out(lambda changes, session_id: changes.plan(session_id, selection))

    async def _revert_hunk(self, row: FileRow, hunk: int) -> None:
        await self._revert(_hunk_selection(row, hunk))

    async def _redo_hunk(self, row: FileRow, hunk: int) -> None:
        """Do a hunk again that was taken back."""
        selection = _hunk_selection(row, hunk)
        await self._carry_out(lambda changes, session_id: changes.plan_hunk_redo(session_id, selection))

    async def _redo(self, capture_id: str, paths: Sequence[str]) -> None:
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

    async def _accept(self, paths: Sequence[str]) -> None:
        await self._session.workspace.changes.accept(self._session.conversation.session.id, paths)
        await self._changes.refresh()

    async def _copy_patch(self, selection: RevertSelection) -> None:
        workspace, session_id = self._session.workspace, self._session.conversation.session.id
        if any(selection.capture_ids):
            patch = await workspace.changes.patch(session_id, selection)
        else:  # of no capture: what differs from the last commit
            patch = await self._services.git.changes(workspace.id).patch(selection.paths)
        QGuiApplication.clipboard().setText(patch)
        self._detail.show_copied()

    async def _open(self, path: str) -> None:
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

    async def _show_places(self) -> None:
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


def _hunk_selection(row: FileRow, hunk: int) -> RevertSelection:
    return RevertSelection(row.capture_ids, (row.path,), (hunk,), scope="hunk")


def _is_shown_when_opened(place: Path, folder: Path) -> bool:
    """Return True for a file in the folder, by no link out of it, that the system does not run."""
    try:
        return place.resolve().is_relative_to(folder.resolve()) and not may_run(place)
    except OSError:
        return False
