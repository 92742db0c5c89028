"""Turns one commit into rows: contents, events, references, recall counts, summary and counters."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.content import SessionSummary, StoreTotals
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch, Get
from helix_desktop.store.codec import Codec, Shape
from helix_desktop.store.commit import Commit, check_held
from helix_desktop.store.content import Contents, Growth
from helix_desktop.store.event_log import is_known, stage_events
from helix_desktop.store.packing import Packing
from helix_desktop.store.record import Record, change_record

TEXT = Shape(str)
NUMBER = Shape(int)
TOTALS = Shape(StoreTotals)


def stage_commit(
    batch: Batch, codec: Codec, contents: Contents, commit: Commit, packings: Sequence[Packing]
) -> None:
    """Put everything of a commit, and the packings of its contents, into the batch.

    Raises ValueError when what is stored does not allow it.
    """
    grown = [contents.stage_packed(batch, packing, commit.at, commit.session) for packing in packings]
    stage_events(batch, codec, commit.session, commit.events)
    for digest in commit.recalls:
        check_held(digest, is_known(batch, codec, digest), "a recall")
        change_record(batch, codec, digest, lambda record: _recalled(record, commit.at))
    sessions = stage_summary(batch, codec, commit.summary)
    count_growth(batch, codec, grown, sessions)


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
    return msgspec.structs.replace(record, recalls=record.recalls + 1, last_used=at, trashed=0)


def stage_summary(batch: Batch, codec: Codec, summary: SessionSummary | None) -> int:
    """Put a session's line for the list into the batch; how many sessions this adds."""
    if summary is None:
        return 0
    key = keys.summary(summary.id)
    added = batch.get(key) is None
    batch.put(key, codec.seal(key, summary))
    return int(added)


def count_growth(batch: Batch, codec: Codec, grown: list[Growth], sessions: int) -> None:
    """Add what contents and sessions brought to the totals. Raises RowDamaged."""
    all_of_it = Growth(
        sum(one.entries for one in grown),
        sum(one.size for one in grown),
        sum(one.stored_size for one in grown),
    )
    if sessions or any(one != Growth() for one in grown):
        grow_totals(batch, codec, all_of_it, sessions)


def grow_totals(batch: Batch, codec: Codec, grown: Growth, sessions: int = 0) -> None:
    """Add what was stored to the counts and sizes of the whole store. Raises RowDamaged."""
    change_totals(batch, codec, grown.entries, grown.size, grown.stored_size, sessions)


def change_totals(
    batch: Batch, codec: Codec, entries: int = 0, size: int = 0, stored_size: int = 0, sessions: int = 0
) -> None:
    """Add to the counts and sizes of the whole store. Raises RowDamaged."""
    was = read_totals(batch.get, codec)
    now = StoreTotals(
        was.entries + entries, was.size + size, was.stored_size + stored_size, was.sessions + sessions
    )
    batch.put(keys.TOTALS, codec.seal(keys.TOTALS, now))
