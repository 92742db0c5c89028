"""The git state of workspaces: as it was last read, and read again soon after it may have changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.listeners import Listeners
from helix_desktop.services.git.changes import GitChanges
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.environment import WorkspaceEnvironment
from helix_desktop.tools.git import GitProgram, read_status
from helix_desktop.workspaces.registry import WorkspaceRegistry

log = logging.getLogger(__name__)

DEBOUNCE_S = 0.3  # calls that follow one another are one change
_REST = 5  # a checkout that takes long to read rests so many times longer before it is read again
_AT_ONCE = 2  # checkouts that are read at the same time
Listener = Callable[[str], None]


@dataclass
class _WatchedCheckout:
    """One workspace, and what was read of it; `rest_until` is a time of `monotonic`."""

    git: GitProgram | None = None
    status: GitStatus | None = None
    is_due: bool = False
    rest_until: float = 0.0
    task: asyncio.Task[None] | None = None


class GitCheckouts:
    """The states of workspaces; nothing is read before somebody listens, nor of a folder without trust."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        find_environment: Callable[[str, Path], WorkspaceEnvironment],
        debounce_s: float = DEBOUNCE_S,
    ) -> None:
        """`find_environment` returns what the commands of a workspace in a folder run with."""
        self._debounce_s = debounce_s
        self._registry, self._find_environment = registry, find_environment
        self._watched: dict[str, _WatchedCheckout] = {}
        self._changes: dict[str, GitChanges] = {}
        self._listeners: Listeners[[str], None] = Listeners()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._scope = TaskScope()

    def status(self, workspace_id: str) -> GitStatus | None:
        """Return the state of a workspace as last read; None: it is in no checkout, or was not read yet."""
        watched = self._watched.get(workspace_id)
        return watched.status if watched is not None else None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with a workspace's id when its state changed; return a function to unsubscribe."""
        return self._listeners.listen(listener)

    def refresh(self, workspace_id: str) -> None:
        """Read the state of a workspace soon: once for many calls, and never twice at the same time."""
        if not self._listeners or not self._may_read(workspace_id):
            return
        watched = self._watched.setdefault(workspace_id, _WatchedCheckout())
        watched.is_due = True
        if watched.task is None or watched.task.done():
            watched.task = self._scope.start(self._read_while_due(workspace_id, watched), "git status")

    def changes(self, workspace_id: str) -> GitChanges:
        """Return what differs between a workspace's files and the last commit: always the same object."""
        if workspace_id not in self._changes:
            self._changes[workspace_id] = GitChanges(
                self._environment(workspace_id), lambda: self._registry.get(workspace_id).trusted
            )
        return self._changes[workspace_id]

    def forget(self, workspace_id: str) -> None:
        """Read nothing more of a workspace; its folder or the user's trust has changed."""
        self._changes.pop(workspace_id, None)
        watched = self._watched.pop(workspace_id, None)
        if watched is not None and watched.task is not None:
            watched.task.cancel()
        self._listeners.notify(workspace_id)

    async def close(self) -> None:
        """End what is being read."""
        await self._scope.close(for_good=True)

    def _environment(self, workspace_id: str) -> WorkspaceEnvironment:
        return self._find_environment(workspace_id, Path(self._registry.get(workspace_id).path))

    def _may_read(self, workspace_id: str) -> bool:
        return any(
            record.id == workspace_id and record.trusted for record in self._registry.list_workspaces()
        )

    async def _read_while_due(self, workspace_id: str, watched: _WatchedCheckout) -> None:
        while watched.is_due:
            await asyncio.sleep(max(self._debounce_s, watched.rest_until - monotonic()))
            async with self._places:
                watched.is_due = False
                started = monotonic()
                status = await self._read(workspace_id, watched)
                ended = monotonic()
                watched.rest_until = ended + _REST * (ended - started)
            if status != watched.status:
                watched.status = status
                self._listeners.notify(workspace_id)

    async def _read(self, workspace_id: str, watched: _WatchedCheckout) -> GitStatus | None:
        try:
            if watched.git is None:
                watched.git = await asyncio.to_thread(lambda: self._environment(workspace_id).git)
            return await read_status(watched.git)
        except (HelixError, OSError) as error:  # the folder is gone, or there is no room for a temporary one
            log.warning("the state of a checkout could not be read: %s", error)
            return None
