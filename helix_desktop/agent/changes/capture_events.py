"""Makes events of captures, and records them in a session's log: each once, whatever was cut off before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from helix_desktop.agent.ports.file_history import FileHistory
from helix_desktop.agent.session import Session
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.workspace import MAX_PATHS, ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    CapturedChanges,
    FileChange,
    FileState,
    is_folder,
    without_implied,
)
from helix_desktop.domain.file_history.diff import BINARY_KINDS, diff_states

_MAX_COMPARED = 50  # files of one capture whose lines are counted
_MAX_BYTES = 4 * 1024 * 1024  # bytes of their contents: some 0.1 s in a thread


async def record_captures(
    session: Session, history: FileHistory, captures: Sequence[CapturedChanges]
) -> list[RecordedEvent]:
    """Record the captures that do not stand in the log yet, and acknowledge all. Raises StoreError."""
    if not captures:
        return []
    events = [await _event(history, captured) for captured in captures]
    recorded = await session.record_decided(
        lambda: [event for event in events if event.capture not in session.transcript.captures]
    )
    await history.acknowledge([event.capture for event in events])
    return recorded


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
    capture, changes = captured.capture, captured.list.changes
    listed = without_implied(changes)
    listed = [
        change for change in listed if not (is_folder(change.before) or is_folder(change.after))
    ] or listed
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
        added, removed = added + diff.added, removed + diff.removed
        binary += diff.kind in BINARY_KINDS
    return added, removed, binary
