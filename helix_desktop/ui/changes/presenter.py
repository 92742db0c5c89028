"""Shows what a session did to the workspace's files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.services.git import GitCheckouts
from helix_desktop.ui.changes.rows import (
    ChangesState,
    Contents,
    FileRow,
    GroupedChanges,
    LineCounts,
    ListSource,
    Obstacle,
    can_change,
    can_revert_hunks,
    commit_changes,
    group_changes,
)
from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.design.async_actions import AsyncActions

_COUNTED_AT_ONCE = 8  # files whose lines are shown together


class ChangesPresenter:
    """Binds the page of changes to one conversation at a time; it is filled when `refresh` is called."""

    def __init__(
        self,
        view: ChangesPage,
        async_actions: AsyncActions,
        git: GitCheckouts,
        folder_of: Callable[[str], str],
    ) -> None:
        """`git` lists what differs from the last commit; `folder_of` returns the folder of a workspace."""
        self._folder_of = folder_of
        self._view, self._async_actions, self._git = view, async_actions, git
        self._source: ListSource = "session"
        self._grouped: GroupedChanges | None = None
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._pending_reveal: tuple[str, str] | None = None
        self._pending_key = ""
        self._unsubscribe: Callable[[], None] = lambda: None
        self._diff_task: asyncio.Task[None] | None = None
        self._count_task: asyncio.Task[None] | None = None
        view.file_selected.connect(self._start_diff)
        view.counts_requested.connect(self._start_counting)
        view.filter_bar.source_changed.connect(self._choose_source)
        git.listen(self._show_git)

    def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show another conversation of a workspace, or none, from the next `refresh` on."""
        if workspace is not self._workspace:
            self._unsubscribe()
            self._unsubscribe = workspace.changes.listen(self._show_coverage) if workspace else lambda: None
            folder = self._folder_of(workspace.id) if workspace else ""
            self._view.list.list_model.folder = Path(folder) if folder else None
        if conversation is not self._conversation:
            self._view.set_state(ChangesState())
            self._source, self._grouped, self._pending_key = "session", None, ""
        self._workspace, self._conversation = workspace, conversation

    async def refresh(self) -> None:
        """Show the changes as they are now."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or conversation is None:
            return
        source = self._source
        if source == "commit":
            changes = commit_changes(await self._git.changes(workspace.id).list())
        else:
            changes = await workspace.changes.of_session(conversation.session.id)
        undone, undone_error = await _undone_changes(workspace)
        grouped = self._grouped
        if grouped is None or grouped.changes != changes:
            grouped = await asyncio.to_thread(group_changes, changes)
        if conversation is self._conversation and source == self._source:
            self._grouped = grouped
            has_git = self._git.status(workspace.id) is not None
            coverage = workspace.changes.coverage
            obstacle = _obstacle(workspace)
            self._view.set_state(
                ChangesState(grouped, coverage, obstacle, has_git, source, undone, undone_error)
            )
            if self._pending_key:
                self._view.list.select(self._pending_key)
                self._pending_key = ""
            if self._pending_reveal is not None and self._view.reveal(*self._pending_reveal):
                self._pending_reveal = None

    def show_commit(self) -> None:
        """List what differs from the last commit."""
        self._choose_source("commit")

    def select(self, key: str) -> None:
        """Select a row by its key at the next `refresh`, if it is there then."""
        self._pending_key = key

    def _choose_source(self, source: ListSource) -> None:
        self._source = source
        self._async_actions.start(self.refresh(), "changes")

    async def _diff(self, workspace: OpenWorkspace, row: FileRow) -> FileDiff:
        """Return the diff of a file. Raises HelixError."""
        if can_change(row):
            return await workspace.changes.diff(row.before, row.after)
        return await self._git.changes(workspace.id).diff(row.path, row.before, row.after)

    def reveal(self, capture_id: str, path: str) -> None:
        """Select what a capture did to a path (empty: any) at the next `refresh` that has it."""
        self._pending_reveal, self._source = (capture_id, path), "session"

    def _show_coverage(self) -> None:
        if self._workspace is not None:
            self._view.show_coverage(self._workspace.changes.coverage)

    def _show_git(self, workspace_id: str) -> None:
        """Offer what differs from the last commit once git, which is read in the background, is known."""
        if self._workspace is not None and self._workspace.id == workspace_id and self._grouped is not None:
            has_git = self._git.status(workspace_id) is not None
            self._view.set_state(replace(self._view.state, has_git=has_git))

    def _start_diff(self, row: FileRow) -> None:
        if self._diff_task is not None:
            self._diff_task.cancel()
        self._diff_task = self._async_actions.start(self._show_diff(row), "diff")

    async def _show_diff(self, row: FileRow) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        try:
            diff = await self._diff(workspace, row)
            states = await workspace.changes.hunk_states(diff, row.present) if can_revert_hunks(row) else ()
        except HelixError as error:
            self._view.show_diff_error(row, error)
            return
        if workspace is self._workspace:
            self._view.show_diff(row, diff, states)

    def _start_counting(self, rows: Sequence[FileRow]) -> None:
        """Count the lines of files that came into sight; those that left it meanwhile wait."""
        if self._count_task is not None:
            self._count_task.cancel()
        self._count_task = self._async_actions.start(self._count(rows), "count lines")

    async def _count(self, rows: Sequence[FileRow]) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        counts: dict[Contents, LineCounts] = {}
        for row in rows:
            try:
                diff = await self._diff(workspace, row)
                counts[row.contents] = LineCounts.of(diff)
            except HelixError:  # its diff says why, where the user opens it
                counts[row.contents] = LineCounts(0, 0)
            if workspace is not self._workspace:  # it was closed, or another one is on screen
                return
            if len(counts) >= _COUNTED_AT_ONCE:
                self._view.show_counts(counts)
                counts = {}
        self._view.show_counts(counts)


async def _undone_changes(
    workspace: OpenWorkspace,
) -> tuple[tuple[AutoRunChange, ...], HelixError | None]:
    """Return what is undone after commands, or why that can't be read: the rest is shown all the same."""
    store = workspace.services.auto_run
    try:
        changes = await store.auto_run_changes() if store is not None else ()
    except HelixError as error:
        return (), error
    return tuple(change for change in changes if change.outcome == "removed"), None


def _obstacle(workspace: OpenWorkspace) -> Obstacle:
    if workspace.is_read_only and not workspace.changes.is_available:
        return "missing"
    return "" if workspace.is_trusted() else "untrusted"
