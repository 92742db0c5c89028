"""Records that files which the agent had read or written are not as it knows them any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Sequence
from typing import TypeVar

import msgspec

from helix_desktop.agent.ports import FileVersionChecker
from helix_desktop.agent.session import Session
from helix_desktop.context.log.staleness import Staleness
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.files.content import ChangedFile, FileVersion
from helix_desktop.domain.files.file_use import file_use
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalRequest, ToolResult

_MAX_FILES = 300  # files in one check: 20 to 60 ms in a thread
_MAX_NAMED = 20  # files that one call names and that are followed
_DEADLINE_S = 2.0  # seconds: a disk that does not answer holds up no turn
log = logging.getLogger(__name__)
_Found = TypeVar("_Found")


class FileVersionTracker:
    """The check of one session's files; without a checker it never finds a change."""

    def __init__(self, session: Session, checker: FileVersionChecker | None) -> None:
        self._session = session
        self._checker = checker

    async def with_versions(
        self, call: ToolCall, request: ApprovalRequest | None, result: ToolResult
    ) -> ToolResult:
        """Return the result of a call with the versions of the files that it names, if it has none.

        So what `cat` or an MCP tool reads or writes is followed like what our own tools do.
        """
        use = file_use(call) if result.ok and not result.files and _may_change_files(request) else None
        if self._checker is None or use is None:
            return result
        versions = await _in_time(self._checker.versions(use.paths[:_MAX_NAMED]))
        return result if versions is None else msgspec.structs.replace(result, files=versions)

    async def record_after(self, call_id: str, request: ApprovalRequest | None, result: ToolResult) -> None:
        """Record what a call changed, unless all that it can change is known."""
        if result.subagent or _may_change_files(request):
            await self.record(call_id)

    async def record(self, call_id: str = "") -> tuple[ChangedFile, ...]:
        """Record which files changed since the agent read or wrote them, the newest of them; return them.

        With them those that nothing told the agent of yet. What no call changed, a note has to tell it. Never
        raises.
        """
        versions = list(self._staleness.file_versions.values())
        checked = versions[-_MAX_FILES:]
        pending = await self._pending()
        unchecked = len(versions) - len(checked)
        found = await self._record(checked, FilesChanged((), call_id, unchecked, unannounced=not call_id))
        return (*pending, *found)

    async def record_unannounced(self, paths: Collection[str]) -> None:
        """Record that files the agent knows changed among these; it is told before it edits them."""
        await self._record(self._versions(paths), FilesChanged((), unannounced=True))

    async def before_edit(self, request: ApprovalRequest | None) -> tuple[ChangedFile, ...]:
        """Return which files of an edit changed since the agent saw them, and nothing told it so far.

        The answer to the call is to tell it: then they are as any other.
        """
        if request is None or request.kind != "edit":
            return ()
        paths = (request.subject, *request.other_paths)
        found = await self._record(self._versions(paths), FilesChanged(()))
        return (*found, *(file for file in await self._pending() if file.path in paths))

    async def _pending(self) -> tuple[ChangedFile, ...]:
        """Return what nothing told the agent of yet, without files that are again as it knows them.

        Records which of them changed once more since they were found.
        """
        pending = dict(self._staleness.unannounced)
        if self._checker is None or not pending:
            return ()
        versions = await _in_time(self._checker.versions(list(pending)))
        if versions is None:
            return tuple(pending.values())
        present = {version.path: version.fingerprint for version in versions}
        now = {
            path: ChangedFile(path, file.before, present.get(path, ""), is_gone=path not in present)
            for path, file in pending.items()
        }

        def decide() -> list[FilesChanged]:
            found = self._staleness.unannounced
            again = [now[path] for path, file in pending.items() if found.get(path) == file != now[path]]
            return [FilesChanged(tuple(again), unannounced=True)] if again else []

        await self._session.record_decided(decide)
        return tuple(file for file in now.values() if not file.before or file.after != file.before)

    async def _record(self, versions: Sequence[FileVersion], event: FilesChanged) -> tuple[ChangedFile, ...]:
        if self._checker is None or not versions:
            return ()
        report = await _in_time(self._checker.check(versions))
        if report is None:
            return ()
        versions_by_path = {version.path: version for version in versions}

        def decide() -> list[FilesChanged]:
            now = self._staleness.file_versions
            changed = tuple(
                file for file in report.files if now.get(file.path) == versions_by_path[file.path]
            )  # one may have been read again meanwhile
            unchecked = report.unchecked + event.unchecked
            return [msgspec.structs.replace(event, files=changed, unchecked=unchecked)] if changed else []

        recorded = [entry.event for entry in await self._session.record_decided(decide)]
        return tuple(file for event in recorded if isinstance(event, FilesChanged) for file in event.files)

    def _versions(self, paths: Collection[str]) -> list[FileVersion]:
        versions = self._staleness.file_versions
        return [versions[path] for path in paths if path in versions]

    @property
    def _staleness(self) -> Staleness:
        return self._session.transcript.staleness


async def _in_time(check: Awaitable[_Found]) -> _Found | None:
    """Return what a check finds; None if it fails or takes too long: that is found later."""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await check
    except (HelixError, OSError) as error:  # TimeoutError is one
        log.warning("files could not be checked for changes: %s", error)
        return None


def _may_change_files(request: ApprovalRequest | None) -> bool:
    """Return False for calls that only read: they need no approval; and for edits: they name their files."""
    return request is not None and request.may_change_files and request.kind != "edit"
