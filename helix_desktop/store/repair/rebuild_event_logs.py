"""Rebuild the logs of sessions: each is cut where it has a gap, references are rebuilt.

A branch whose parent's log is cut before its point ends there too. Events after a gap are saved as lines of
JSON: a conversation with a gap would be a different one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from pathlib import Path
from urllib.parse import quote

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.store.branch_point import BranchPoint, point_in
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.domain.store.list_place import is_no_use
from helix_desktop.domain.store.repair_report import TruncatedSession
from helix_desktop.store.core import keys
from helix_desktop.store.leveldb.branches import read_branches
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.rows import ROWS, handover_mark, put_reference
from helix_desktop.store.repair.bulk_writer import BulkWriter

_MAX_NAME_CHARS = 100  # characters of a session's id in a file name


class LogRebuilder:
    """Rebuild the logs of a database that holds intact events, branches, summaries, and nothing derived."""

    def __init__(
        self, bulk_writer: BulkWriter, salvage_folder: Path, known_last_seqs: Mapping[str, int]
    ) -> None:
        """`known_last_seqs`: the seq that each session's log is known to have reached."""
        self._bulk_writer, self._salvage_folder = bulk_writer, salvage_folder
        self._known_last_seqs = dict(known_last_seqs)
        self._summaries: dict[str, SessionSummary] = {}
        self._branches: dict[str, BranchPoint] = {}
        self._last_seqs: dict[str, int] = {}  # of the logs that are rebuilt
        self.truncated: list[TruncatedSession] = []
        self.sessions = self.events = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every log. Raise StoreWriteFailed, OSError."""
        self._summaries = {summary.id: summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)}
        self._branches = read_branches(view)
        for session_id, rows in groupby(
            view.scan(keys.EVENTS), key=lambda row: keys.session_of_event(row[0])
        ):
            if session_id not in self._branches:
                self._rebuild_or_defer(session_id, (ROWS.event.decode(*row) for row in rows))
        for session_id in self._in_order_of_depth():
            self._rebuild(
                session_id, (recorded for _, recorded in ROWS.event.scan(view, keys.events_of(session_id)))
            )
        for session_id in sorted({*self._summaries, *self._known_last_seqs} - self._last_seqs.keys()):
            self._rebuild(session_id, ())

    def _rebuild_or_defer(self, session_id: str, log: Iterator[RecordedEvent]) -> None:
        """Rebuild a log, but that of a branch whose row is lost later: its first event tells its point."""
        first = next(log)
        point = point_in(first)
        if point is None:
            self._rebuild(session_id, chain((first,), log))
        else:
            self._branches[session_id] = point

    def _in_order_of_depth(self) -> Iterator[str]:
        """Yield every branch, each after its parent."""
        deferred = sorted(self._branches)
        while deferred:
            ready = [name for name in deferred if self._branches[name].parent not in deferred]
            deferred = [name for name in deferred if name not in ready]
            yield from ready or [deferred.pop()]

    def _shared_end(self, session_id: str) -> int:
        """Put the row of a branch as far as its parent's log still goes; return its last shared event."""
        point = self._branches.get(session_id)
        if point is None:
            return 0
        seq, parent = min(point.seq, self._last_seqs.get(point.parent, 0)), point.parent
        while parent in self._branches and seq <= self._branches[parent].seq:
            parent = self._branches[parent].parent
        self._branches[session_id] = BranchPoint(parent, seq)
        if seq:
            ROWS.branch.put(self._bulk_writer, self._branches[session_id], session_id)
        else:
            self._bulk_writer.delete(keys.branch(session_id))
        return seq

    def _rebuild(self, session_id: str, log: Iterable[RecordedEvent]) -> None:
        summary = self._summaries.get(session_id)
        count, last_kept = self._shared_end(session_id), None
        detached: list[RecordedEvent] = []
        rebuilt = SessionSummary(session_id, "", 0, 0)
        for recorded in log:
            if detached or recorded.seq != count + 1:
                detached.append(recorded)
                self._bulk_writer.delete(keys.event(session_id, recorded.seq))
                continue
            count, last_kept = recorded.seq, recorded
            if summary is None:
                rebuilt = _with_event(rebuilt, recorded)
            self._write_references(session_id, recorded)
            self.events += 1
        last = max([count, *(recorded.seq for recorded in detached), summary.events if summary else 0])
        last = max(last, self._known_last_seqs.pop(session_id, 0))
        self._last_seqs[session_id] = count
        if count:
            ROWS.last_seq.put(self._bulk_writer, count, session_id)
        if last_kept is not None:
            summary = summary or rebuilt
        if last > count:
            session_title = summary.title if summary else rebuilt.title
            self.truncated.append(
                TruncatedSession(
                    session_id, session_title, count, len(detached), last - count - len(detached)
                )
            )
            self._save_detached(session_id, detached)
        if summary is not None:
            self._write_summary(msgspec.structs.replace(summary, events=count) if last > count else summary)

    def _write_summary(self, summary: SessionSummary) -> None:
        ROWS.summary.put(self._bulk_writer, summary, summary.id)
        self.sessions += not summary.is_removed

    def _write_references(self, session_id: str, recorded: RecordedEvent) -> None:
        mark = handover_mark(session_id, recorded)
        if mark is not None:
            self._bulk_writer.put(mark)
        for digest in digests_in(recorded.event):
            put_reference(self._bulk_writer, session_id, recorded.seq, digest)

    def _save_detached(self, session_id: str, events: list[RecordedEvent]) -> None:
        if events:
            path = self._salvage_folder / f"session-{quote(session_id, safe='')[:_MAX_NAME_CHARS]}.jsonl"
            with path.open("ab") as file:
                file.writelines(msgspec.json.encode(recorded) + b"\n" for recorded in events)


def _with_event(summary: SessionSummary, recorded: RecordedEvent) -> SessionSummary:
    """Return a summary that was lost, with what one more event of its log says."""
    event = recorded.event
    place = summary.place.after(event)
    changes: dict[str, str | int] = {
        "created": summary.created or recorded.at,
        "updated": summary.updated if is_no_use(event) else recorded.at,
        "pinned": place.pinned,
        "archived": place.archived,
        "title": getattr(event, "title", summary.title),
        "events": recorded.seq,
    }
    if isinstance(event, SessionStarted):
        changes["parent"] = event.parent
    elif isinstance(event, SessionBranched):
        changes |= {"branch_of": event.parent, "branch_seq": event.seq, "branch_how": event.how}
    return msgspec.structs.replace(summary, **changes)
