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
from helix_desktop.ui.chat.actions import OpenChanges
from helix_desktop.ui.kit.intents import ShowCommitChanges, ShowPage, handles
from helix_desktop.ui.kit.session import Session

_COUNTED_AT_ONCE = 8  # files whose lines are shown together


class ChangesPresenter:
    """Binds the page of changes to the session on screen; it is filled when `refresh` is called."""

    def __init__(self, view: ChangesPage, session: Session) -> None:
        self._view, self._session, self._git = view, session, session.app.git
        self._source: ListSource = "session"
        self._grouped: GroupedChanges | None = None
        self._workspace: OpenWorkspace | None = None  # whose coverage is followed
        self._conversation: Conversation | None = None  # whose changes are listed
        self._pending_reveal: tuple[str, str] | None = None
        self._pending_key = ""
        self._unsubscribe: Callable[[], None] = lambda: None
        self._diff_task: asyncio.Task[None] | None = None
        self._count_task: asyncio.Task[None] | None = None
        view.file_selected.connect(self._start_diff)
        view.counts_requested.connect(self._start_counting)
        view.filter_bar.source_changed.connect(self._choose_source)
        self._git.listen(self._show_git)
        session.changed.connect(self._leave)
        session.on_refresh_page("changes", self.refresh)

    def _leave(self) -> None:
        """Show another session, or none, from the next `refresh` on."""
        workspace = self._session.workspace if self._session.has_workspace else None
        conversation = self._session.find_conversation()
        if workspace is not self._workspace:
            self._unsubscribe()
            self._unsubscribe = workspace.changes.listen(self._show_coverage) if workspace else lambda: None
            folder = Path(self._session.app.registry.get(workspace.id).path) if workspace else None
            self._view.list.list_model.folder = folder
        if conversation is not self._conversation:
            self._view.set_state(ChangesState())
            self._source, self._grouped, self._pending_key = "session", None, ""
        self._workspace, self._conversation = workspace, conversation

    async def refresh(self) -> None:
        if not self._session.has_conversation:
            return
        workspace, conversation = self._session.workspace, self._session.conversation
        source = self._source
        if source == "commit":
            changes = commit_changes(await self._git.changes(workspace.id).list())
        else:
            changes = await workspace.changes.of_session(conversation.session.id)
        undone, undone_error = await _undone_changes(workspace)
        grouped = self._grouped
        if grouped is None or grouped.changes != changes:
            grouped = await asyncio.to_thread(group_changes, changes)
        if self._session.shows(conversation) and source == self._source:
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

    @handles(ShowCommitChanges)
    def show_commit(self) -> None:
        """List what differs from the last commit."""
        self._choose_source("commit")
        self._session.perform(ShowPage("changes"))

    def select(self, key: str) -> None:
        """Select a row by its key at the next `refresh`, if it is there then."""
        self._pending_key = key

    def _choose_source(self, source: ListSource) -> None:
        self._source = source
        self._session.start(self.refresh(), "changes")

    async def _diff(self, workspace: OpenWorkspace, row: FileRow) -> FileDiff:
        """Return the diff of a file. Raises HelixError."""
        if can_change(row):
            return await workspace.changes.diff(row.before, row.after)
        return await self._git.changes(workspace.id).diff(row.path, row.before, row.after)

    @handles(OpenChanges)
    def reveal(self, capture_id: str, path: str) -> None:
        """Show what a capture did to a path (empty: any) selected."""
        self._pending_reveal, self._source = (capture_id, path), "session"
        self._session.show_page("changes")

    def _show_coverage(self) -> None:
        self._view.show_coverage(self._session.workspace.changes.coverage)

    def _show_git(self, workspace_id: str) -> None:
        """Offer what differs from the last commit once git, which is read in the background, is known."""
        if self._grouped is not None and self._session.workspace.id == workspace_id:
            has_git = self._git.status(workspace_id) is not None
            self._view.set_state(replace(self._view.state, has_git=has_git))

    def _start_diff(self, row: FileRow) -> None:
        if self._diff_task is not None:
            self._diff_task.cancel()
        self._diff_task = self._session.start(self._show_diff(row), "diff")

    async def _show_diff(self, row: FileRow) -> None:
        workspace = self._session.workspace
        try:
            diff = await self._diff(workspace, row)
            states = await workspace.changes.hunk_states(diff, row.present) if can_revert_hunks(row) else ()
        except HelixError as error:
            self._view.show_diff_error(row, error)
            return
        if self._session.shows(workspace):
            self._view.show_diff(row, diff, states)

    def _start_counting(self, rows: Sequence[FileRow]) -> None:
        """Count the lines of files that came into sight; those that left it meanwhile wait."""
        if self._count_task is not None:
            self._count_task.cancel()
        self._count_task = self._session.start(self._count(rows), "count lines")

    async def _count(self, rows: Sequence[FileRow]) -> None:
        workspace = self._session.workspace
        counts: dict[Contents, LineCounts] = {}
        for row in rows:
            try:
                diff = await self._diff(workspace, row)
                counts[row.contents] = LineCounts.of(diff)
            except HelixError:  # its diff says why, where the user opens it
                counts[row.contents] = LineCounts(0, 0)
            if not self._session.shows(workspace):  # it was closed, or another one is on screen
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
