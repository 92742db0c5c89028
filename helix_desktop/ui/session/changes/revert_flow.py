"""Carries out plans of reverts: at once where nothing stands against it, else after the user has chosen.

A question before each would be answered unread, and a revert can be undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileState, RevertPlan
from helix_desktop.domain.file_history.diff import merge
from helix_desktop.ui.changes.reverts.merge_dialog import MergeDialog
from helix_desktop.ui.changes.reverts.plan_dialog import PlanDialog, PlanView, done_text, files_changed
from helix_desktop.ui.changes.texts import revert_name
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

ConfirmedPlan = tuple[RevertPlan, Mapping[str, RevertChoice]]
"""A plan, in which files may have been merged by hand, and what was chosen for each path."""


class RevertOutcome(msgspec.Struct, frozen=True):
    """What was done to how many files; `capture` of a session undoes it (empty: nothing does)."""

    plan: RevertPlan
    count: int
    session_id: str
    capture_id: str = ""


class RevertFlow:
    def __init__(self, window: MainWindow, session: Session) -> None:
        self._window, self._session = window, session
        self._done: dict[tuple[str, str], RevertOutcome] = {}
        self.undo: Callable[[RevertOutcome], object]
        """What a notice's Undo does; set by the controller of changes."""

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
            self.undo(done)

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
        retint(dialog, self._window.theme)
        if await exec_async(dialog):
            plan = await changes.resolve_by_hand(files.plan, path, dialog.result_data())
            files.show_plan(plan, {path: "merged"})

    def connect_merging(self, changes: WorkspaceChanges, files: PlanView) -> None:
        files.merge_requested.connect(
            lambda path: self._session.start(self.merge_by_hand(changes, files, path), "merge")
        )

    async def _ask(self, changes: WorkspaceChanges, plan: RevertPlan) -> ConfirmedPlan | None:
        dialog = PlanDialog(self._window, plan)
        self.connect_merging(changes, dialog.files)
        retint(dialog, self._window.theme)
        if await exec_async(dialog):
            return dialog.files.plan, dialog.files.choices
        return None


async def _content(changes: WorkspaceChanges, state: FileState | None) -> bytes:
    return await changes.content(state.digest) if state is not None and state.digest else b""
