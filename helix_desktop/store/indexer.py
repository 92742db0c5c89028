"""What keeps the search index equal to its store: the indexer, and the thread it runs and answers on."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.passages import PassagePage, PassageQuery
from helix_desktop.domain.store import EntryRecord
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.store import kinds
from helix_desktop.store.contents import ContentStore, row_created_ms
from helix_desktop.store.database import Database, ReadView, store_unreadable
from helix_desktop.store.kinds import ROWS, RowDamaged
from helix_desktop.store.passage_index import PassageIndex
from helix_desktop.store.search_index import (
    STAMP_BYTES,
    SearchIndex,
    has_pending_texts,
    index_texts,
    put_rows,
    read_stamps,
)
from helix_desktop.store.threads import WriteBatch
from helix_desktop.system.files import delete_database

_RECORDS_AT_ONCE = 2_000  # compared: about 5 ms
_MAX_PENDING_RECORDS = 50_000  # changed records, about 25 MB, from which on they are written without waiting
_CATCH_UP_S = 0.03  # seconds that a search spends on indexing new events before it looks
_MAX_RENEWALS = 2  # rebuilds of an index in one run: after one more damage it is given up
_UNREADABLE_SEQUENCE = -2
_AFTER_EVERY_DIGEST = b"\xff" * (kinds.DIGEST_BYTES + 1)  # sorts behind every digest
_FLUSH_S = 0.1  # how long changes are collected without queries: a wake-up each would slow the writer down
_QUIET_S = 1.0  # seconds without changes until they are written: each time nearly every page of a table is
_AT_ONCE = 64  # writes whose changes are passed on before the next look whether the thread ends
_MIN_PAUSE_S = 0.002  # between two steps of work: other threads need to run

_log = logging.getLogger(__name__)

T = TypeVar("T")


class IndexChanges(msgspec.Struct, frozen=True):
    """A write's changes to the records (None: removed), the row of its number, and if it redacted any.

    `logs` are the sessions whose logs have grown or are gone.
    """

    records: dict[bytes, bytes | None]
    sequence: bytes | None
    has_redaction: bool = False
    logs: tuple[str, ...] = ()

    @classmethod
    def of(cls, batch: WriteBatch) -> IndexChanges:
        first, stop = kinds.RECORDS
        records = {key: row for key, row in batch.rows.items() if first <= key < stop}
        first, stop = kinds.LAST_EVENTS
        logs = [kinds.session_of(key, kinds.LAST_EVENTS) for key in batch.rows if first <= key < stop]
        has_redaction = batch.rows.get(kinds.PENDING_DELETION_KEY) is not None
        return cls(records, batch.rows.get(kinds.SEQUENCE_KEY), has_redaction, tuple(logs))


class Indexer:
    """An index and its store: agrees with the store, indexes texts while idle, answers queries.

    A write says which records it changed and which logs; of logs the new events are read when they are
    indexed. LevelDB is the truth, but lists are read here alone. The index stores the number of the last
    write it includes; if that differs from the store's, every record is compared by its checksum before it
    answers. A damaged index is deleted and rebuilt; where no file works, a temporary one without words takes
    its place. All but the constructor belong to the index's thread; nothing raises.
    """

    def __init__(
        self, path: Path, database: Database, contents: ContentStore, is_suspect: bool = False
    ) -> None:
        """`is_suspect`: the store was repaired, so equal write numbers do not imply equal rows."""
        self._is_suspect = is_suspect
        self._path = path
        self._database = database
        self._contents = contents
        self._index: SearchIndex | None = None
        self._passages: PassageIndex | None = None
        self._records: dict[bytes, bytes | None] = {}
        self._logs: dict[str, None] = {}  # that have changed
        self._renewals = 0
        self._next: bytes | None = None  # the record to compare next; None: all agree
        self._sequence = self._written_sequence = _read_sequence(database)
        self._has_pending_contents = False
        self._error: Exception | None = None  # for which there is no index
        self.pause_s = 0.0  # seconds to wait between two steps of work

    @property
    def is_syncing(self) -> bool:
        """Return True if records are still being compared."""
        return self._index is not None and self._next is not None

    @property
    def has_changes(self) -> bool:
        return self._index is not None and bool(self._records or self._logs)

    @property
    def is_behind(self) -> bool:
        """Return True if a crash now would have the next start compare all records.

        Also after writes that changed none, such as a draft.
        """
        return self.has_changes or (self._index is not None and self._sequence != self._written_sequence)

    @property
    def has_pending_texts(self) -> bool:
        """Return True if there are contents or events whose text is not indexed yet."""
        return self._has_pending_contents or (self._passages is not None and self._passages.has_pending)

    @property
    def has_work(self) -> bool:
        return self.is_syncing or self.has_changes or self.has_pending_texts

    def open(self) -> None:
        try:
            self._open_index(self._path)
        except (sqlite3.Error, OSError) as error:
            self._rebuild_after(error)
        except (RowDamaged, StoreError) as error:
            self._close_index(error)

    def add_changes(self, all_changes: Sequence[IndexChanges]) -> None:
        for changes in all_changes:
            if changes.has_redaction:
                self._note_sequence(changes)
                self._rebuild()
            elif self._index is not None:
                self._records |= changes.records
                self._logs |= dict.fromkeys(changes.logs)
                if len(self._records) >= _MAX_PENDING_RECORDS:
                    self._note_sequence(changes)
                    self.flush()
        self._note_sequence(all_changes[-1])

    def _note_sequence(self, changes: IndexChanges) -> None:
        if changes.sequence is not None:
            self._sequence = ROWS.sequence.decode(kinds.SEQUENCE_KEY, changes.sequence)

    def flush(self) -> None:
        self._run_guarded(self._flush)

    def answer(self, query: Callable[[SearchIndex], T]) -> T:
        """Return the result of `query` on an index that agrees with the store: it catches up first.

        Raise RowDamaged or StoreError if the store can't be read.
        """
        if self._index is None:  # the store may have been unreadable for a while, as on a full disk
            self.open()
        answers: list[T] = []

        def reply(index: SearchIndex) -> None:
            if self.has_changes:
                self._flush(index)
            answers.append(query(index))

        while self._index is not None and not answers:
            self._run_guarded(self._sync_records if self.is_syncing else reply)
        if answers:
            return answers[0]
        if isinstance(self._error, RowDamaged | StoreError):
            raise self._error
        raise store_unreadable(verbatim(f"{self._error}.")) from self._error

    def find_passages(self, query: PassageQuery) -> PassagePage | None:
        """Return a page of passages, also of the newest events; None without an index."""

        def find(index: SearchIndex) -> PassagePage | None:
            if self._passages is None:
                return None
            if self.has_changes:
                self._flush(index)
            deadline = time.monotonic() + _CATCH_UP_S
            while self._passages.has_pending and time.monotonic() < deadline:
                self._passages.step()
            try:
                return self._passages.find(query)
            except (OverflowError, UnicodeEncodeError):
                return PassagePage()  # SQLite cannot be queried for such a number or text: no row has it

        return self._run_guarded(find)

    def step(self) -> None:
        """Do one step of pending work, some milliseconds long."""
        if self.is_syncing:
            self._run_guarded(self._sync_records)
        elif self.has_changes:
            self._run_guarded(self._flush)
        elif self._passages is not None and self._passages.has_pending:
            self._run_guarded(lambda _: self._passages.step() if self._passages is not None else None)
        else:
            self._run_guarded(self._index_texts)

    def close(self) -> None:
        """Write the changes and the number of the last write, and close the index.

        Most writes change no record: without their number the next start would compare all records.
        """
        if not self.is_syncing:
            self._run_guarded(self._flush)
        self._close_index()

    def _run_guarded(self, operation: Callable[[SearchIndex], T]) -> T | None:
        if self._index is None:
            return None
        try:
            return operation(self._index)
        except (sqlite3.Error, OSError, OverflowError) as error:
            self._rebuild_after(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, lists and searches must continue without
            self._close_index(error)
        return None

    def _open_index(self, path: Path | None) -> None:
        self._index = index = SearchIndex(path, ROWS.identity.get(self._database) or "")
        self._written_sequence = index.sequence
        is_in_sync = self._written_sequence == self._sequence and not self._is_suspect
        self._next = None if is_in_sync else kinds.RECORDS[0]
        if self._next is not None:
            index.invalidate()
        if not index.has_words:
            _log.warning("This SQLite (%s) has no trigrams: searching scans.", sqlite3.sqlite_version)
        self._has_pending_contents = index.has_words and has_pending_texts(index.db)
        self._passages = PassageIndex(index.db, self._database.read) if index.has_words else None
        try:
            if self._passages is not None:
                self._passages.compare(is_in_sync)
        except RowDamaged as error:
            _log.warning("Passages cannot be indexed (%s): searching them scans.", error)
            self._passages = None

    def _rebuild_after(self, error: Exception) -> None:
        while self._renewals < _MAX_RENEWALS:
            self._renewals += 1
            _log.warning("The search index cannot be used (%s) and is made again.", error)
            self._close_index()
            try:
                delete_database(self._path)
                self._open_index(self._path)
            except (sqlite3.Error, OSError) as retry_error:
                error = retry_error
            except (RowDamaged, StoreError) as store_error:  # a full disk may close the store itself
                self._close_index(store_error)
                return
            else:
                return
        if self._index is not None and self._index.is_temporary:
            self._close_index(error)
            return
        _log.warning("The search index is not used any more (%s): searches scan.", error)
        self._close_index()
        try:
            self._open_index(None)
        except (sqlite3.Error, OSError, RowDamaged, StoreError) as last_error:
            self._close_index(last_error)

    def _rebuild(self) -> None:
        """Rebuild, to leave nothing of what was redacted: a document cannot be removed from the texts."""
        self._close_index()
        try:
            delete_database(self._path)
            self._open_index(self._path)
        except (sqlite3.Error, OSError) as error:
            self._rebuild_after(error)
        except (RowDamaged, StoreError) as error:
            self._close_index(error)

    def _close_index(self, error: Exception | None = None) -> None:
        """Close the index; with an error, which is not the index's own, for good."""
        if error is not None:
            _log.warning("The store cannot be indexed (%s).", error)
        self._error = error
        self._records = {}
        self._logs = {}
        self._next = None
        self._has_pending_contents = False
        self._passages = None
        if self._index is not None:
            with suppress(sqlite3.Error):
                self._index.close()
            self._index = None

    def _flush(self, index: SearchIndex) -> None:
        if self._passages is not None and self._logs:
            self._passages.note_changes(tuple(self._logs))
        with index.db:
            put_rows(index.db, self._records, self._read_copy)
            index.note_changes()
            if self._next is None:
                index.set_sequence(self._sequence)
                self._written_sequence = self._sequence
        self._records = {}
        self._logs = {}
        self._has_pending_contents = index.has_words and has_pending_texts(index.db)

    def _sync_records(self, index: SearchIndex) -> None:
        first = self._next or kinds.RECORDS[0]
        stored = self._database.read(lambda view: _records_from(view, first))
        is_full = len(stored) == _RECORDS_AT_ONCE
        last = max(stored) if is_full else kinds.RECORDS[1]
        stamps = read_stamps(index.db, first[1:], last[1:] if is_full else _AFTER_EVERY_DIGEST)
        wrong: dict[bytes, bytes | None] = {
            b"m" + digest: None for digest in stamps if b"m" + digest not in stored
        }
        wrong |= {key: row for key, row in stored.items() if stamps.get(key[1:]) != row[-STAMP_BYTES:]}
        with index.db:
            put_rows(index.db, wrong, self._read_copy)
        index.note_changes()
        self._next = last + b"\0" if is_full else None
        if self._next is None:
            self._flush(index)

    def _index_texts(self, index: SearchIndex) -> None:
        indexed = index_texts(index.db, self._read_content) if index.has_words else 0
        index.note_indexed(indexed)
        self._has_pending_contents = indexed > 0

    def _read_copy(self, digest: str) -> EntryRecord | None:
        """Return a damaged record as the index by time has it; None if it is lost there, too."""
        with suppress(RowDamaged):
            head = self._database.get(kinds.content_key(digest))
            if head is not None:
                key = kinds.time_index_key(row_created_ms(head), digest)
                row = self._database.get(key)
                return None if row is None else ROWS.record.decode(key, row)
        return None

    def _read_content(self, digest: str) -> bytes:
        return self._database.read(lambda view: self._contents.read(view, digest))


