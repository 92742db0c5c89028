"""What the search index has to do: be there, agree with the store, hold the texts. One thread runs it.

LevelDB is the truth. The index carries the number of the last write it knows; when that is another one than
the store's, every record is compared by its checksum. A damaged index is thrown away and made again; as long
as it does not hold all, it answers nothing, and the store is scanned.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.context.errors import StoreError
from helix_desktop.store import keys
from helix_desktop.store.batch import Batch
from helix_desktop.store.codec import Codec, RowDamaged
from helix_desktop.store.content import Contents
from helix_desktop.store.counters import NUMBER, read_sequence
from helix_desktop.store.handle import Handle, View
from helix_desktop.store.search_db import SearchDb, remove
from helix_desktop.store.search_rows import STAMP_BYTES, put_rows, stamps
from helix_desktop.store.search_texts import index_texts, texts_wait
from helix_desktop.store.staging import TEXT

_RECORDS_AT_ONCE = 2_000  # compared: about 5 ms
_GATHERED = 2_000  # changed records, from which on they are written whoever asks
_RENEWALS = 2  # times that an index is made again in one run: what is damaged once more is given up

_UNREADABLE = -2
_BEHIND = b"\xff" * (keys.DIGEST_BYTES + 1)  # sorts behind every digest

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Changes(msgspec.Struct, frozen=True):
    """What a write did to the records (None: removed), the row of its number, and whether it forgot any."""

    records: dict[bytes, bytes | None]
    sequence: bytes | None
    forgotten: bool = False

    @classmethod
    def of(cls, batch: Batch) -> Changes:
        """The changes in a batch."""
        first, stop = keys.RECORDS
        records = {key: row for key, row in batch.rows.items() if first <= key < stop}
        return cls(records, batch.rows.get(keys.SEQUENCE), batch.rows.get(keys.SCOUR) is not None)


class Work:
    """An index and its store. All but the constructor belong to the index's thread; nothing raises."""

    def __init__(
        self, path: Path, handle: Handle, codec: Codec, contents: Contents, doubted: bool = False
    ) -> None:
        """`doubted`: the store was mended, so that the same number of writes does not mean the same rows."""
        self._doubted = doubted
        self._path, self._handle, self._codec, self._contents = path, handle, codec, contents
        self._index: SearchDb | None = None
        self._records: dict[bytes, bytes | None] = {}
        self._renewals = 0
        self._next: bytes | None = None  # the record to compare next; None: all agree
        self._sequence = _number(handle, codec)
        self.texts_wait = False
        self.pause = 0.0  # seconds to wait between two pieces of work

    @property
    def syncing(self) -> bool:
        """Whether records are still being compared."""
        return self._index is not None and self._next is not None

    @property
    def pending(self) -> bool:
        """Whether changes wait to be written."""
        return self._index is not None and bool(self._records)

    @property
    def left(self) -> bool:
        """Whether there is anything to do."""
        return self.syncing or self.pending or self.texts_wait

    def open(self) -> None:
        """Open the index, or begin a new one."""
        try:
            self._begin()
        except (sqlite3.Error, OSError) as error:
            self._renew(error)
        except (RowDamaged, StoreError) as error:
            self._drop(error)

    def take(self, gathered: Sequence[Changes]) -> None:
        """Note what was written to the store, in order."""
        for changes in gathered:
            if changes.forgotten:
                self._note(changes)
                self._begin_anew()
            elif self._index is not None:
                self._records |= changes.records
                if len(self._records) >= _GATHERED:
                    self._note(changes)
                    self.flush()
        self._note(gathered[-1])

    def _note(self, changes: Changes) -> None:
        if changes.sequence is not None:
            self._sequence = self._codec.unseal(keys.SEQUENCE, changes.sequence, NUMBER)

    def flush(self) -> None:
        """Write the changes that wait."""
        self._guarded(self._flush)

    def answer(self, question: Callable[[SearchDb], T]) -> T | None:
        """The answer of an index that agrees with the store; None from any other."""

        def reply(index: SearchDb) -> T | None:
            if self._records:
                self._flush(index)
            if self.syncing:
                return None
            try:
                return question(index)
            except (OverflowError, UnicodeEncodeError):
                return (
                    None  # SQLite cannot be asked for such a number or text; the index is as good as before
                )

        return self._guarded(reply)

    def step(self) -> None:
        """Do a piece of what is to be done, some milliseconds long."""
        if self.syncing:
            self._guarded(self._compare)
        elif self._records:
            self._guarded(self._flush)
        else:
            self._guarded(self._index_texts)

    def close(self) -> None:
        """Write the changes and let go."""
        if self._records:
            self._guarded(self._flush)
        self._drop()

    def _guarded(self, deed: Callable[[SearchDb], T]) -> T | None:
        if self._index is None:
            return None
        try:
            return deed(self._index)
        except (sqlite3.Error, OSError, OverflowError) as error:
            self._renew(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, lists and searches must go on without
            self._drop(error)
        return None

    def _begin(self) -> None:
        self._index = index = SearchDb(self._path, _identity(self._handle, self._codec))
        known = index.sequence == self._sequence and not self._doubted
        self._next = None if known else keys.RECORDS[0]
        if self._next is not None:
            index.distrust()
        if not index.has_words:
            _log.warning("This SQLite (%s) has no trigrams: searching scans.", sqlite3.sqlite_version)
        self.texts_wait = index.has_words and texts_wait(index.db)

    def _renew(self, error: Exception) -> None:
        while self._renewals < _RENEWALS:
            self._renewals += 1
            _log.warning("The search index cannot be used (%s) and is made again.", error)
            self._drop()
            try:
                remove(self._path)
                self._begin()
            except (sqlite3.Error, OSError) as again:
                error = again
            except (RowDamaged, StoreError) as unread:  # a full disk may close the store itself
                self._drop(unread)
                return
            else:
                return
        _log.warning("The search index is not used any more (%s): lists and searches scan.", error)
        self._drop()

    def _begin_anew(self) -> None:
        """Leave nothing of what was forgotten: a document cannot be taken out of the texts."""
        self._drop()
        try:
            remove(self._path)
            self._begin()
        except (sqlite3.Error, OSError) as error:
            self._renew(error)
        except (RowDamaged, StoreError) as error:
            self._drop(error)

    def _drop(self, why: Exception | None = None) -> None:
        """Let go of the index; with a reason, which is not its own, for good."""
        if why is not None:
            _log.warning("The store cannot be indexed (%s); it is scanned instead.", why)
        self._records = {}
        self._next, self.texts_wait = None, False
        if self._index is not None:
            with suppress(sqlite3.Error):
                self._index.close()
            self._index = None

    def _flush(self, index: SearchDb) -> None:
        with index.db:
            put_rows(index.db, self._codec, self._records)
            if self._next is None:
                index.set_sequence(self._sequence)
        self._records = {}
        self.texts_wait = index.has_words and texts_wait(index.db)

    def _compare(self, index: SearchDb) -> None:
        """Bring the next records into line with the store's."""
        first = self._next or keys.RECORDS[0]
        stored = self._handle.read(lambda view: _records_from(view, first))
        full = len(stored) == _RECORDS_AT_ONCE
        last = max(stored) if full else keys.RECORDS[1]
        known = stamps(index.db, first[1:], last[1:] if full else _BEHIND)
        wrong: dict[bytes, bytes | None] = {b"m" + one: None for one in known if b"m" + one not in stored}
        wrong |= {key: row for key, row in stored.items() if known.get(key[1:]) != row[-STAMP_BYTES:]}
        with index.db:
            put_rows(index.db, self._codec, wrong)
        self._next = last + b"\0" if full else None
        if self._next is None:
            self._flush(index)

    def _index_texts(self, index: SearchDb) -> None:
        self.texts_wait = index.has_words and index_texts(index.db, self._bytes)

    def _bytes(self, digest: str) -> bytes:
        return self._handle.read(lambda view: self._contents.read(view, digest))


def _records_from(view: View, first: bytes) -> dict[bytes, bytes]:
    return dict(islice(view.scan((first, keys.RECORDS[1])), _RECORDS_AT_ONCE))


def _identity(handle: Handle, codec: Codec) -> str:
    """The workspace that the store belongs to. Raises RowDamaged."""
    row = handle.get(keys.IDENTITY)
    return "" if row is None else codec.unseal(keys.IDENTITY, row, TEXT)


def _number(handle: Handle, codec: Codec) -> int:
    """The number of the store's last write; one that no index has when it cannot be read."""
    try:
        return read_sequence(handle.get, codec)
    except (RowDamaged, StoreError):
        return _UNREADABLE
