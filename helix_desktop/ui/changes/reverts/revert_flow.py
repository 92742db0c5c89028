"""What the user does with changes of files: reverts, redos, merges, marks as reviewed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
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
from helix_desktop.domain.file_history.changes import FileChange, RevertPlan, RevertSelection
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.files import may_run
from helix_desktop.ui.changes.change_groups import FileRow
from helix_desktop.ui.changes.change_list import (
    CopyPatch,
    MarkReviewed,
    OpenInEditor,
    RedoChanges,
    RevertChanges,
    RevertHunk,
)
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.changes.reverts.plan_dialog import PlanDialog, PlanView
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design.buttons import show_copied
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import UNDONE_CHANGES, Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.file_changes import changed_files_text
from helix_desktop.words.translation import Translator

tr = Translator("Changes")
text = TextContext("Changes")


def done_text(plan: RevertPlan, changes: Sequence[FileChange], undone: RevertPlan | None = None) -> str:
    """Return what was done to files; `undone` is the plan of a revert that this one undid."""
    path = changes[0].path
    files = changed_files_text(len(changes), path)
    file = escape_hidden_name(path)
    if undone is not None:
        if undone.is_redo:
            return tr("Redo undone: {files}", files=files)
        if undone.scope == "rewind":
            return tr("Rewind undone: {files}", files=files)
        return tr("Revert undone: {files}", files=files)
    match plan.scope:
        case "hunk" if plan.is_redo:
            return tr("Part of {file} redone.", file=file)
        case "hunk":
            return tr("Part of {file} reverted.", file=file)
        case "rewind":
            return tr("Rewound: {files}", files=files)
        case _ if plan.is_redo:
            return tr("Redone: {files}", files=files)
    return tr("Reverted: {files}", files=files)


MakePlan = Callable[[WorkspaceChanges, str], Coroutine[Any, Any, RevertPlan]]


class RevertOutcome(msgspec.Struct, frozen=True):
    """What was done to which files; `capture` of a session undoes it (empty: nothing does)."""

    plan: RevertPlan
    changes: Sequence[FileChange]
    session_id: str
    capture_id: str = ""


REVERTED = "files-reverted"


class RevertFlow:
    def __init__(self, session: Session, page: LazyPage[ChangesPage]) -> None:
        self._session = session
        self._page = page
        self._done: dict[tuple[str, str], RevertOutcome] = {}
        self._copies: list[TemporaryDirectory[str]] = []
        """Folders of previous versions that were opened; they go with this object."""
        session.handle(self)

    async def _refresh_page(self) -> None:
        if (page := self._page.find()) is not None:
            await page.refresh()

    @staticmethod
    async def apply(
        workspace: OpenWorkspace, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> RevertOutcome:
        changes = plan.counted_changes(choices)
        recorded = await workspace.changes.revert(session_id, plan, choices) if changes else None
        event = recorded.event if recorded is not None else None
        capture = event.capture if isinstance(event, ChangesRecorded) else ""
        return RevertOutcome(plan, changes, session_id, capture)

    def report(
        self, workspace: OpenWorkspace, session_id: str, done: RevertOutcome, undone: RevertPlan | None = None
    ) -> None:
        """Say in a session what was done, or that a revert (by the plan `undone`) was, with the way back."""
        place = workspace.id, session_id
        self._done[place] = done

        async def undo() -> None:
            self._done.pop(place, None)
            await self._carry_out(
                lambda changes, origin: changes.plan_redo(origin, done.capture_id), done.session_id, done.plan
            )

        undo_answer = Answer(
            tr("Undo"), lambda: self._session.start(undo(), "undo revert"), "undo", ends=True
        )
        what = done_text(done.plan, done.changes, undone) if done.changes else tr("Nothing to revert.")
        why = "" if done.changes else tr("The files are already as they were before.")
        page = self._page.find()
        if done.capture_id and not (page is not None and page.isVisible()):
            why = tr("You can also undo it later in Changes.")
        self._session.notify(
            Notice(
                REVERTED,
                what,
                why,
                answers=(undo_answer,) if done.capture_id else (),
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

    def connect_opening(self, workspace: OpenWorkspace, files: PlanView) -> None:
        """Let the user open the two versions of a file of a plan on screen."""

        async def open_both(path: str) -> None:
            file = next(file for file in files.plan.files if file.path == path)
            assert file.former is not None
            assert file.former.digest is not None
            previous = await workspace.changes.content(file.former.digest)
            copy = await asyncio.to_thread(self._write_copy, Path(path), previous)
            await _open(copy, copy.parent)
            await _open(self._folder / path, self._folder)
            files.keep_current(path)

        files.open_requested.connect(lambda path: self._session.start(open_both(path), "open both"))

    def _write_copy(self, path: Path, data: bytes) -> Path:
        """Write a previous version of a file for an editor to show it; blocks."""
        folder = TemporaryDirectory(prefix="helix-desktop-", ignore_cleanup_errors=True)
        self._copies.append(folder)
        copy = Path(folder.name) / tr("{name} (before){suffix}", name=path.stem, suffix=path.suffix)
        copy.write_bytes(data)
        return copy

    @property
    def _folder(self) -> Path:
        return Path(self._session.app.registry.get(self._session.workspace.id).path)

    @handles(PutAutoRun)
    async def put_auto_run(
        self, change_ids: tuple[str, ...], restore: bool, capture_id: str, paths: tuple[str, ...]
    ) -> None:
        """Restore what was taken back of a call, or take it back."""
        workspace = self._session.workspace
        session_id = self._session.id
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
            what = tr.plural(count, "%n file taken back. It is kept.", "%n files taken back. They are kept.")
            if restore:
                what = tr.plural(count, "%n file restored.", "%n files restored.")
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
        await self._carry_out(lambda changes, session_id: changes.plan(session_id, selection))

    @handles(RevertHunk)
    async def revert_hunk(self, file: FileRow, hunk: int, is_redo: bool) -> None:
        selection = RevertSelection(file.capture_ids, (file.path,), (hunk,), scope="hunk")
        if is_redo:
            await self._carry_out(lambda changes, session_id: changes.plan_hunk_redo(session_id, selection))
        else:
            await self.revert(selection)

    @handles(RedoChanges)
    async def redo(self, capture_id: str, paths: Sequence[str]) -> None:
        """Do again what was taken back of a capture, or by one: of these paths, or (none named) of all."""
        await self._carry_out(lambda changes, session_id: changes.plan_redo(session_id, capture_id, paths))

    async def _carry_out(
        self, make_plan: MakePlan, origin: str = "", undone: RevertPlan | None = None
    ) -> None:
        """Carry out a plan for the session on screen, or (named) for another that a revert stands in.

        The user is asked first where they must choose.
        """
        workspace = self._session.workspace
        session_id = self._session.conversation.session.id
        plan = await make_plan(workspace.changes, origin or session_id)
        choices = dict[str, RevertChoice]()
        if any(not file.can_apply for file in plan.files):
            dialog = PlanDialog(self._session.window, plan)
            self.connect_opening(workspace, dialog.files)
            if not await exec_async(dialog):
                return
            plan = dialog.files.plan
            choices = dialog.files.choices
        done = await self.apply(workspace, origin or session_id, plan, choices)
        await self._refresh_page()
        self.report(workspace, session_id, done, undone)

    @handles(MarkReviewed)
    async def accept(self, paths: Sequence[str]) -> None:
        await self._session.workspace.changes.accept(self._session.conversation.session.id, paths)
        await self._refresh_page()

    @handles(CopyPatch)
    async def copy_patch(self, selection: RevertSelection) -> None:
        workspace = self._session.workspace
        session_id = self._session.conversation.session.id
        if any(selection.capture_ids):
            patch = await workspace.changes.patch(session_id, selection)
        else:  # of no capture: what differs from the last commit
            patch = await self._session.app.git.changes(workspace.id).patch(selection.paths)
        QGuiApplication.clipboard().setText(patch)
        if (page := self._page.find()) is not None:
            show_copied(page.detail.patch)

    @handles(OpenInEditor)
    async def open_in_editor(self, path: str) -> None:
        """Open a file of the workspace in the program that the system has for it. Raises HelixError."""
        await _open(self._folder / path, self._folder)


async def _open(place: Path, folder: Path) -> None:
    """Open a file in the program that the system has for it, or else its folder. Raises HelixError."""
    shown = place
    if not await asyncio.to_thread(_is_shown_when_opened, place, folder):
        shown = folder
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown))):
        raise HelixError(
            text("Couldn't open {file}.", file=place.name),
            text("No program is set up for this kind of file."),
            text("Choose one in your file manager."),
        )


def _is_shown_when_opened(place: Path, folder: Path) -> bool:
    """Return True for a file in the folder, by no link out of it, that the system does not run."""
    try:
        return place.resolve().is_relative_to(folder.resolve()) and not may_run(place)
    except OSError:
        return False