def _records_from(view: ReadView, first: bytes) -> dict[bytes, bytes]:
    # Each record has its own checksum: damage beside them does not keep the others from the lists.
    rows = view.scan((first, kinds.RECORDS[1]), verify_checksums=False)
    return dict(islice(rows, _RECORDS_AT_ONCE))


def _read_sequence(database: Database) -> int:
    """Return the number of the store's last write; a number that no index has if it is unreadable."""
    try:
        return kinds.read_sequence(database)
    except (RowDamaged, StoreError):
        return _UNREADABLE_SEQUENCE


class _Wakeup:
    """Signal that changes have begun to collect."""


class _Job(msgspec.Struct, frozen=True):
    """What to do when all reported changes are known, and the future of its result."""

    run: Callable[[], Any]
    done: Future[Any]
    is_part_of_search: bool = False


class SearchThread:
    """The thread that runs the indexer. Queries see every change that was reported before them."""

    def __init__(self, name: str, indexer: Indexer, idle_s: float | None) -> None:
        """Texts are indexed after `idle_s` seconds of quiet; None: only when a caller waits for it."""
        self._indexer = indexer
        self._idle_s = idle_s
        self._queue: queue.SimpleQueue[_Wakeup | _Job | None] = queue.SimpleQueue()
        self._pending_changes: deque[IndexChanges] = deque()
        self._is_woken = False  # for the collected changes
        self._ending = threading.Event()
        self._quiet_since = 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def add_changes(self, batch: WriteBatch) -> None:
        """Take over the changes of a batch that is being written. Called by the writer."""
        self._pending_changes.append(IndexChanges.of(batch))
        if not self._is_woken:
            self._is_woken = True
            self._queue.put(_Wakeup())

    def submit(self, query: Callable[[SearchIndex], T], *, is_part_of_search: bool = False) -> Future[T]:
        """Return the result of `query` on the index, once that agrees with the store.

        While a search asks part by part, texts go on being indexed: the more are, the less it has to read.
        """
        return self._put(lambda: self._indexer.answer(query), is_part_of_search)

    def find_passages(self, query: PassageQuery) -> Future[PassagePage | None]:
        """Return a page of passages; None without an index: scan the store."""
        return self._put(lambda: self._indexer.find_passages(query), is_part_of_search=True)

    def when_applied(self) -> Future[None]:
        """Return a future that is done when the index has no words any more that were redacted before."""
        return self._put(lambda: None)

    def when_indexed(self) -> Future[None]:
        return self._put(self._index_all)

    def _put(self, run: Callable[[], T], is_part_of_search: bool = False) -> Future[T]:
        done: Future[T] = Future()
        self._queue.put(_Job(run, done, is_part_of_search))
        return done

    def close(self) -> None:
        """Write what is pending, close the file, and end.

        Of very many changes none are written: the next start finds them by comparing all records, in seconds.
        """
        self._ending.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        self._indexer.open()
        try:
            while self._process_next():
                pass
        finally:
            self._indexer.close()

    def _process_next(self) -> bool:
        """Do one job; return False at the end."""
        try:
            job = self._queue.get(timeout=self._timeout_s())
        except queue.Empty:
            self._work_while_idle()
            return True
        if isinstance(job, _Wakeup):
            self._quiet_since = time.monotonic()
            return True
        self._apply_pending()
        if job is None:
            return False
        if job.done.set_running_or_notify_cancel():
            try:
                job.done.set_result(job.run())
            except Exception as error:  # noqa: BLE001 - delivered to the caller of the job
                job.done.set_exception(error)
        if not job.is_part_of_search:
            self._quiet_since = time.monotonic()
        return True

    def _apply_pending(self) -> None:
        self._is_woken = False  # first: what comes from now on wakes this thread again
        left = len(self._pending_changes)
        while left > 0:
            if self._ending.is_set() and left > _AT_ONCE:
                # An index that has words which were redacted is deleted.
                redactions = [changes for changes in self._pending_changes if changes.has_redaction]
                self._pending_changes.clear()
                if redactions:
                    self._indexer.add_changes(redactions[-1:])
                return
            count = min(left, _AT_ONCE)
            self._indexer.add_changes([self._pending_changes.popleft() for _ in range(count)])
            left -= count
            self._quiet_since = time.monotonic()

    def _timeout_s(self) -> float | None:
        """Return how long to wait for a job before continuing with pending work, in seconds."""
        if self._indexer.is_syncing:
            return self._indexer.pause_s
        if self._pending_changes:
            return _FLUSH_S
        if self._indexer.is_behind:
            return max(0.0, self._quiet_since + _QUIET_S - time.monotonic())
        if self._idle_s is None or not self._indexer.has_pending_texts:
            return None
        return max(self._indexer.pause_s, self._quiet_since + self._idle_s - time.monotonic())

    def _work_while_idle(self) -> None:
        if self._pending_changes:
            self._apply_pending()
            if not self._indexer.is_syncing:
                return  # written once no more changes come
        start = time.monotonic()
        if self._indexer.is_syncing or not self._indexer.is_behind:
            self._indexer.step()
        else:
            self._indexer.flush()
        # Half of the time at most, so that what the user sees never waits long.
        self._indexer.pause_s = max(_MIN_PAUSE_S, time.monotonic() - start)

    def _index_all(self) -> None:
        while self._indexer.has_work and not self._ending.is_set():
            self._indexer.step()
