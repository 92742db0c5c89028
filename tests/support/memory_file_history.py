"""A file history in memory, of files in memory: for tests of what is recorded of changes and taken back."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from helix_desktop.context.log.file_changes import joined_changes
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, HelixError, RevertRefused
from helix_desktop.domain.file_history.changes import (
    CallMark,
    Capture,
    CapturedChanges,
    ChangeList,
    ChangeSource,
    FileChange,
    FileCoverage,
    FileState,
    PlannedFile,
    RevertPlan,
    UncoveredPlace,
)
from helix_desktop.domain.translatable_text import verbatim
from tests.support.memory_files import FOLDER, MemoryFiles

MODE = 0o644


class MemoryFileHistory:
    """Compares all files with how they were at every look; later changes of a path are always a conflict."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files
        self._tree: dict[str, FileState] = {}
        self._contents: dict[str, bytes] = {}
        self._running: dict[tuple[str, str], tuple[CallMark, dict[str, FileChange], set[str]]] = {}
        self._unrecorded: dict[str, CapturedChanges] = {}
        self._ids = itertools.count(1)
        self.coverage = FileCoverage(is_complete=True)
        self.error: HelixError | None = None  # raised by everything that captures
        self.gate = asyncio.Event()  # an end of a call waits for it
        self.gate.set()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Never call the listener: the coverage stays."""
        return lambda: None

    async def start(self) -> None:
        self._compare(None)

    async def close(self) -> None:
        """Do nothing."""

    async def include(self, path: str, included: bool) -> None:
        """Do nothing: all is covered."""

    async def pause(self, is_paused: bool) -> None:
        """Do nothing: all is covered."""

    async def begin_call(self, mark: CallMark) -> CapturedChanges | None:
        outside = await self._scan(mark.session, mark.paths)
        others = {other.title for other, _, _ in self._running.values()}
        for _, _, titles in self._running.values():
            titles.add(mark.title)
        self._running[mark.session, mark.call_id] = mark, {}, others
        return outside

    async def end_call(self, session_id: str, call_id: str) -> CapturedChanges | None:
        if self.error is not None:
            raise self.error
        await self.gate.wait()
        if (session_id, call_id) not in self._running:
            return None
        mark = self._running[session_id, call_id][0]
        self._assign(self._compare(mark.paths))
        mark, changes, others = self._running.pop((session_id, call_id))
        source: ChangeSource = "command" if mark.paths is None else "tool"
        return self._capture(
            session_id, source, changes.values(), call_id=call_id, others=tuple(sorted(others))
        )

    async def scan(self, session_id: str) -> CapturedChanges | None:
        return await self._scan(session_id, None)

    async def _scan(self, session_id: str, paths: Sequence[str] | None) -> CapturedChanges | None:
        if self.error is not None:
            raise self.error
        found = self._compare(paths)
        if self._running:
            self._assign(found)
            return None
        return self._capture(session_id, "outside", found)

    async def unrecorded(self, session_id: str) -> tuple[CapturedChanges, ...]:
        """Return what was not acknowledged yet."""
        return tuple(found for found in self._unrecorded.values() if found.capture.session == session_id)

    @property
    def unrecorded_ids(self) -> tuple[str, ...]:
        """The captures of all sessions that were not acknowledged yet."""
        return tuple(self._unrecorded)

    async def acknowledge(self, capture_ids: Sequence[str]) -> None:
        """Note that captures are recorded."""
        for capture_id in capture_ids:
            self._unrecorded.pop(capture_id, None)

    async def change_list(self, digest: str) -> ChangeList:
        return ChangeList.decode(await self.content(digest))

    async def content(self, digest: str) -> bytes:
        found = [key for key in self._contents if key.startswith(digest)]
        if len(found) != 1:
            raise DigestUnknown(verbatim("There is no such content."))
        return self._contents[found[0]]

    async def put_content(self, data: bytes) -> str:
        self._contents[digest_of(data)] = data
        return digest_of(data)

    def forget(self, digest: str) -> None:
        """Remove a content, as a clean-up does."""
        del self._contents[digest]

    async def current_states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        return {path: self._present(path) for path in paths}

    async def uncovered_files(self, paths: Sequence[str]) -> tuple[UncoveredPlace, ...]:
        if self.error is not None:
            raise self.error
        return tuple(place for place in self.coverage.places if place.path in paths)

    async def plan_revert(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        files: dict[str, PlannedFile] = {}
        for change in reversed(joined_changes(changes)):
            present = self._present(change.path)
            planned = files.get(change.path) or PlannedFile(change.path, present, change.after, present)
            if planned.former == change.after:
                planned = replace(planned, former=change.before)
            elif planned.former != change.before:
                planned = replace(planned, status="conflict", former=change.before)
            files[change.path] = planned
        return RevertPlan(
            tuple(
                replace(file, status="same") if file.former == file.present else file
                for _, file in sorted(files.items())
            ),
            tuple(capture_ids),
        )

    async def revert(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> CapturedChanges | None:
        """Bring the files to what is planned and chosen, or none of them."""
        await self._scan(session_id, None)
        planned = [file for file in plan.files if plan.target(file, choices) != file.present]
        if late := tuple(file.path for file in planned if self._present(file.path) != file.present):
            raise RevertRefused(verbatim("A file changed meanwhile."), paths=late)
        for file in planned:
            target = plan.target(file, choices)
            if target is not None:
                self._files.write(file.path, self._contents[target.digest])
            elif file.present is not None:
                self._files.remove(file.path)
        found = self._compare(None)
        return self._capture(session_id, "revert", found, reverts=plan.capture_ids, scope=plan.scope)

    def _present(self, path: str) -> FileState | None:
        data = self._files.read(path)
        if data is None:
            return None
        self._contents[digest_of(data)] = data
        return FileState("folder") if data == FOLDER else FileState("file", digest_of(data), len(data), MODE)

    def _compare(self, paths: Iterable[str] | None) -> list[FileChange]:
        """Return what is not as it was, and note how it is."""
        looked_at = sorted({*self._tree, *self._files.paths} if paths is None else set(paths))
        changes = []
        for path in looked_at:
            before = self._tree.pop(path, None)
            after = self._present(path)
            if after is not None:
                self._tree[path] = after
            if before != after:
                changes.append(FileChange(path, before, after))
        gone = {change.before.digest: change.path for change in changes if change.before and not change.after}
        return [
            replace(change, moved_from=gone.get(change.after.digest, ""))
            if change.before is None and change.after is not None
            else change
            for change in changes
        ]

    def _assign(self, found: Iterable[FileChange]) -> None:
        for change in found:
            for _, changes, _ in self._running.values():
                first = changes.get(change.path, change)
                is_shared = len(self._running) > 1 or first.shared
                changes[change.path] = replace(change, before=first.before, shared=is_shared)

    def _capture(
        self, session_id: str, source: ChangeSource, found: Iterable[FileChange], **fields: object
    ) -> CapturedChanges | None:
        changes = ChangeList(tuple(change for change in found if change.before != change.after))
        if not changes.changes:
            return None
        data = changes.encode()
        self._contents[digest_of(data)] = data
        number = next(self._ids)
        capture = Capture(f"c{number}", session_id, source, digest_of(data), number)
        captured = CapturedChanges(replace(capture, **fields), changes)
        self._unrecorded[captured.capture.id] = captured
        return captured
