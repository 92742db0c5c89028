"""What goes into an archive: a whole workspace, or one session with all that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.domain.draft import Draft
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.conversation import SubagentStarted, ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.store.branch_point import BranchPoint
from helix_desktop.domain.store.retention import indexed_digests
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.leveldb.branches import log_parts
from helix_desktop.store.leveldb.counters import read_totals
from helix_desktop.store.leveldb.database import ReadView
from helix_desktop.store.leveldb.event_log import read_events
from helix_desktop.store.leveldb.rows import ROWS
from helix_desktop.store.threads.bulk_access import StoreSnapshot


class ArchivedLog(msgspec.Struct, frozen=True):
    """The events of a session that an archive has of it, behind `branch` if its parent has the others."""

    events: Sequence[RecordedEvent]
    branch: BranchPoint | None = None


class WorkspaceScope:
    """All sessions and contents of a store; a branch goes behind its parent, with its own events alone.

    `entries` and `size`, in bytes, are the planned totals of the contents; `sessions` begins with parents.
    """

    def __init__(self, view: ReadView) -> None:
        self._view = view
        totals = read_totals(view)
        self.entries, self.size = totals.entries, totals.size
        self.digests: Iterable[str] = (keys.digest_in(key) for key, _ in view.scan(keys.RECORDS))
        spans = (keys.LAST_EVENTS, keys.SUMMARIES, keys.DRAFTS)
        names = {keys.session_of(key, span) for span in spans for key, _ in view.scan(span)}
        self.sessions = sorted(names, key=lambda name: (self._depth(name), name))

    def log(self, session_id: str) -> ArchivedLog:
        """Return the own events of a session. Raise RowDamaged."""
        point = ROWS.branch.get(self._view, session_id)
        return ArchivedLog(
            read_events(self._view, session_id)[point.seq if point is not None else 0 :], point
        )

    def _depth(self, session_id: str) -> int:
        """Return how many sessions a log begins with; 0 also for one that cannot be read."""
        try:
            return len(log_parts(self._view, session_id)) - 1
        except RowDamaged:
            return 0


class SessionScope:
    """A session, its subagents, and the contents that their logs and drafts lead to.

    A branch is archived with its whole log, as a session of its own: the rest of its parent's stays private.
    `entries` and `size`, in bytes, are the planned totals of the contents.
    """

    def __init__(self, snapshot: StoreSnapshot, session_id: str) -> None:
        self._snapshot, self._view = snapshot, snapshot.view
        self.sessions: list[str] = []
        digests: set[str] = set()
        waiting = [session_id]
        while waiting:
            name = waiting.pop(0)
            if name in self.sessions:
                continue
            self.sessions.append(name)
            try:
                events = [recorded.event for recorded in self.log(name).events]
                draft = ROWS.draft.get(self._view, name) or Draft()
            except RowDamaged:
                continue  # the writer says so
            events += [draft.partial_answer.event] if draft.partial_answer is not None else []
            digests |= draft.digests.union(*map(digests_in, events))
            waiting += filter(self._is_stored, map(_subagent_in, events))
        self.digests = sorted(self._with_indexed(digests))
        sizes = [self._stored_size(digest) for digest in self.digests]
        self.entries, self.size = len(sizes), sum(sizes)

    def log(self, session_id: str) -> ArchivedLog:
        """Return all events of a session. Raise RowDamaged."""
        return ArchivedLog(read_events(self._view, session_id))

    def _is_stored(self, session_id: str) -> bool:
        return bool(session_id) and ROWS.last_seq.get(self._view, session_id) is not None

    def _with_indexed(self, digests: set[str]) -> set[str]:
        """Return the contents, and those that index entries among them lead to."""
        found, waiting = set(digests), list(digests)
        while waiting:
            digest = waiting.pop()
            try:
                record = ROWS.record.get(self._view, digest)
                if record is None or record.kind != "index":
                    continue
                index = self._snapshot.contents.read(self._view, digest)
            except (ContentDamaged, DigestUnknown, RowDamaged):
                continue
            new = {
                name
                for name in indexed_digests(index) - found
                if self._view.get(keys.record(name)) is not None
            }
            found |= new
            waiting += new
        return found

    def _stored_size(self, digest: str) -> int:
        try:
            record = ROWS.record.get(self._view, digest)
        except RowDamaged:
            return 0
        return record.size if record is not None else 0


ArchiveScope = WorkspaceScope | SessionScope


def _subagent_in(event: Event) -> str:
    """Return the session of the subagent that an event began or has the result of; empty for none."""
    match event:
        case SubagentStarted(session=session_id) | ToolAnswered(subagent=session_id):
            return session_id
    return ""
