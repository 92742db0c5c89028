"""Records that files which the agent had read or written are not as it knows them any more."""

from __future__ import annotations

import asyncio
import logging

from helix_desktop.agent.ports import FileChecker
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.files import FilesChanged
from helix_desktop.domain.tools import ApprovalRequest, ToolResult

_MAX_FILES = 300  # files in one check: about 20 ms where none changed
_DEADLINE_S = 2.0  # seconds: a disk that does not answer holds up no turn
log = logging.getLogger(__name__)


class FileChanges:
    """The check of one session's files; without a checker it never finds a change."""

    def __init__(self, runtime: SessionRuntime, checker: FileChecker | None) -> None:
        self._runtime, self._checker = runtime, checker

    async def record_after(self, call_id: str, request: ApprovalRequest | None, result: ToolResult) -> None:
        """Record what a call changed, unless all that it can change is known.

        Reading calls need no approval, edits and writes say themselves what they wrote.
        """
        if result.subagent or (request is not None and request.kind not in ("edit", "fetch")):
            await self.record(call_id)

    async def record(self, call_id: str = "") -> None:
        """Record which files changed since the agent read or wrote them, the newest of them; never raises."""
        staleness = self._runtime.transcript.staleness
        versions = list(staleness.file_versions.values())
        if self._checker is None or not versions:
            return
        checked = versions[-_MAX_FILES:]
        try:
            async with asyncio.timeout(_DEADLINE_S):
                report = await self._checker.check(checked)
        except (HelixError, OSError) as error:  # TimeoutError is one: what is not found now is found later
            log.warning("files could not be checked for changes: %s", error)
            return
        versions_by_path = {version.path: version for version in checked}
        unchecked = report.unchecked + len(versions) - len(checked)

        def decide() -> list[FilesChanged]:
            now = self._runtime.transcript.staleness.file_versions
            changed = tuple(
                file for file in report.files if now.get(file.path) == versions_by_path[file.path]
            )  # one may have been read again meanwhile
            return [FilesChanged(changed, call_id, unchecked)] if changed else []

        await self._runtime.session.record_decided(decide)
