"""The changes of a workspace's files, for window and command line: what there is, and taking it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from helix_desktop.agent.change_recorder import read_state_content, record_unrecorded, show_captures
from helix_desktop.agent.ports import FileHistory, Store
from helix_desktop.agent.session import Session
from helix_desktop.agent.trust import IsTrusted
from helix_desktop.context.log.file_changes import (
    LoggedCapture,
    LoggedChanges,
    changes_after,
    joined_changes,
    logged_changes,
    selected_changes,
    session_changes,
    with_reverts_of,
    with_subagents,
    with_unrecorded,
)
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import InvalidInput, StoreError, StoreLocked, WorkspaceUntrusted
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesAccepted
from helix_desktop.domain.file_history.changes import (
    ChangeList,
    FileChange,
    FileCoverage,
    FileState,
    PlannedFile,
    RecordedChanges,
    RevertDirections,
    RevertPlan,
    RevertScope,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.file_history.diff import FileDiff, PatchFile, diff_states, patch_text
from helix_desktop.domain.file_history.hunks import HunkState, all_in_state, apply_hunks, hunk_states
from helix_desktop.domain.file_history.three_way_merge import ChunkChoice, merge
from helix_desktop.domain.store import SessionSummary, related_branches
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Changes")
_MAX_CHANGES = 50_000  # changes whose lists stay in memory: some 50 MB


class WorkspaceChanges:
    """The changes of one workspace's files. Always there; without a history it can only list the log.

    Every method but `coverage` may raise StoreError, and InvalidInput without a history.
    """

    def __init__(
        self,
        history: FileHistory | None,
        store: Store,
        find_open: Callable[[str], Session | None],
        open_session: Callable[[str], Awaitable[Session]],
        is_trusted: IsTrusted,
        is_read_only: bool = False,
    ) -> None:
        """`find_open` returns an open session, or a subagent that runs; `open_session` opens one.

        What was captured can be read in a folder that is not trusted, too; its files are left alone.
        """
        self._history = history
        self._store = store
        self._is_trusted = is_trusted
        self._find_open = find_open
        self._open_session = open_session
        self._is_read_only = is_read_only
        self._lists: dict[str, ChangeList] = {}
        self._ended_subagents: dict[str, LoggedChanges] = {}
        self._branches: dict[str, tuple[int, LoggedChanges]] = {}  # closed ones, as of their last events

    @property
    def is_available(self) -> bool:
        return self._history is not None

    @property
    def coverage(self) -> FileCoverage:
        return self._history.coverage if self._history is not None else FileCoverage()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._history.listen(listener) if self._history is not None else lambda: None

    async def of_session(self, session_id: str) -> SessionChanges:
        """Return the changes of a session and its subagents; what was captured last is recorded first."""
        captures, logged = await self._captures(session_id)
        lists = await self._load_lists(captures)
        return await asyncio.to_thread(session_changes, session_id, logged, captures, lists)

    async def diff(self, before: FileState | None, after: FileState | None) -> FileDiff:
        """Return what differs between two states of a path; compared in a thread."""
        history = self._require_history()
        contents = await read_state_content(history, before), await read_state_content(history, after)
        return await asyncio.to_thread(diff_states, before, contents[0], after, contents[1])

    async def hunk_states(self, diff: FileDiff, present: FileState | None) -> tuple[HunkState, ...]:
        if diff.kind != "text":
            return ()
        history = self._require_history()
        before, after, there = [
            await read_state_content(history, state) for state in (diff.before, diff.after, present)
        ]
        if present is not None and there is None:  # nobody knows
            return all_in_state(diff, "standing")
        return await asyncio.to_thread(hunk_states, diff, before, after, there)

    async def content(self, digest: str) -> bytes:
        """Return a former content. Raises DigestUnknown, ContentDamaged."""
        return await self._require_history().content(digest)

    async def plan(self, session_id: str, selection: RevertSelection) -> RevertPlan:
        """Return what taking back a part of a session would do; nothing is changed.

        Raises InvalidInput for hunks of more than one change, or of one that is no text.
        """
        rows = (await self.of_session(session_id)).captures
        if selection.hunks is not None:
            change = await self._without_hunks(rows, selection, selection.hunks)
            row = _find(rows, selection.capture_ids[0])
            if row.source == "revert" and change in row.changes:  # all of its hunks
                of_file = replace(selection, hunks=None, scope=_scope_against(row))
                return await self._keep_other_lines(await self.plan(session_id, of_file))
            return await self._keep_other_lines(
                await self._plan(rows, [change], selection.capture_ids, "hunk")
            )
        changes, captures = await asyncio.to_thread(selected_changes, rows, selection)
        return await self._plan(rows, changes, captures, selection.scope)

    async def plan_hunk_redo(self, session_id: str, selection: RevertSelection) -> RevertPlan:
        """Return what doing a hunk again would do that was taken back: of one change, or of a revert.

        Raises InvalidInput as `plan` does.
        """
        rows = (await self.of_session(session_id)).captures
        hunks = selection.hunks or ()
        change = await self._without_hunks(rows, selection, hunks)
        again = FileChange(change.path, before=change.after, after=change.before)
        row = _find(rows, selection.capture_ids[0])
        by = await self._taken_back_by(rows, row, again, hunks)
        if by is None:
            ids, scope = (row.reverts, row.scope) if row.source == "revert" else ((row.capture_id,), "redo")
            return await self._keep_other_lines(await self._plan(rows, [again], ids, scope))
        file_plan = await self.plan(
            session_id, RevertSelection((by.capture_id,), (again.path,), scope=_scope_against(by))
        )
        part = await self._plan(rows, [again], (by.capture_id,), "hunk")
        is_all = [*map(_outcome, file_plan.files)] == [*map(_outcome, part.files)]
        return await self._keep_other_lines(file_plan if is_all else part)

    async def plan_rewind(self, session_id: str, seq: int) -> RevertPlan:
        """Return what bringing the files to what they were at event `seq` would do.

        Reverts made since are taken back with the changes of the agent. What the user or another program
        changed stays.
        """
        rows = (await self.of_session(session_id)).captures
        changes, captures = await asyncio.to_thread(changes_after, rows, seq)
        return await self._plan(rows, changes, captures, "rewind")

    async def plan_redo(self, session_id: str, capture_id: str, paths: Sequence[str] = ()) -> RevertPlan:
        """Return what redoing would do: of these paths, or (none named) of all.

        Of a revert that stands, it brings back what that took back; of what was taken back, it does it again.
        """
        rows = (await self.of_session(session_id)).captures
        row = _find(rows, capture_id)
        again = [
            FileChange(change.path, before=change.after, after=change.before)
            for change in row.changes
            if change.path in row.reverted and (not paths or change.path in paths)
        ]
        if row.source != "revert":
            return await self._plan(rows, again, (capture_id,), "redo")
        is_standing = any(
            change.path not in row.reverted for change in row.changes if not paths or change.path in paths
        )
        if is_standing:
            selection = RevertSelection((capture_id,), tuple(paths), scope=_scope_against(row))
            return await self.plan(session_id, selection)
        return await self._plan(rows, again, row.reverts, row.scope)

    async def revert(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> RecordedEvent | None:
        """Carry out a plan with the user's choices by path; return its event.

        None: there was nothing to do, or another process has the session open and will record it. Raises
        RevertRefused if a path is not as planned, or cannot be written; then nothing was changed.
        """
        history = self._require_files()
        captured = await history.revert(session_id, plan, choices)
        if captured is None:
            return None
        try:
            writer = self._find_open(session_id) or await self._open_session(session_id)
            await record_unrecorded(writer, history)
        except StoreLocked:
            return None
        return writer.log[writer.transcript.captures[captured.capture.id] - 1]

    async def accept(self, session_id: str, paths: Sequence[str] = ()) -> None:
        """Record that the user accepts what changed so far: of these paths, or (none named) of all."""
        writer = self._find_open(session_id) or await self._open_session(session_id)
        await writer.record_decided(lambda: [ChangesAccepted(writer.transcript.last_seq, tuple(paths))])

    async def patch(self, session_id: str, selection: RevertSelection) -> str:
        """Return changes as the text of a patch that git applies.

        Of several captures it has what is not taken back, and what they changed together in one piece.
        """
        rows = (await self.of_session(session_id)).captures
        select = partial(selected_changes, with_reverted=len(selection.capture_ids) == 1)
        changes, _ = await asyncio.to_thread(select, rows, selection)
        files = [
            PatchFile(change, await self.diff(change.before, change.after))
            for change in await asyncio.to_thread(joined_changes, changes)
        ]
        return await asyncio.to_thread(patch_text, files)

    async def include(self, path: str, included: bool) -> None:
        await self._require_files().include(path, included)

    async def pause_copy(self, is_paused: bool) -> None:
        await self._require_files().pause(is_paused)

    async def _captures(self, session_id: str) -> tuple[tuple[LoggedCapture, ...], LoggedChanges]:
        own = await self._logged(session_id)
        if self._history is not None:
            own = with_unrecorded(own, await self._history.unrecorded(session_id))
        subagents = {subagent: await self._logged_subagent(subagent) for subagent in own.subagents}
        captures = with_subagents(own, subagents)
        branches = related_branches(await self._store.sessions(), session_id)
        if not (branches and captures):
            return captures, own
        related = [await self._logged_branch(branch) for branch in branches]
        return await asyncio.to_thread(with_reverts_of, captures, own, related), own

    async def _logged(self, session_id: str) -> LoggedChanges:
        writer = self._find_open(session_id)
        history = self._history
        if writer is not None and history is not None:
            with suppress(StoreLocked):
                await show_captures(writer, history, await history.unrecorded(session_id))
        log = list(writer.log) if writer is not None else await self._store.events(session_id)
        return await asyncio.to_thread(logged_changes, session_id, log)

    async def _logged_branch(self, branch: SessionSummary) -> LoggedChanges:
        """Return what the log of a branch, or of a parent, says; read again only after it changed."""
        if self._find_open(branch.id) is not None:
            return await self._logged(branch.id)
        read = self._branches.get(branch.id)
        if read is None or read[0] != branch.events:
            read = self._branches[branch.id] = branch.events, await self._logged(branch.id)
        return read[1]

    async def _logged_subagent(self, session_id: str) -> LoggedChanges:
        """Return what a subagent's log says; read once after its end, while it is not opened again."""
        if self._find_open(session_id) is not None:
            self._ended_subagents.pop(session_id, None)
            return await self._logged(session_id)
        if session_id not in self._ended_subagents:
            self._ended_subagents[session_id] = await self._logged(session_id)
        return self._ended_subagents[session_id]

    async def _load_lists(self, captures: Sequence[LoggedCapture]) -> dict[str, ChangeList]:
        found: dict[str, ChangeList] = {}
        for digest in dict.fromkeys(capture.digest for capture in captures):
            changes = self._lists.get(digest) or await self._read_list(digest)
            if changes is not None:
                found[digest] = self._lists[digest] = changes
        size = sum(len(changes.changes) for changes in self._lists.values())
        while size > _MAX_CHANGES:
            size -= len(self._lists.pop(next(iter(self._lists))).changes)
        return found

    async def _read_list(self, digest: str) -> ChangeList | None:
        if self._history is None:
            return None
        try:
            return await self._history.change_list(digest)
        except StoreError:  # a clean-up removed it, or it is damaged
            return None

    async def _plan(
        self,
        rows: Sequence[RecordedChanges],
        changes: Sequence[FileChange],
        capture_ids: Sequence[str],
        scope: RevertScope,
    ) -> RevertPlan:
        plan = await self._require_files().plan_revert(changes, capture_ids)
        directions = RevertDirections()
        for row in rows:
            directions.add(row.capture_id, row.source, row.scope, row.reverts)
        is_redo = directions.is_redo(scope, capture_ids)
        return replace(plan, capture_ids=tuple(capture_ids), scope=scope, is_redo=is_redo)

    async def _keep_other_lines(self, plan: RevertPlan) -> RevertPlan:
        """Return the plan of a part of a file so that it asks and replaces nothing outside of its lines."""
        return replace(plan, files=tuple([await self._keep_lines_of(file) for file in plan.files]))

    async def _keep_lines_of(self, file: PlannedFile) -> PlannedFile:
        if file.status == "merge":
            return replace(file, status="ready", former=file.merged, merged=None)
        present = file.present
        states = (file.base, file.present, file.former)
        digests = [state.digest for state in states if state is not None and state.stored and state.digest]
        if file.status != "conflict" or present is None or len(digests) < len(states):
            return file
        sides = [await self.content(digest) for digest in digests]
        merged = await asyncio.to_thread(merge, *sides)
        if merged is None:
            return file
        own: dict[int, ChunkChoice] = {
            at: "theirs" for at, chunk in enumerate(merged.chunks) if chunk.choice is None
        }
        data = merged.build(own)
        digest = await self._require_history().put_content(data)
        return replace(file, former=replace(present, digest=digest, size=len(data)))

    async def _taken_back_by(
        self, rows: Sequence[RecordedChanges], row: RecordedChanges, change: FileChange, hunks: Sequence[int]
    ) -> RecordedChanges | None:
        """Return the newest revert that stands, and took hunks of a row's change of a path back."""
        own = next(own for own in row.changes if own.path == change.path)
        diff = await self.diff(own.before, own.after)
        for later in reversed(rows[rows.index(row) + 1 :]):
            turned = next((turned for turned in later.changes if turned.path == change.path), None)
            if later.source != "revert" or turned is None or change.path in later.reverted:
                continue
            before = await self.hunk_states(diff, turned.before)
            after = await self.hunk_states(diff, turned.after)
            if all((before[hunk], after[hunk]) == ("standing", "taken_back") for hunk in hunks):
                return later
        return None

    async def _without_hunks(
        self, rows: Sequence[RecordedChanges], selection: RevertSelection, hunks: Sequence[int]
    ) -> FileChange:
        """Return the change from a file without some hunks of a change to the file with all of them."""
        history = self._require_history()
        if len(selection.capture_ids) != 1 or len(selection.paths) != 1:
            raise InvalidInput(
                _text("Hunks are those of one change of one file."), fix=_text("Choose one of each.")
            )
        row = _find(rows, selection.capture_ids[0])
        (path,) = selection.paths
        change = next((change for change in row.changes if change.path == path), None)
        if change is None:
            raise InvalidInput(
                _text("{file} is not in that change.", file=path), fix=_text("Choose a file that it changed.")
            )
        diff = await self.diff(change.before, change.after)
        if diff.kind != "text" or not all(0 <= hunk < len(diff.hunks) for hunk in hunks):
            raise InvalidInput(
                _text("That part of {file} can't be reverted alone.", file=path),
                _text("The change of that file has no such part."),
                _text("Revert the whole change of the file."),
            )
        if len(set(hunks)) == len(diff.hunks):
            return change
        before = await read_state_content(history, change.before)
        data = await asyncio.to_thread(apply_hunks, before or b"", diff, hunks)
        digest = await history.put_content(data)
        mode = change.after.mode if change.after is not None else 0o644
        return FileChange(path, FileState("file", digest, len(data), mode), change.after)

    def _require_files(self) -> FileHistory:
        """Return the history of a folder whose files may be read and written. Raises WorkspaceUntrusted.

        Raises InvalidInput where what is done couldn't be recorded.
        """
        if self._is_read_only and self._history is not None:
            raise InvalidInput(
                _text("Changes can't be reverted while the workspace is open for reading only."),
                _text("Helix's data folder can't be written."),
                _text("Make it writable, or free up disk space, then restart Helix."),
            )
        if not self._is_trusted():
            raise WorkspaceUntrusted(
                _text("Changes can't be reverted in a folder that isn't trusted."),
                fix=_text("Trust the folder first."),
            )
        return self._require_history()

    def _require_history(self) -> FileHistory:
        if self._history is None:
            raise InvalidInput(
                _text("This workspace has no file history."),
                _text("Its folder is missing."),
                _text("Put the folder back, or open the workspace at its new place."),
            )
        return self._history


def _scope_against(revert: RecordedChanges) -> RevertScope:
    """Return how much it is to take a whole revert back, or a redo."""
    return "file" if revert.is_redo else "redo"


def _outcome(file: PlannedFile) -> tuple[str, FileState | None]:
    return file.path, file.merged or file.former


def _find(rows: Sequence[RecordedChanges], capture_id: str) -> RecordedChanges:
    row = next((row for row in rows if row.capture_id == capture_id), None)
    if row is None:
        raise InvalidInput(
            _text("The session has no such change."), fix=_text("Choose one of those listed now.")
        )
    return row
