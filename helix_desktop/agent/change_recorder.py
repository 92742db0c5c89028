"""Records changes of files: captures of calls as events, what came from outside, and files that changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from helix_desktop.agent.ports import FileHistory, Store, TokenCounter
from helix_desktop.agent.session import ErrorRaised, Session
from helix_desktop.context.log.file_changes import redo_ids
from helix_desktop.context.log.file_notes import FileUpdate, reverts_note
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import SubagentStarted, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import MAX_PATHS, ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    CallMark,
    CapturedChanges,
    FileChange,
    FileCoverage,
    FileState,
    counted_changes,
    is_folder,
)
from helix_desktop.domain.file_history.diff import (
    BINARY_KINDS,
    FileDiff,
    PatchFile,
    diff_contents,
    diff_states,
    patch_text,
)
from helix_desktop.domain.files.content import FINGERPRINT_DIGITS, ChangedFile
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden_name, repair_surrogates, unescape_name
from helix_desktop.permissions.data_loss import find_scripts
from helix_desktop.permissions.program import ANY_REMOVAL

log = logging.getLogger(__name__)
_text = TextContext("Changes")

_MAX_COMPARED = 50  # files of one capture whose lines are counted
_MAX_BYTES = 4 * 1024 * 1024  # bytes of their contents: some 0.1 s in a thread


async def record_captures(
    session: Session, history: FileHistory, captures: Sequence[CapturedChanges]
) -> list[RecordedEvent]:
    """Record the captures that do not stand in the log yet, and acknowledge all. Raises StoreError."""
    if not captures:
        return []
    events = [await _event(history, captured) for captured in captures]
    recorded = await session.record_decided(lambda: _unknown(session, events))
    await history.acknowledge([event.capture for event in events])
    return recorded


def _unknown(session: Session, events: Sequence[ChangesRecorded]) -> list[ChangesRecorded]:
    return [event for event in events if event.capture not in session.transcript.captures]


async def show_captures(session: Session, history: FileHistory, captures: Sequence[CapturedChanges]) -> None:
    """Show the captures that do not stand in the log yet: they are recorded with the user's next act.

    A revert, which another process made for the session, is an act. Raises StoreError.
    """
    if any(captured.capture.source == "revert" for captured in captures):
        await record_captures(session, history, captures)
    elif captures:
        events = [await _event(history, captured) for captured in captures]
        ids = [event.capture for event in events]
        await session.show_or_record(lambda: _unknown(session, events), lambda: history.acknowledge(ids))


async def record_unrecorded(session: Session, history: FileHistory) -> list[RecordedEvent]:
    """Record what was captured for a session and does not stand in its log. Raises StoreError.

    All of it, so that the log has the captures in the order in which they were made, whoever records them.
    """
    return await record_captures(session, history, await history.unrecorded(session.id))


async def read_state_content(history: FileHistory, state: FileState | None) -> bytes | None:
    """Return a file's content in a state; None: there is none, or only its hash is known."""
    if state is None or state.kind != "file" or not state.stored:
        return None
    try:
        return await history.content(state.digest)
    except HelixError:  # removed from the history, or damaged
        return None


async def _event(history: FileHistory, captured: CapturedChanges) -> ChangesRecorded:
    capture = captured.capture
    changes = captured.list.changes
    listed = counted_changes(changes)
    kinds = [change.kind for change in listed]
    moved = {change.moved_from for change in changes}  # their lines are the same
    compared = [change for change in changes if not change.moved_from and change.path not in moved]
    added_lines, removed_lines, binary = await _count_lines(history, compared)
    return ChangesRecorded(
        capture.id,
        capture.changes,
        capture.source,
        call_id=capture.call_id,
        others=capture.others,
        reverts=capture.reverts,
        scope=capture.scope,
        created=kinds.count("created"),
        changed=kinds.count("changed") + kinds.count("mode"),
        deleted=kinds.count("deleted"),
        moved=kinds.count("moved"),
        added_lines=added_lines,
        removed_lines=removed_lines,
        first_path=listed[0].path if listed else "",
        uncovered=sum(not change.is_covered for change in changes),
        paths=tuple(change.path for change in listed[:MAX_PATHS]),
        binary=binary,
    )


async def _count_lines(history: FileHistory, changes: Sequence[FileChange]) -> tuple[int, int, int]:
    """Return the lines added and removed in the files that are compared, and how many of these are binary.

    Compared are the first ones, within bounds.
    """
    added = removed = binary = 0
    bytes_left = _MAX_BYTES
    for change in changes[:_MAX_COMPARED]:
        bytes_left -= sum(state.size for state in (change.before, change.after) if state is not None)
        if bytes_left < 0:
            break
        before = await read_state_content(history, change.before)
        after = await read_state_content(history, change.after)
        diff = await asyncio.to_thread(diff_states, change.before, before, change.after, after)
        added = added + diff.added
        removed = removed + diff.removed
        binary += diff.kind in BINARY_KINDS
    return added, removed, binary


