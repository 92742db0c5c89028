"""The thread of the search index: takes changes, answers questions, and works on while nobody asks."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from helix_desktop.store.batch import Batch
from helix_desktop.store.search_db import SearchDb
from helix_desktop.store.search_work import Changes, Work

FLUSH_S = 0.1  # how long changes are gathered when nobody asks: a wake-up each would slow the writer down
_LEAST_PAUSE_S = 0.002  # between two pieces of work: other threads want to run

T = TypeVar("T")


class _Wake:
    """Says that changes have begun to gather."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question and where its answer goes; without a question: when all is indexed."""

    question: Callable[[SearchDb], Any] | None
    done: Future[Any]


class SearchThread:
    """Runs the index's work. Questions see every change that was told before them."""

    def __init__(self, name: str, work: Work, idle_s: float | None) -> None:
        """Texts are indexed after `idle_s` seconds of quiet; None: only when somebody waits for it."""
        self._work, self._idle_s = work, idle_s
        self._queue: queue.SimpleQueue[_Wake | _Asked | None] = queue.SimpleQueue()
        self._gathered: deque[Changes] = deque()
        self._told = False  # of what is gathered
        self._ending = threading.Event()
        self._quiet_since = 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def changed(self, batch: Batch) -> None:
        """Take over what a batch, which is written now, did to the entries. Called by the writer."""
        self._gathered.append(Changes.of(batch))
        if not self._told:
            self._told = True
            self._queue.put(_Wake())

    def ask(self, question: Callable[[SearchDb], T]) -> Future[T | None]:
        """What `question` makes of the index; None when it cannot tell now: the store has to be scanned."""
        done: Future[T | None] = Future()
        self._queue.put(_Asked(question, done))
        return done

    def settled(self) -> Future[None]:
        """Done when all that is stored is indexed, as far as it ever is."""
        done: Future[None] = Future()
        self._queue.put(_Asked(None, done))
        return done

    def close(self) -> None:
        """Write down what is known, let go of the file, and end."""
        self._ending.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        self._work.open()
        try:
            while self._turn():
                pass
        finally:
            self._work.close()

    def _turn(self) -> bool:
        """Do one thing; False at the end."""
        try:
            job = self._queue.get(timeout=self._patience())
        except queue.Empty:
            self._go_on()
            return True
        if isinstance(job, _Wake):
            self._quiet_since = time.monotonic()
            return True
        self._take()
        if isinstance(job, _Asked):
            self._reply(job)
            self._quiet_since = time.monotonic()
        return job is not None

    def _take(self) -> None:
        """Hand on what was gathered."""
        self._told = False  # first: what comes from now on wakes this thread again
        if self._gathered:
            self._work.take([self._gathered.popleft() for _ in range(len(self._gathered))])
            self._quiet_since = time.monotonic()

    def _patience(self) -> float | None:
        """How long to wait for a job before going on with what is to be done, in seconds."""
        if self._work.syncing:
            return self._work.pause
        if self._gathered or self._work.pending:
            return FLUSH_S
        if self._idle_s is None or not self._work.texts_wait:
            return None
        return max(self._work.pause, self._quiet_since + self._idle_s - time.monotonic())

    def _go_on(self) -> None:
        if self._gathered:
            self._take()
            if not self._work.syncing:
                return  # written down once nothing more comes
        start = time.monotonic()
        if self._work.syncing or not self._work.pending:
            self._work.step()
        else:
            self._work.flush()
        # Half of the time at most, so that what the person sees never waits long.
        self._work.pause = max(_LEAST_PAUSE_S, time.monotonic() - start)

    def _reply(self, asked: _Asked) -> None:
        if not asked.done.set_running_or_notify_cancel():
            return
        if asked.question is not None:
            asked.done.set_result(self._work.answer(asked.question))
            return
        while self._work.left and not self._ending.is_set():
            self._work.step()
        asked.done.set_result(None)
