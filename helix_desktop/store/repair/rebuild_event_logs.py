"""Rebuild the logs of sessions: each is cut where it has a gap, references are rebuilt.

Events after a gap are saved as lines of JSON: a conversation with a gap would be a different one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import msgspec

from helix_desktop.domain.events.session import RecordedEvent, SessionStarted, digests_in
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.domain.store.repair_report import TruncatedSession
from helix_desktop.store.core import keys
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.rows import ROWS, put_reference
from helix_desktop.store.repair.bulk_writer import BulkWriter

_MAX_NAME_CHARS = 100  # characters of a session's id in a file name


class LogRebuilder:
    """Rebuild the logs of a database that holds intact events and summaries, and nothing derived."""

    def __init__(
        self, bulk_writer: BulkWriter, salvage_folder: Path, known_last_seqs: Mapping[str, int]
    ) -> None:
        """`known_last_seqs`: the seq that each session's log is known to have reached."""
        self._bulk_writer, self._salvage_folder = bulk_writer, salvage_folder
        self._known_last_seqs = dict(known_last_seqs)
        self.truncated: list[TruncatedSession] = []
        self.sessions = self.events = 0

    def run(self, view: ReadView) -> None:
        """Rebuild every log. Raise StoreWriteFailed, OSError."""
        summaries = {summary.id: summary for _, summary in ROWS.summary.scan(view, keys.SUMMARIES)}
        rows = view.scan(keys.EVENTS)
        for session, log in groupby(rows, key=lambda row: keys.session_and_seq(row[0])[0]):
            self._rebuild(session, summaries.pop(session, None), log)
        for session, summary in summaries.items():
            self._rebuild(session, summary, ())
        for session in sorted(self._known_last_seqs):
            self._rebuild(session, None, ())

    def _rebuild(
        self, session: str, summary: SessionSummary | None, log: Iterable[tuple[bytes, bytes]]
    ) -> None:
        last_kept: RecordedEvent | None = None
        detached: list[RecordedEvent] = []
        title, parent, created = "", "", 0
        for key, row in log:
            recorded = ROWS.event.decode(key, row)
            if detached or recorded.seq != (last_kept.seq if last_kept else 0) + 1:
                detached.append(recorded)
                self._bulk_writer.delete(key)
                continue
            last_kept = recorded
            created = created or recorded.at
            title = getattr(recorded.event, "title", title)
            parent = recorded.event.parent if isinstance(recorded.event, SessionStarted) else parent
            self._write_references(session, recorded)
        count = last_kept.seq if last_kept else 0
        last = max([count, *(recorded.seq for recorded in detached), summary.events if summary else 0])
        last = max(last, self._known_last_seqs.pop(session, 0))
        if last_kept is not None:
            ROWS.last_seq.put(self._bulk_writer, last_kept.seq, session)
            rebuilt = SessionSummary(
                session, title, created, last_kept.at, parent=parent, events=last_kept.seq
            )
            summary = summary or rebuilt
        if last > count:
            session_title = summary.title if summary else title
            self.truncated.append(
                TruncatedSession(session, session_title, count, len(detached), last - count - len(detached))
            )
            self._save_detached(session, detached)
        if summary is not None:
            self._write_summary(msgspec.structs.replace(summary, events=count) if last > count else summary)
        self.events += count

    def _write_summary(self, summary: SessionSummary) -> None:
        ROWS.summary.put(self._bulk_writer, summary, summary.id)
        self.sessions += 1

    def _write_references(self, session: str, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, HandoverMade):
            self._bulk_writer.put(keys.handover(session, recorded.seq))
        for digest in digests_in(recorded.event):
            put_reference(self._bulk_writer, session, recorded.seq, digest)

    def _save_detached(self, session: str, events: list[RecordedEvent]) -> None:
        if events:
            path = self._salvage_folder / f"session-{quote(session, safe='')[:_MAX_NAME_CHARS]}.jsonl"
            with path.open("ab") as file:
                file.writelines(msgspec.json.encode(recorded) + b"\n" for recorded in events)
