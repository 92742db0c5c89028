"""The thread of the search index: takes changes, answers queries, and indexes while idle."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.search.index_db import SearchIndex
from helix_desktop.store.search.indexer import IndexChanges, Indexer

FLUSH_S = 0.1  # how long changes are collected without queries: a wake-up each would slow the writer down
_AT_ONCE = 64  # writes whose changes are passed on before the next look whether the thread ends
_MIN_PAUSE_S = 0.002  # between two steps of work: other threads need to run

T = TypeVar("T")


class _Wakeup:
    """Signal that changes have begun to collect."""


@dataclass(frozen=True, slots=True)
class _IndexQuery:
    """A query and the future of its result; without a query: done when everything is indexed."""

    question: Callable[[SearchIndex], Any] | None
    done: Future[Any]
    is_part_of_search: bool = False


@dataclass(frozen=True, slots=True)
class _SyncQuery:
    """The future of a caller that waits until all records agree with the store's."""

    done: Future[None]


class SearchThread:
    """The thread that runs the indexer. Queries see every change that was reported before them."""

    def __init__(self, name: str, indexer: Indexer, idle_s: float | None) -> None:
        """Texts are indexed after `idle_s` seconds of quiet; None: only when a caller waits for it."""
        self._indexer, self._idle_s = indexer, idle_s
        self._queue: queue.SimpleQueue[_Wakeup | _IndexQuery | _SyncQuery | None] = queue.SimpleQueue()
        self._pending_changes: deque[IndexChanges] = deque()
        self._waiting: list[Future[None]] = []  # for the records to agree with the store's
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

    @property
    def is_syncing(self) -> bool:
        """Return True if it cannot answer yet, because records are still being compared."""
        return self._indexer.is_syncing

    def submit(
        self, query: Callable[[SearchIndex], T], *, is_part_of_search: bool = False
    ) -> Future[T | None]:
        """Return the result of `query` on the index; None if it cannot answer now: scan the store.

        While a search asks part by part, texts go on being indexed: the more are, the less it has to read.
        """
        done: Future[T | None] = Future()
        self._queue.put(_IndexQuery(query, done, is_part_of_search))
        return done

    def when_synced(self) -> Future[None]:
        """Return a future that is done when queries are answered, or never will be."""
        done: Future[None] = Future()
        self._queue.put(_SyncQuery(done))
        return done

    def when_indexed(self) -> Future[None]:
        """Return a future that is done when everything that can be indexed is."""
        done: Future[None] = Future()
        self._queue.put(_IndexQuery(None, done))
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
                if self._waiting and not self._indexer.is_syncing:
                    self._end_waiting()
        finally:
            self._end_waiting()
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
        if isinstance(job, _SyncQuery):
            self._waiting.append(job.done)
            return True
        self._apply_pending()
        if isinstance(job, _IndexQuery):
            self._reply(job)
            if not job.is_part_of_search:
                self._quiet_since = time.monotonic()
        return job is not None

    def _end_waiting(self) -> None:
        for done in self._waiting:
            if done.set_running_or_notify_cancel():
                done.set_result(None)
        self._waiting.clear()

    def _apply_pending(self) -> None:
        """Pass on the collected changes."""
        self._is_woken = False  # first: what comes from now on wakes this thread again
        left = len(self._pending_changes)
        while left > 0:
            if self._ending.is_set() and left > _AT_ONCE:
                self._drop_pending()
                return
            count = min(left, _AT_ONCE)
            self._indexer.add_changes([self._pending_changes.popleft() for _ in range(count)])
            left -= count
            self._quiet_since = time.monotonic()

    def _drop_pending(self) -> None:
        """Forget the collected changes, but delete an index that has words which were redacted."""
        redactions = [changes for changes in self._pending_changes if changes.has_redaction]
        self._pending_changes.clear()
        if redactions:
            self._indexer.add_changes(redactions[-1:])

    def _timeout_s(self) -> float | None:
        """Return how long to wait for a job before continuing with pending work, in seconds."""
        if self._indexer.is_syncing:
            return self._indexer.pause_s
        if self._pending_changes or self._indexer.has_changes:
            return FLUSH_S
        if self._idle_s is None or not self._indexer.has_pending_texts:
            return None
        return max(self._indexer.pause_s, self._quiet_since + self._idle_s - time.monotonic())

    def _work_while_idle(self) -> None:
        if self._pending_changes:
            self._apply_pending()
            if not self._indexer.is_syncing:
                return  # written once no more changes come
        start = time.monotonic()
        if self._indexer.is_syncing or not self._indexer.has_changes:
            self._indexer.step()
        else:
            self._indexer.flush()
        # Half of the time at most, so that what the user sees never waits long.
        self._indexer.pause_s = max(_MIN_PAUSE_S, time.monotonic() - start)

    def _reply(self, index_query: _IndexQuery) -> None:
        if not index_query.done.set_running_or_notify_cancel():
            return
        if index_query.question is not None:
            index_query.done.set_result(self._indexer.answer(index_query.question))
            return
        while self._indexer.has_work and not self._ending.is_set():
            self._indexer.step()
        index_query.done.set_result(None)
