"""Keeps the git states on screen fresh: after what may change files, and when the user comes back."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QEvent, QObject
from shiboken6 import isValid

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import EventRecorded, TurnChanged, Update
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.file_changes import ChangesRecorded
from helix_desktop.domain.events.session import RecordedEvent, ToolAnswered
from helix_desktop.domain.file_history.state import FileChange
from helix_desktop.domain.tool_call_target import tool_kind
from helix_desktop.services.git.changes import GitChanges
from helix_desktop.ui.changes.commit_dialog import CommitDialog
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.words.errors import error_text
from helix_desktop.words.git import git_text

_READING = frozenset({"read", "list", "search"})
"""Kinds of tools that change nothing; what a command does in git's own folder is no change of files."""


class GitController(QObject):
    """Asks for the states of workspaces when they may be others now, and shows those that are."""

    def __init__(self, context: ControllerContext, workspaces: WorkspaceController) -> None:
        super().__init__(context.window)
        self._services, self._window = context.services, context.window
        self._git, self._sidebar = context.services.git, workspaces.sidebar
        self._git.listen(lambda _: self._sidebar.show_workspaces())
        workspaces.workspace_opened.connect(self._git.refresh)
        workspaces.session_updated.connect(self._on_update)
        context.window.commands.switch_workspace.triggered.connect(self._refresh_all)
        self._async_actions, self._active_workspace = context.async_actions, context.active_workspace
        context.window.commands.commit_changes.triggered.connect(
            lambda: self._async_actions.start(self._show_changes(), "commit changes")
        )
        context.window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Read the states of open workspaces when the window gets the focus."""
        if event.type() == QEvent.Type.WindowActivate:
            for workspace_id in self._services.open_workspaces:
                self._git.refresh(workspace_id)
        return False

    def _refresh_all(self) -> None:
        """Read the states of all workspaces: the switcher lists them."""
        for record in self._services.registry.list_workspaces():
            self._git.refresh(record.id)

    def _on_update(self, workspace: OpenWorkspace, _session: str, update: Update) -> None:
        match update:
            case TurnChanged(running=False):
                self._git.refresh(workspace.id)
            case EventRecorded(recorded=RecordedEvent(event=ChangesRecorded())):
                self._git.refresh(workspace.id)
            case EventRecorded(recorded=RecordedEvent(event=ToolAnswered(name=name))):
                if tool_kind(name) not in _READING:
                    self._git.refresh(workspace.id)

    async def _show_changes(self) -> None:
        """Show what differs from the last commit, until the user closes it."""
        workspace_id, start = self._active_workspace.require().id, self._async_actions.start
        changes = await asyncio.to_thread(self._git.changes, workspace_id)
        dialog = CommitDialog(self._window, git_text(self._git.status(workspace_id)), start)
        retint(dialog, self._window.theme)
        dialog.diff_requested.connect(lambda change: start(_show_diff(dialog, changes, change), "diff"))
        dialog.patch_requested.connect(lambda: start(_copy_patch(dialog, changes), "copy patch"))
        reading = start(_show_list(dialog, changes), "commit changes")
        try:
            await exec_async(dialog)
        finally:
            reading.cancel()


async def _show_list(dialog: CommitDialog, changes: GitChanges) -> None:
    try:
        found = await changes.list()
    except HelixError as error:
        dialog.show_problem(error_text(error))
        return
    dialog.show_changes(found)


async def _show_diff(dialog: CommitDialog, changes: GitChanges, change: FileChange) -> None:
    try:
        diff = await changes.diff(change.path, change.before, change.after)
    except HelixError as error:
        if isValid(dialog):
            dialog.show_diff_problem(change, error_text(error))
        return
    if isValid(dialog):
        dialog.show_diff(change, diff)


async def _copy_patch(dialog: CommitDialog, changes: GitChanges) -> None:
    patch = await changes.patch()
    if isValid(dialog):
        dialog.show_patch(patch)
