"""Turns one commit into rows: contents, events, references, recall counts, summary and counters."""

from __future__ import annotations

import msgspec

from helix_desktop.context.content import SessionSummary, StoreTotals
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import Codec, Shape
from helix_desktop.store.commit import Commit, check_held
from helix_desktop.store.content import Contents, Growth
from helix_desktop.store.event_log import stage_events
from helix_desktop.store.record import Record, change_record

TEXT = Shape(str)
NUMBER = Shape(int)
TOTALS = Shape(StoreTotals)


def stage_commit(batch: Batch, codec: Codec, contents: Contents, commit: Commit) -> None:
    """Put everything of a commit into the batch. Raises ValueError when what is stored does not allow it."""
    grown = [contents.stage(batch, content, commit.at) for content in commit.contents]
    stage_events(batch, codec, commit.session, commit.events)
    for digest in commit.recalls:
        check_held(digest, batch.get(keys.record(digest)) is not None, "a recall")
        change_record(batch, codec, digest, lambda record: _recalled(record, commit.at))
    sessions = _stage_summary(batch, codec, commit.summary)
    _count(batch, codec, grown, sessions)


def stage_draft(batch: Batch, codec: Codec, session: str, text: str) -> None:
    """Keep, or with no text forget, what was typed and not sent."""
    key = keys.draft(session)
    if text:
        batch.put(key, codec.seal(key, text))
    else:
        batch.delete(key)


def bump_sequence(batch: Batch, codec: Codec) -> None:
    """Count this write: a log file that is lost later shows as a number that went back."""
    batch.put(keys.SEQUENCE, codec.seal(keys.SEQUENCE, read_sequence(batch.get, codec) + 1))


def read_sequence(get: Get, codec: Codec) -> int:
    """How many writes the store has seen. Raises RowDamaged."""
    row = get(keys.SEQUENCE)
    return 0 if row is None else codec.unseal(keys.SEQUENCE, row, NUMBER)


def read_totals(get: Get, codec: Codec) -> StoreTotals:
    """Counts and sizes of the whole store. Raises RowDamaged."""
    row = get(keys.TOTALS)
    return StoreTotals(0, 0, 0, 0) if row is None else codec.unseal(keys.TOTALS, row, TOTALS)


def _recalled(record: Record, at: int) -> Record:
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at)


def _stage_summary(batch: Batch, codec: Codec, summary: SessionSummary | None) -> int:
    """How many sessions this adds."""
    if summary is None:
        return 0
    key = keys.summary(summary.id)
    added = batch.get(key) is None
    batch.put(key, codec.seal(key, summary))
    return int(added)


def _count(batch: Batch, codec: Codec, grown: list[Growth], sessions: int) -> None:
    if not sessions and all(one == Growth() for one in grown):
        return
    was = read_totals(batch.get, codec)
    now = StoreTotals(
        was.entries + sum(one.entries for one in grown),
        was.size + sum(one.size for one in grown),
        was.stored_size + sum(one.stored_size for one in grown),
        was.sessions + sessions,
    )
    batch.put(keys.TOTALS, codec.seal(keys.TOTALS, now))