_MAX_TOKENS = 1_500  # tokens of all diffs together
_MAX_CHARS = 20_000  # characters of one diff that are counted at all
_MAX_FILES = 20  # files whose diff is made
_MAX_UPDATE_BYTES = 1024 * 1024  # bytes of a file that is compared
_UPDATE_DEADLINE_S = 2.0  # seconds: the message, or the edit, waits for it


async def _fitting(diffs: Sequence[tuple[str, FileDiff | None]], counter: TokenCounter) -> list[FileUpdate]:
    texts = [_patch(path, diff) if diff is not None else "" for path, diff in diffs]
    counts = await counter.count(texts)
    updates: list[FileUpdate] = []
    left = _MAX_TOKENS
    for (path, diff), text, tokens in zip(diffs, texts, counts, strict=True):
        if text and tokens <= left:
            left -= tokens
            updates.append(FileUpdate(path, text))
        elif diff is not None:
            updates.append(FileUpdate(path, _summary(path, diff)))
    return updates


async def _diff(file: ChangedFile, history: FileHistory) -> FileDiff | None:
    """Return the diff of a file; None if a version is not known, is too large, or is no text."""
    try:
        present = (await history.current_states([file.path]))[file.path]
        if present is None or present.size > _MAX_UPDATE_BYTES:
            return None
        after = await read_state_content(history, present)
        before = await history.content(file.before)
    except HelixError:
        return None
    if after is None or len(before) > _MAX_UPDATE_BYTES:
        return None
    diff = await asyncio.to_thread(diff_contents, before, after)
    return diff if diff.kind == "text" and diff.hunks else None


def _patch(path: str, diff: FileDiff) -> str:
    state = FileState()
    text = patch_text([PatchFile(FileChange(path, state, FileState(digest="0")), diff)])
    text = repair_surrogates(text.partition("\n")[2].rstrip("\n"))
    return text if len(text) <= _MAX_CHARS else ""


def _summary(path: str, diff: FileDiff) -> str:
    return (
        f"{escape_hidden_name(path)}: {diff.added} lines added, {diff.removed} removed, too many to show; "
        "read it again."
    )


T = TypeVar("T")

_LONG_COMMAND = 200  # characters; what is shorter is read in some milliseconds
_UNKNOWN = FileState()
_SCAN_S = 1.0  # seconds that a message waits for a scan: of 20,000 files it takes some 0.1
_DEADLINE_S = 60.0  # seconds; a scan of a million files takes some 5, and a disk that hangs holds up no turn


