"""What the user does with changes of files: reverted, redone, accepted, copied, opened, covered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileState, RevertPlan, RevertSelection
from helix_desktop.domain.file_history.diff import merge
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
from helix_desktop.ui.changes.reverts.merge_dialog import MergeDialog
from helix_desktop.ui.changes.reverts.plan_dialog import PlanDialog, PlanView, done_text, files_changed
from helix_desktop.ui.changes.rows import FileRow
from helix_desktop.ui.changes.texts import revert_name
from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.layout.stack import LazyPage
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import UNDONE_CHANGES, Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator

tr = Translator("Changes")
text = TextContext("Changes")

ConfirmedPlan = tuple[RevertPlan, Mapping[str, RevertChoice]]
"""A plan, in which files may have been merged by hand, and what was chosen for each path."""
MakePlan = Callable[[WorkspaceChanges, str], Coroutine[Any, Any, RevertPlan]]


class RevertOutcome(msgspec.Struct, frozen=True):
    """What was done to how many files; `capture` of a session undoes it (empty: nothing does)."""

    plan: RevertPlan
    count: int
    session_id: str
    capture_id: str = ""


class RevertFlow:
    def __init__(self, session: Session, page: LazyPage[ChangesPage]) -> None:
        self._session, self._page = session, page
        self._done: dict[tuple[str, str], RevertOutcome] = {}
        session.handle(self)

    async def _refresh_page(self) -> None:
        """Show what was done on the page before it is reported."""
        if (page := self._page.find()) is not None:
            await page.refresh()

    async def carry_out(
        self, workspace: OpenWorkspace, session_id: str, plan: RevertPlan
    ) -> RevertOutcome | None:
        """Carry out a plan once the user has chosen where they must; None if they cancel.

        Raises HelixError.
        """
        choices: Mapping[str, RevertChoice] = {}
        if any(not file.can_apply for file in plan.files):
            answer = await self._ask(workspace.changes, plan)
            if answer is None:
                return None
            plan, choices = answer
        return await self.apply(workspace, session_id, plan, choices)

    @staticmethod
    async def apply(
        workspace: OpenWorkspace, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> RevertOutcome:
        """Change the files as planned and chosen. Raises HelixError."""
        count = files_changed(plan, choices)
        recorded = await workspace.changes.revert(session_id, plan, choices) if count else None
        event = recorded.event if recorded is not None else None
        capture = event.capture if isinstance(event, ChangesRecorded) else ""
        return RevertOutcome(plan, count, session_id, capture)

    def report(
        self,
        workspace: OpenWorkspace,
        session_id: str,
        done: RevertOutcome,
        undone: RevertPlan | None = None,
    ) -> None:
        """Say in a session what was done, or that a revert (by the plan `undone`) was, with the way back."""
        place = workspace.id, session_id
        self._done[place] = done

        def undo() -> None:
            self._done.pop(place, None)
            self._session.start(self._undo(done), "undo revert")

        what = done_text(done.plan, done.count, undone) if done.count else tr("Nothing to revert.")
        why = "" if done.count else tr("The files are already as they were before.")
        if done.capture_id:
            name = revert_name(done.plan.scope, is_redo=done.plan.is_redo)
            why = tr("Changes lists it as “{name}”, and can undo it later.", name=name)
        self._session.notify(
            Notice(
                "files-reverted",
                what,
                why,
                answers=(Answer(tr("Undo"), undo, "undo", ends=True),) if done.capture_id else (),
                is_brief=True,
                workspace_id=workspace.id,
                session_id=session_id,
                ends_with=(UserSpoke,),  # Changes lists it, and can undo it
            )
        )

    def report_again(self, workspace: OpenWorkspace, reported_in: str, session_id: str) -> None:
        """Say in another session what was done, unless it was undone: the one that said it goes."""
        done = self._done.pop((workspace.id, reported_in), None)
        if done is not None:
            self.report(workspace, session_id, done)

    async def merge_by_hand(self, changes: WorkspaceChanges, files: PlanView, path: str) -> None:
        """Let the user merge a file of a plan on screen; their text becomes what `merged` puts there."""
        file = next(file for file in files.plan.files if file.path == path)
        sides = [await _content(changes, state) for state in (file.base, file.present, file.former)]
        merged = await asyncio.to_thread(merge, *sides)
        if merged is None:
            files.refuse_merge(path)
            return
        dialog = MergeDialog(files, path, merged)
        if await exec_async(dialog):
            plan = await changes.resolve_by_hand(files.plan, path, dialog.result_data())
            files.show_plan(plan, {path: "merged"})

    def connect_merging(self, changes: WorkspaceChanges, files: PlanView) -> None:
        files.merge_requested.connect(
            lambda path: self._session.start(self.merge_by_hand(changes, files, path), "merge")
        )

    async def _ask(self, changes: WorkspaceChanges, plan: RevertPlan) -> ConfirmedPlan | None:
        dialog = PlanDialog(self._session.window, plan)
        self.connect_merging(changes, dialog.files)
        if await exec_async(dialog):
            return dialog.files.plan, dialog.files.choices
        return None

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
                self._session.notices.end(UNDONE_CHANGES, workspace.id)
            count = len(change_ids)
            what = (
                tr.plural(count, "%n file restored.", "%n files restored.")
                if restore
                else tr.plural(
                    count, "%n file taken back. It is kept.", "%n files taken back. They are kept."
                )
            )
            take_back = PutAutoRun(change_ids, restore=False)
            undo = Answer(tr("Undo"), lambda: self._session.perform(take_back), ",".join(change_ids))
            notice = Notice(
                "auto_run",
                what,
                answers=(undo,) if restore else (),
                workspace_id=workspace.id,
                session_id=session_id,
                is_brief=True,
            )
            await self._refresh_page()
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
        done = await self.carry_out(workspace, origin or session_id, plan)
        await self._refresh_page()
        if done is not None:
            self.report(workspace, session_id, done, undone)

    @handles(AcceptChanges)
    async def accept(self, paths: Sequence[str]) -> None:
        """Accept changes of these paths; none named: all."""
        await self._session.workspace.changes.accept(self._session.conversation.session.id, paths)
        await self._refresh_page()

    @handles(CopyPatch)
    async def copy_patch(self, selection: RevertSelection) -> None:
        workspace, session_id = self._session.workspace, self._session.conversation.session.id
        if any(selection.capture_ids):
            patch = await workspace.changes.patch(session_id, selection)
        else:  # of no capture: what differs from the last commit
            patch = await self._session.app.git.changes(workspace.id).patch(selection.paths)
        QGuiApplication.clipboard().setText(patch)
        if (page := self._page.find()) is not None:
            page.detail.show_copied()

    @handles(OpenInEditor)
    async def open_in_editor(self, path: str) -> None:
        """Open a file of the workspace in the program that the system has for it. Raises HelixError."""
        folder = Path(self._session.app.registry.get(self._session.workspace.id).path)
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
        dialog = UncoveredPlacesDialog(self._session.window)
        dialog.show_coverage(changes.coverage)
        dialog.include_requested.connect(lambda *what: self._session.start(changes.include(*what), "include"))
        unsubscribe = changes.listen(lambda: dialog.show_coverage(changes.coverage))
        try:
            await exec_async(dialog)
        finally:
            unsubscribe()


async def _content(changes: WorkspaceChanges, state: FileState | None) -> bytes:
    return await changes.content(state.digest) if state is not None and state.digest else b""


def _is_shown_when_opened(place: Path, folder: Path) -> bool:
    """Return True for a file in the folder, by no link out of it, that the system does not run."""
    try:
        return place.resolve().is_relative_to(folder.resolve()) and not may_run(place)
    except OSError:
        return False
