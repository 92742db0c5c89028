"""Port: the history of a workspace's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.file_history.changes import (
    CallMark,
    CapturedChanges,
    ChangeList,
    FileChange,
    FileState,
)
from helix_desktop.domain.file_history.file_coverage import FileCoverage, UncoveredPlace
from helix_desktop.domain.file_history.revert import RevertPlan


class FileHistory(Protocol):
    """The history of a workspace's files: captures what changes, brings back what was.

    Everything runs in its own thread. What was captured is durable, and stays in `unrecorded` until it is
    acknowledged, so that nothing is missing from a session's log after a kill. Every method may raise
    StoreClosed, StoreWriteFailed and StoreUnreadable.
    """

    @property
    def coverage(self) -> FileCoverage:
        """What is covered, as last known; does not block."""
        ...

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of the coverage. Call the returned function to unsubscribe."""
        ...

    async def start(self) -> None:
        """Repair what a kill left, then copy what is not covered yet in the background. Does not raise."""
        ...

    async def begin_call(self, mark: CallMark) -> CapturedChanges | None:
        """Note that a call begins; return what changed before it outside all calls, for its session."""
        ...

    async def end_call(self, session_id: str, call_id: str) -> CapturedChanges | None:
        """Note that a call of a session ended, and return what changed during it; None: nothing did."""
        ...

    async def scan(self, session_id: str) -> CapturedChanges | None:
        """Return what changed outside all calls since the last look of any session, for this one."""
        ...

    async def unrecorded(self, session_id: str) -> tuple[CapturedChanges, ...]:
        """Return what was captured for a session and not acknowledged yet, oldest first."""
        ...

    async def acknowledge(self, capture_ids: Sequence[str]) -> None:
        """Note that captures stand in their session's log."""
        ...

    async def change_list(self, digest: str) -> ChangeList:
        """Return a list of changes. Raises DigestUnknown, ContentDamaged."""
        ...

    async def content(self, digest: str) -> bytes:
        """Return a former content; `digest` may be its first digits. Raises DigestUnknown, ContentDamaged."""
        ...

    async def put_content(self, data: bytes) -> str:
        """Store a content that a revert is to write, and return its digest."""
        ...

    async def current_states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        """Return what stands at paths now; their contents are stored where they are covered."""
        ...

    async def uncovered_files(self, paths: Sequence[str]) -> tuple[UncoveredPlace, ...]:
        """Return the files at paths whose content cannot be brought back if a tool changes it, and why."""
        ...

    async def plan_revert(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        """Return what taking back changes would do; they are in the order in which they were made."""
        ...

    async def revert(
        self,
        session_id: str,
        plan: RevertPlan,
        choices: Mapping[str, RevertChoice],
    ) -> CapturedChanges | None:
        """Bring the files of a plan to what is planned and chosen: all of it, or nothing.

        None: there was nothing to do. What changed outside all calls before is captured first, and stays in
        `unrecorded`. Raises RevertRefused if a path is not as it was planned, or cannot be written.
        """
        ...

    async def include(self, path: str, included: bool) -> None:
        """Cover a place that is not covered, or leave it to the rules again; holds for later starts too."""
        ...

    async def pause(self, is_paused: bool) -> None:
        """Pause the first copy, or let it go on; holds for later starts too."""
        ...

    async def close(self) -> None:
        """Stop the first copy (it goes on at the next start), and close the files."""
        ...
