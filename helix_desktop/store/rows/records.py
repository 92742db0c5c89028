"""The rows of a workspace's LevelDB: key, type and encoding of each kind; its identity, state and counters.

The bytes of contents have their own form (`contents.py`); the marks of handovers and checkpoints, and
references, are keys without a value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from helix_desktop.domain.errors import StoreUnreadable
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.summary import HandoverMade, checkpoint_in
from helix_desktop.domain.store import (
    BranchPoint,
    CacheEntry,
    Content,
    ContentKind,
    Draft,
    SessionSummary,
    StoreTotals,
)
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.core import keys, row_codec, store_errors
from helix_desktop.store.core.commit import (
    PendingDeletion,
    RowSink,
    RowSource,
    RowView,
    Tombstone,
    WriteBatch,
)
from helix_desktop.store.core.row_codec import RowDamaged, RowType, RowUnknown, is_plain
from helix_desktop.store.files import StoreFormat

_log = logging.getLogger(__name__)


class EntryRecord(msgspec.Struct, array_like=True, frozen=True):
    """The stored form of a CacheEntry. Fields are only added, last and with a default: old rows load."""

    created: int
    last_used: int
    size: int
    stored_size: int
    tokens: int
    tool: str
    target: str
    first_line: str
    kind: ContentKind
    recalls: int = 0
    references: int = 0
    session: str = ""
    pinned: bool = False
    trashed: int = 0

    def to_entry(self, digest: str) -> CacheEntry:
        return CacheEntry(
            digest,
            self.size,
            self.stored_size,
            self.tokens,
            self.tool,
            self.target,
            self.first_line,
            self.kind,
            self.created,
            self.last_used,
            self.recalls,
            self.references,
            self.session,
            self.pinned,
            self.trashed,
        )


def new_record(content: Content, stored_size: int, at_ms: int, session_id: str) -> EntryRecord:
    return EntryRecord(
        at_ms,
        at_ms,
        len(content.data),
        stored_size,
        content.tokens,
        content.tool,
        content.target,
        content.first_line,
        content.kind,
        session=session_id,
    )


_LAST = -5  # the payload's last byte: the row ends with a checksum of four
_SHORTEST = 16  # bytes of a row with any payload
# Where the head of a msgpack number is if it ends the payload, by its first byte: of 1, 2, 4 and 8 bytes.
_NUMBER_HEADS = ((_LAST - 1, 0xCC), (_LAST - 2, 0xCD), (_LAST - 4, 0xCE), (_LAST - 8, 0xCF))


def may_be_index(row: bytes) -> bool:
    """Return False only for the row of a record whose kind is not "index"."""
    return b"index" in row or not is_plain(row)


def may_be_trashed(row: bytes) -> bool:
    """Return False only for the row of a record that ends in zero: its last field is when it was trashed."""
    if len(row) < _SHORTEST or not is_plain(row) or row[_LAST]:
        return True
    return any(row[at] == head for at, head in _NUMBER_HEADS)


P = ParamSpec("P")
T = TypeVar("T")


class RowKind(Generic[P, T]):
    """One kind of row: `key` makes its key of what names it. Reading raises RowDamaged."""

    def __init__(self, key: Callable[P, bytes], value_type: type[T]) -> None:
        self.key = key
        self._type = RowType(value_type)

    def get(self, source: RowSource, *args: P.args, **kwargs: P.kwargs) -> T | None:
        key = self.key(*args, **kwargs)
        row = source.get(key)
        return None if row is None else self.decode(key, row)

    def scan(self, view: RowView, span: keys.Span) -> Iterator[tuple[bytes, T]]:
        return ((key, self.decode(key, row)) for key, row in view.scan(span))

    def put(self, sink: RowSink, value: T, *args: P.args, **kwargs: P.kwargs) -> None:
        """Write a row. Raise ValueError for text that is not Unicode."""
        sink.put_value(value, self.key(*args, **kwargs))

    def decode(self, key: bytes, row: bytes) -> T:
        return row_codec.decode(key, row, self._type)


class _RecordKind(RowKind[[str], EntryRecord]):
    """Records of contents; each is stored by digest, and a second time in the index by time."""

    def put(self, sink: RowSink, value: EntryRecord, digest: str) -> None:
        sink.put_value(value, keys.record(digest), keys.time_index(value.created, digest))

    def change(self, batch: WriteBatch, digest: str, change: Callable[[EntryRecord], EntryRecord]) -> None:
        """Rewrite a record, if there is one. A damaged one stays: it can be rebuilt from other rows."""
        try:
            record = self.get(batch, digest)
        except RowDamaged as error:
            _log.warning("The record of %s is damaged (%s) and was not updated.", digest, error)
            return
        if record is not None:
            self.put(batch, change(record), digest)


class _DraftKind(RowKind[[str], Draft]):
    """Drafts; one of text alone is stored as a plain text, an empty one not at all."""

    def put(self, sink: RowSink, value: Draft, session_id: str) -> None:
        key = keys.draft(session_id)
        if value.attachments or value.partial_answer is not None or value.partial_outputs:
            sink.put_value(value, key)
        elif value.text:
            sink.put_value(value.text, key)
        else:
            sink.delete(key)

    def change(self, batch: WriteBatch, session_id: str, change: Callable[[Draft], Draft]) -> None:
        """Rewrite a draft, or an empty one. A damaged one is lost: what is saved now takes its place.

        Raise RowUnknown: another version's draft stays.
        """
        try:
            stored = self.get(batch, session_id)
        except RowUnknown:
            raise
        except RowDamaged as error:
            _log.warning("The draft of %s is damaged (%s) and was replaced.", session_id, error)
            stored = None
        self.put(batch, change(stored if stored is not None else Draft()), session_id)

    def decode(self, key: bytes, row: bytes) -> Draft:
        stored: Any = super().decode(key, row)
        draft: Draft = Draft(stored) if isinstance(stored, str) else stored
        return draft


class Rows:
    """Every kind of row that has a value."""

    schema = RowKind(lambda: keys.SCHEMA, int)
    identity = RowKind(lambda: keys.IDENTITY, str)
    sequence = RowKind(lambda: keys.SEQUENCE, int)
    totals = RowKind(lambda: keys.TOTALS, StoreTotals)
    pending_deletion = RowKind(lambda: keys.PENDING_DELETION, PendingDeletion)
    record = _RecordKind(keys.record, EntryRecord)
    tombstone = RowKind(keys.tombstone, Tombstone)
    event = RowKind(keys.event, RecordedEvent)
    last_seq = RowKind(keys.last_event, int)
    summary = RowKind(keys.summary, SessionSummary)
    branch = RowKind(keys.branch, BranchPoint)
    draft = _DraftKind(keys.draft, str | Draft)  # type: ignore[arg-type]  # a union is no class to mypy


ROWS = Rows()


def handover_mark(session_id: str, recorded: RecordedEvent) -> bytes | None:
    """Return the key of the mark that finds an event with a handover or checkpoint; None for any other."""
    if isinstance(recorded.event, HandoverMade):
        return keys.handover(session_id, recorded.seq)
    return keys.checkpoint(session_id, recorded.seq) if checkpoint_in(recorded.event) else None


def put_reference(sink: RowSink, session_id: str, seq: int, digest: str) -> None:
    """Write the two rows that link an event and a content."""
    sink.put(keys.reference(digest, session_id, seq))
    sink.put(keys.back_reference(session_id, seq, digest))


def delete_reference(sink: RowSink, session_id: str, seq: int, digest: str) -> None:
    """Remove the two rows that link an event and a content."""
    sink.delete(keys.reference(digest, session_id, seq))
    sink.delete(keys.back_reference(session_id, seq, digest))


def read_sequence(source: RowSource) -> int:
    """Return the number of writes so far. Raise RowDamaged."""
    return ROWS.sequence.get(source) or 0


def read_totals(source: RowSource) -> StoreTotals:
    """Return counts and sizes of the store. Raise RowDamaged."""
    return ROWS.totals.get(source) or StoreTotals(0, 0, 0, 0)


class StoreCounters:
    """Put the counters into each batch that is written. Only the writer's thread uses this."""

    def __init__(self) -> None:
        # As they were last written; None: not yet read. Only this writer changes them.
        self._sequence: int | None = None
        self._totals: StoreTotals | None = None

    def stage(self, batch: WriteBatch) -> None:
        """Count this write, and add its changes to the totals. Raise RowDamaged.

        If a log file is lost later, the number of writes goes back, which shows the loss.
        """
        if self._sequence is None:
            self._sequence = read_sequence(batch)
        self._sequence += 1
        ROWS.sequence.put(batch, self._sequence)
        if any(batch.totals_delta):
            previous = self._totals or read_totals(batch)
            entries, size, stored_size, sessions = batch.totals_delta
            self._totals = StoreTotals(
                previous.entries + entries,
                previous.size + size,
                previous.stored_size + stored_size,
                previous.sessions + sessions,
            )
            ROWS.totals.put(batch, self._totals)

    def reset(self) -> None:
        """Read the counters again next time: what was last staged was not written."""
        self._sequence = self._totals = None


text = TextContext("Store")


def check_format(actual_format: StoreFormat, expected_format: StoreFormat) -> None:
    """Raise StoreUnreadable for another workspace's store, or an unknown schema."""
    if actual_format.schema != expected_format.schema:
        raise StoreUnreadable(
            text("The workspace data was written by another version of Helix Desktop."),
            text(
                "It has schema {actual}; this version reads schema {expected}.",
                actual=actual_format.schema,
                expected=expected_format.schema,
            ),
            text("Nothing was changed. Open it with the newest version."),
        )
    if actual_format.workspace_id != expected_format.workspace_id:
        raise store_errors.other_workspace(actual_format.workspace_id, expected_format.workspace_id)


def identity_rows(store_format: StoreFormat) -> dict[bytes, bytes]:
    return {
        keys.SCHEMA: row_codec.encode(keys.SCHEMA, store_format.schema),
        keys.IDENTITY: row_codec.encode(keys.IDENTITY, store_format.workspace_id),
    }