class ChangeRecorder:
    """The recorder of one session; without a history it does nothing.

    A history that fails breaks no call: the user gets one notice per cause, and nothing is recorded.
    """

    def __init__(self, session: Session, history: FileHistory | None, store: Store) -> None:
        self._session = session
        self._history = history
        self._store = store
        self._open_calls: dict[str, None] = {}
        self._causes: set[str] = set()
        self._agent_paths: set[str] = set()  # that calls changed, up to event `_agent_paths_upto`
        self._agent_paths_upto = 0

    async def file_updates(self, files: Sequence[ChangedFile]) -> list[FileUpdate]:
        """Return what changed of files that are still there, as far as the history has both versions.

        Together some 1,500 tokens of diffs; of what does not fit, how many lines changed. Never raises.
        """
        compared = [file for file in files if file.before and not file.is_gone][:_MAX_FILES]
        if (history := self._history) is None or not compared:
            return []
        try:
            async with asyncio.timeout(_UPDATE_DEADLINE_S):
                diffs = [(file.path, await _diff(file, history)) for file in compared]
                return await _fitting(diffs, self._session.counter)
        except Exception:  # the diff is a help, no condition; TimeoutError is one
            log.warning("what changed of files could not be compared", exc_info=True)
            return []

    async def outside_changes(self, announced: Collection[str]) -> tuple[ChangedFile, ...]:
        """Find what changed outside all calls, and return what of it the model has to be told.

        That is what changed since the user's last message of the files that calls changed, whether the agent
        read them or not; without the paths `announced`, of which it is told anyway. Never raises.
        """
        if self._history is None:
            return ()
        await asyncio.wait((self._start_scan(self._history),), timeout=_SCAN_S)
        await self._find_agent_paths()
        found: dict[str, FileChange] = {}
        for event in self._since_last_message():
            if event.source == "outside":
                changes = await self._changes_of(event)
                found |= {change.path: change for change in changes if change.path in self._agent_paths}
        return tuple(
            ChangedFile(path, _fingerprint(change.before), _fingerprint(change.after), change.after is None)
            for path, change in found.items()
            if path not in announced
            and all(state is None or state.kind == "file" for state in (change.before, change.after))
        )

    async def reverts_note(self, shown: Collection[str]) -> str:
        """Return what tells the model of the user's reverts since their last message; empty without any.

        None has to be read again if all are `shown` with what changed in them. Nothing of a file that is as
        it was then, or that an edit changed since: before that, the model had to be told. Nothing of folders:
        `.benchmarks`, which tests left empty, can't be read again.
        """
        if self._history is None:
            return ""
        await self._record(self._history)  # the command line reverts, too
        events = [event for event in self._since_last_message() if event.source in ("revert", "tool")]
        if not any(event.source == "revert" for event in events):
            return ""
        redos = redo_ids(self._session.log)
        found = dict[str, tuple[FileChange, str]]()
        for event in events:
            if event.scope == "rewind":
                how = "rewound"
            elif event.capture in redos:
                how = "redone"
            else:
                how = "reverted"
            for change in await self._changes_of(event):
                first, first_how = found.pop(change.path, (change, how))
                if event.source == "revert" and change.after != first.before:
                    net = replace(change, before=first.before)
                    found[change.path] = (net, how if how == first_how else "rewound")
        paths: dict[str, list[str]] = {"reverted": [], "redone": [], "rewound": []}
        for path, (net, how) in found.items():
            if not all(state is None or is_folder(state) for state in (net.before, net.after)):
                paths[how].append(path)
        return reverts_note(**paths, shown=shown)

    def _since_last_message(self) -> list[ChangesRecorded]:
        log = self._session.log
        start = next((n for n in range(len(log), 0, -1) if isinstance(log[n - 1].event, UserSpoke)), 0)
        return [entry.event for entry in log[start:] if isinstance(entry.event, ChangesRecorded)]

    async def _changes_of(self, event: ChangesRecorded) -> tuple[FileChange, ...]:
        """Return what was captured; nothing if its list is gone."""
        if self._history is None:
            return ()
        found = await self._quietly(self._history.change_list(event.changes))
        return found.changes if found is not None else ()

    async def _find_agent_paths(self) -> None:
        """Add the paths that calls changed since it was done last."""
        entries = self._session.log[self._agent_paths_upto :]
        self._agent_paths_upto += len(entries)
        for entry in entries:
            event = entry.event
            if isinstance(event, ChangesRecorded) and event.source in ("tool", "command"):
                self._agent_paths.update(change.path for change in await self._changes_of(event))

    async def with_coverage(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return a request with what of the files it may change is covered. Never raises."""
        if self._history is None or not request.may_change_files:
            return request
        if request.kind != "edit":
            scripts = await self._scripts_of(request, self._history) if request.kind == "command" else ()
            return replace(request, coverage=self._history.coverage, scripts=scripts)
        places = await self._quietly(self._history.uncovered_files(_edited_paths(request)))
        if places is None:
            return replace(request, coverage=FileCoverage())
        return replace(request, coverage=FileCoverage(places=places, uncovered=len(places), is_complete=True))

    async def _scripts_of(
        self, request: ApprovalRequest, history: FileHistory
    ) -> tuple[tuple[str, str], ...]:
        """Return the scripts that a command runs of those that the session's calls changed, with their texts.

        One that cannot be read stands for any.
        """
        if len(request.subject) > _LONG_COMMAND:
            paths = await asyncio.to_thread(find_scripts, request.subject, request.folder, request.root)
        else:
            paths = find_scripts(request.subject, request.folder, request.root)
        if not paths:
            return ()
        await self._find_agent_paths()
        changed = [path for path in paths if path in self._agent_paths]
        states = await self._quietly(history.current_states(changed)) if changed else {}
        scripts = []
        for path, state in (states or dict.fromkeys(changed, _UNKNOWN)).items():
            if state is not None:
                text = await self._quietly(history.content(state.digest)) if state.digest else None
                scripts.append((path, ANY_REMOVAL if text is None else text.decode("utf-8", "replace")))
        return tuple(scripts)

    async def begin_call(self, call: ToolCall, request: ApprovalRequest | None) -> tuple[str, ...]:
        """Have what a call will change captured, if it may change files.

        Records what changed before it outside all calls, and returns these paths, with those of the user's
        reverts since their last message.
        """
        if self._history is None or request is None or not request.may_change_files:
            return ()
        self._open_calls[call.id] = None  # first: the history may know it even if this is canceled
        mark = CallMark(
            self._session.id,
            call.id,
            call_target(call.arguments) or call.name,
            _edited_paths(request) if request.kind == "edit" else None,
        )
        outside = await self._attempt(self._history.begin_call(mark))
        await self._record(self._history)  # a look found some, too
        reverted = [event for event in self._since_last_message() if event.source == "revert"]
        lists = [await self._changes_of(event) for event in reverted]
        if outside:
            lists.append(outside.list.changes)
        return tuple(change.path for changes in lists for change in changes)

    async def end_call(self, call_id: str) -> CapturedChanges | None:
        """Return what a call changed, now that it has ended; `record` follows once it is answered."""
        if self._history is None or call_id not in self._open_calls:
            return None
        return await self._attempt(self._history.end_call(self._session.id, call_id))

    async def record(self, call_id: str, captured: CapturedChanges | None) -> None:
        if captured is not None and self._history is not None:
            await self._record(self._history)
        self._open_calls.pop(call_id, None)

    async def end_open_calls(self) -> None:
        """End the calls that were cut off, and record what they changed."""
        if self._history is None or not self._open_calls:
            return
        for call_id in tuple(self._open_calls):
            await self._attempt(self._history.end_call(self._session.id, call_id))
            self._open_calls.pop(call_id, None)
        await self._record(self._history)

    def scan_in_background(self) -> None:
        """Find and record what changed outside all calls."""
        if self._history is not None:
            self._start_scan(self._history)

    def catch_up_in_background(self) -> None:
        """Show what was captured before a kill, or by another process; also of subagents that ended so."""
        if self._history is not None:
            self._session.scope.start(self._catch_up(self._history), f"show changes {self._session.id}")

    def _start_scan(self, history: FileHistory) -> asyncio.Task[None]:
        return self._session.scope.start(self._scan(history), f"look at files {self._session.id}")

    async def _scan(self, history: FileHistory) -> None:
        await self._attempt(history.scan(self._session.id))
        await self._record(history)

    async def _catch_up(self, history: FileHistory) -> None:
        with suppress(HelixError):  # such as another process that has the session open, and records it
            await show_captures(self._session, history, await history.unrecorded(self._session.id))
            for entry in self._session.log[self._session.transcript.branched_at :]:  # not its parent's
                if isinstance(entry.event, SubagentStarted):
                    await self._adopt(history, entry.event.session)

    async def _adopt(self, history: FileHistory, subagent: str) -> None:
        """Show what a subagent's log lacks of its captures here: nothing is added to a log that ended."""
        captures = await history.unrecorded(subagent)
        if captures:
            log = await self._store.events(subagent)
            there = {entry.event.capture for entry in log if isinstance(entry.event, ChangesRecorded)}
            left = [captured for captured in captures if captured.capture.id not in there]
            await show_captures(self._session, history, left)

    async def _record(self, history: FileHistory) -> None:
        """Record what was captured. What fails is recorded later: the captures are durable."""
        await self._quietly(record_unrecorded(self._session, history))

    async def _quietly(self, work: Awaitable[T]) -> T | None:
        """Return what the history answers; None if it fails, and nothing is lost by that."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await work
        except Exception:
            log.warning("the file history failed", exc_info=True)
            return None

    async def _attempt(self, work: Awaitable[T]) -> T | None:
        """Return what the history answers; None if it fails, which the user is informed of once."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await work
        except HelixError as error:
            self._report(join_sentences(error.what, error.why), error.fix)
        except Exception as error:
            log.warning("the file history failed unexpectedly", exc_info=True)
            self._report(verbatim(f"{type(error).__name__}: {error}".removesuffix(": ")))
        return None

    def _report(self, why: TranslatableText, fix: OptionalText = "") -> None:
        if why not in self._causes:
            self._causes.add(why)
            what = _text("What the agent changes now can't be undone.")
            fix = fix or _text("The agent works on as before.")
            self._session.publish(ErrorRaised(what, why, fix, is_warning=True))


def _edited_paths(request: ApprovalRequest) -> tuple[str, ...]:
    """Return the paths of an edit, and what they spell: tools print odd names with codes.

    Names that are no text stay as printed: nothing of such a file is covered.
    """
    printed = (request.subject, *request.other_paths)
    spelled = [name for name in map(unescape_name, printed) if repair_surrogates(name) == name]
    return tuple(dict.fromkeys((*printed, *spelled)))


def _fingerprint(state: FileState | None) -> str:
    """Return how the hash of a file's content begins; empty for none."""
    return state.digest[:FINGERPRINT_DIGITS] if state is not None else ""
