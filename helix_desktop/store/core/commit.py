"""A commit: rows that are written together, the rules of both stores, and what a redaction leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Protocol, TypeVar

import msgspec

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import BranchPoint, Commit, Content
from helix_desktop.store.core import keys, row_codec, store_errors
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES

T = TypeVar("T")

RowGetter = Callable[[bytes], bytes | None]
"""Read one row; None if there is none."""


TotalsDelta = tuple[int, int, int, int]
"""Change of the totals: entries, bytes before and after compression, sessions."""


class RowSource(Protocol):
    """Stored rows: a view, a batch or the database."""

    def get(self, key: bytes) -> bytes | None: ...


class RowView(RowSource, Protocol):
    """Reads of stored rows that no write changes meanwhile. Every method may raise RowDamaged."""

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row whose block's checksum was verified."""
        ...

    def scan(
        self, span: keys.Span, reverse: bool = False, verify_checksums: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of a range of keys, in order or from its end."""
        ...

    def count(self, span: keys.Span) -> int: ...


class RowDatabase(RowSource, Protocol):
    """The rows of one workspace, on disk or in memory."""

    def read(self, query: Callable[[RowView], T], /) -> T:
        """Return the result of `query`; the view is valid only within it."""
        ...

    def get_verified(self, key: bytes) -> bytes | None:
        """Return one row, its block's checksum verified. Raise RowDamaged."""
        ...


class RowSink(ABC):
    @abstractmethod
    def put(self, key: bytes, row: bytes = b"") -> None:
        """Write a row."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove a row, if it is there."""

    def put_value(self, value: object, *row_keys: bytes) -> None:
        """Write a value as the row of each key. Raise ValueError for text that is not Unicode."""
        body = row_codec.encode_body(value)
        for key in row_keys:
            self.put(key, row_codec.with_checksum(key, body))


class WriteBatch(RowSink):
    """Puts and deletes that become visible at once; reads through the batch already see them.

    `unreferenced_rows` (chunks) have no meaning until a row of the batch names them: they may be written
    before it, in parts.
    """

    is_compressed: ClassVar[bool] = True  # the bytes of contents, where that makes them smaller

    def __init__(self, get_stored: RowGetter, parent: WriteBatch | None = None) -> None:
        """Layer a batch over the stored rows, or over a batch that is not yet written either."""
        self._get_stored = get_stored
        self._parent = parent
        self._get_below = get_stored if parent is None else parent.get
        self.rows: dict[bytes, bytes | None] = {}
        self.unreferenced_rows: dict[bytes, bytes] = {}
        self.totals_delta: TotalsDelta = (0, 0, 0, 0)
        self.durable_callbacks: list[Callable[[], None]] = []

    def nested(self) -> WriteBatch:
        """Return a batch layered over this one, to be discarded or absorbed."""
        return type(self)(self._get_stored, self)

    def get(self, key: bytes) -> bytes | None:
        """Return the row as it will be once the batch is written."""
        return self.rows[key] if key in self.rows else self._get_below(key)

    def has_change(self, key: bytes) -> bool:
        """Return True if the batch, or one below it, writes this row."""
        return key in self.rows or (self._parent is not None and self._parent.has_change(key))

    def changes(self, first: bytes, stop: bytes) -> dict[bytes, bytes | None]:
        """Return the rows from `first` to before `stop` that the batch, or one below, writes or removes."""
        below = self._parent.changes(first, stop) if self._parent is not None else {}
        return below | {key: row for key, row in self.rows.items() if first <= key < stop}

    def put(self, key: bytes, row: bytes = b"") -> None:
        self.rows[key] = row

    def put_unreferenced(self, key: bytes, row: bytes) -> None:
        """Write a row that no other row names yet."""
        self.unreferenced_rows[key] = row

    def delete(self, key: bytes) -> None:
        self.rows[key] = None

    def add_totals(self, entries: int = 0, size: int = 0, stored_size: int = 0, sessions: int = 0) -> None:
        """Add to the change of the store's totals, which is written with the rows."""
        previous = self.totals_delta
        self.totals_delta = (
            previous[0] + entries,
            previous[1] + size,
            previous[2] + stored_size,
            previous[3] + sessions,
        )

    def on_durable(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the rows are durable; never, if they cannot be written."""
        self.durable_callbacks.append(callback)

    def absorb(self, other: WriteBatch) -> None:
        """Take over the rows of a batch that was layered over this one."""
        for key in other.unreferenced_rows:
            self.rows.pop(
                key, None
            )  # deleted earlier within the same write: the deletion would come after the row was written
        self.rows.update(other.rows)
        self.unreferenced_rows.update(other.unreferenced_rows)
        self.add_totals(*other.totals_delta)
        self.durable_callbacks += other.durable_callbacks


def check_commit(commit: Commit) -> None:
    """Check the rules that do not depend on stored rows. Raise ValueError, ContentTooLarge."""
    keys.session_bytes(commit.session_id)
    if commit.summary is not None and commit.summary.id != commit.session_id:
        raise ValueError(
            f"the summary is of session {commit.summary.id!r}, the commit of {commit.session_id!r}"
        )
    for content in commit.contents:
        if len(content.data) > MAX_CONTENT_BYTES:
            raise store_errors.content_too_large(content)
        if not is_digest(content.digest):
            check_digest(content, digest_of(content.data))
    for digest in commit.recalls:
        keys.digest_bytes(digest)


def check_digest(content: Content, actual_digest: str) -> None:
    """Raise ValueError unless the content's digest is its own SHA-256, `actual_digest`."""
    if content.digest != actual_digest:
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


def check_sequence(session_id: str, last_seq: int, events: Sequence[RecordedEvent]) -> None:
    """Raise ValueError unless the events follow `last_seq`, the log's last seq, without a gap."""
    for expected, recorded in enumerate(events, last_seq + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session_id!r} goes on with event {expected}, not with {recorded.seq}")


def check_branch(session_id: str, point: BranchPoint, last_seq: int) -> None:
    """Raise ValueError unless a session can begin at a point of a log that ends with `last_seq`."""
    if session_id == point.parent or not 1 <= point.seq <= last_seq:
        raise ValueError(
            f"{session_id!r} can't begin with {point.seq} events of {point.parent!r}, which has {last_seq}"
        )


def check_stored(digest: str, is_stored: bool, referrer: str) -> None:
    """Raise ValueError unless the content that `referrer` names is stored."""
    if not is_stored:
        raise ValueError(f"{referrer} names the content {digest}, which is not stored")


class Tombstone(msgspec.Struct, array_like=True, frozen=True):
    """When a content was redacted; `successor` is the digest of an index entry's redacted version.

    `lifted`: it may be stored again.
    """

    at: int
    successor: str = ""
    lifted: bool = False


class PendingDeletion(msgspec.Struct, array_like=True, frozen=True):
    """What a written redaction still has to delete: damaged rows and copies of the store, by name."""

    at: int
    damaged: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
