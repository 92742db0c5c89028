"""Branches: logs that begin with a part of another one, read through any depth; no event is copied."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.store.branch_point import BranchPoint
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import RowDamaged
from helix_desktop.store.core.write_batch import RowSource, WriteBatch
from helix_desktop.store.leveldb.database import Database, ReadView
from helix_desktop.store.leveldb.rows import ROWS


class LogPart(msgspec.Struct, frozen=True):
    """The events of one session after `after` up to and with `upto`, as a part of a branch's log."""

    session_id: str
    after: int
    upto: int


def log_parts(source: RowSource, session_id: str) -> list[LogPart]:
    """Return the parts of a session's log, oldest first; the last is its own. Raise RowDamaged."""
    parts: list[LogPart] = []
    upto, passed = ROWS.last_seq.get(source, session_id) or 0, {session_id}
    while point := ROWS.branch.get(source, session_id):
        after = min(point.seq, upto)
        parts.append(LogPart(session_id, after, upto))
        session_id, upto = point.parent, after
        if session_id in passed:
            raise RowDamaged(f"session {session_id} is a branch of itself")
        passed.add(session_id)
    parts.append(LogPart(session_id, 0, upto))
    return parts[::-1]


def holder_of(source: RowSource, session_id: str, seq: int) -> str:
    """Return the session whose rows hold event `seq` of a log. Raise RowDamaged."""
    parts = log_parts(source, session_id)
    return next((part.session_id for part in parts if part.after < seq <= part.upto), session_id)


def read_branches(view: ReadView) -> dict[str, BranchPoint]:
    """Return every branch with its point. Raise RowDamaged."""
    rows = ROWS.branch.scan(view, keys.BRANCHES)
    return {keys.session_of(key, keys.BRANCHES): point for key, point in rows}


def shared_end(batch: WriteBatch, database: Database, session_id: str) -> int:
    """Return the last event of a session that branches begin with, as a batch will leave them; 0: none.

    Raise RowDamaged.
    """
    points = database.read(read_branches)
    for key in batch.changes(*keys.BRANCHES):
        branch = keys.session_of(key, keys.BRANCHES)
        point = ROWS.branch.get(batch, branch)
        points.pop(branch, None)
        if point is not None:
            points[branch] = point
    return max((point.seq for point in points.values() if point.parent == session_id), default=0)
