"""Policy replays for the window: one worker process, started at the first need, ended when nobody asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from threading import Event
from typing import TypeVar

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.replay.policy.approximation import FirstPictures
from helix_desktop.replay.policy.policy_replay import (
    AddEvents,
    EffectDone,
    FieldEffect,
    OpenSession,
    PolicyReplay,
    ReplayDone,
    ReplayFailed,
    Request,
    StartReplay,
    StopReplay,
    decode_reply,
    encode,
)
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.system.worker_process import end_process, start_process

_text = TextContext("Replay")

T = TypeVar("T")

IDLE_S = 180.0
"""Seconds without a replay after which the process ends, unless it is to stay ready.

It takes 150 to 400 MB, by the session's length.
"""

_EVENTS_AT_ONCE = 250  # encoded while the interpreter's lock is held
_LOOK_S = 0.05  # between two looks whether a request was called off
_TRIES = 2


class PolicyReplayWorker:
    """Replays the policies of one session at a time in a process of its own. Use it from one event loop.

    One request is answered after the other; one whose caller is canceled ends at once.
    """

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._stays_ready = False
        self._idle: asyncio.TimerHandle | None = None
        self._link = _Link()
        self._thread = ThreadPoolExecutor(1, "policy replays")
        self._stops = set[Event]()  # of the requests that somebody waits for
        self._ending: Future[None] | None = None
        self._first_pictures: FirstPictures | None = None

    @property
    def is_running(self) -> bool:
        return self._link.process is not None

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Give it a session; called again with a longer log of the same one, only what is new is sent.

        Raises HelixError if no process can be started.
        """
        session = tuple(log)
        await self._ask(lambda stop: self._link.load(session, facts, stop))

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return an approximate picture of a session that was not given to it yet; needs no process."""
        if self._first_pictures is None or not self._first_pictures.continues_to(log, facts):
            self._first_pictures = FirstPictures(facts)
        return await asyncio.to_thread(self._first_pictures.picture, log, policy)

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield pictures of a policy (its numbers as set, not scaled), of which more and more is exact.

        The last one is exact as a whole. Raises HelixError if the replay failed.
        """
        pictures = asyncio.Queue[PolicyReplay | None]()
        loop = asyncio.get_running_loop()

        def put(picture: PolicyReplay | None) -> None:
            with suppress(RuntimeError):  # the loop may have ended
                loop.call_soon_threadsafe(pictures.put_nowait, picture)

        def work(stop: Event) -> None:
            for reply in self._link.ask(StartReplay(policy, is_growing=True), stop):
                if isinstance(reply, ReplayDone):
                    put(reply.replay)

        with self._submitted(work) as working:
            working.add_done_callback(lambda _: put(None))
            while (picture := await pictures.get()) is not None:
                yield picture
            working.result()

    async def replay_in_background(self, policy: ContextPolicy) -> PolicyReplay:
        """Return the exact replay of a policy. Raises HelixError if the replay failed."""
        return (await self._reply_to(StartReplay(policy), ReplayDone)).replay

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """Return what a field changes against its profile's value. Raises HelixError if the replay failed."""
        return (await self._reply_to(StartReplay(policy, field), EffectDone)).effect

    async def _reply_to(self, request: StartReplay, reply_type: type[T]) -> T:
        reply = await self._ask(lambda stop: next(self._link.ask(request, stop), None))
        if not isinstance(reply, reply_type):
            why = _text("The replay was stopped before it was done.")
            raise HelixError(_text("The policy can't be replayed."), why)
        return reply

    async def stay_ready(self, *, is_on: bool) -> None:
        """Start the process with the session, and let it run until this is turned off again.

        Raises HelixError if no process can be started.
        """
        self._stays_ready = is_on
        if is_on:
            await self._ask(self._link.make_ready)
        else:
            self._watch_idle()

    async def close(self) -> None:
        """End the process, and forget the session; replays that wait end without a result.

        It ends also if the caller is canceled, and another call waits for it.
        """
        for stop in self._stops:
            stop.set()
        self._first_pictures = None
        if self._ending is None:
            self._ending = self._thread.submit(self._link.forget)
            self._thread.shutdown(wait=False)
            self._watch_idle()
        await asyncio.shield(asyncio.wrap_future(self._ending))

    async def _ask(self, work: Callable[[Event], T]) -> T:
        with self._submitted(work) as working:
            return await asyncio.wrap_future(working)

    @contextmanager
    def _submitted(self, work: Callable[[Event], T]) -> Iterator[Future[T]]:
        """Let the thread work; the event that it gets is set once nobody waits any more."""
        stop = Event()
        self._stops.add(stop)
        self._watch_idle()
        try:
            yield self._thread.submit(work, stop)
        finally:
            stop.set()
            self._stops.remove(stop)
            self._watch_idle()

    def _watch_idle(self) -> None:
        """End the process when nobody asks for a while."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        is_needed = bool(self._stops) or self._stays_ready
        if not is_needed and self._ending is None:  # also if a canceled request is just starting it
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self._idle_s, self._thread.submit, self._link.end)


class _Link:
    """The process, and what it has of the session, for one thread; what is asked ends once `stop` is set."""

    def __init__(self) -> None:
        self.process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._log: Sequence[RecordedEvent] = ()
        self._facts: SessionFacts | None = None
        self._is_open = False  # True if the process has the session's facts
        self.sent = 0  # events of the log that it has
        self._number = 0

    def load(self, log: Sequence[RecordedEvent], facts: SessionFacts, stop: Event) -> None:
        count = len(self._log)
        is_same = (
            facts == self._facts and len(log) >= count and (not count or log[count - 1] is self._log[-1])
        )
        self._is_open = self._is_open and is_same
        self._log = log
        self._facts = facts
        self.make_ready(stop)

    def make_ready(self, stop: Event) -> None:
        """Start the process if there is none, and send what it does not have of the session."""
        try:
            self._send_session(stop)
        except OSError:
            self.end()  # the next request starts another one

    def ask(self, request: StartReplay, stop: Event) -> Iterator[ReplayDone | EffectDone]:
        """Yield the replies to a request, until `stop` is set; none then.

        Once the process died, another one is asked. Raises HelixError.
        """
        for _ in range(_TRIES):
            if stop.is_set():
                return
            try:
                self._send_session(stop)
                if not stop.is_set():
                    yield from self._replies(request, stop)
                return
            except (EOFError, OSError):
                self.end()
        if not stop.is_set():
            raise HelixError(
                _text("The policy can't be replayed."),
                _text("The process that replays it ended twice."),
                _text("The system may be out of memory. Close other programs and try again."),
            )

    def _replies(self, request: StartReplay, stop: Event) -> Iterator[ReplayDone | EffectDone]:
        connection = self._connection
        assert connection is not None  # the session was sent
        self._number += 1
        request.number = self._number
        self._send(request)
        while not stop.is_set():
            if not connection.poll(_LOOK_S):
                continue
            reply = decode_reply(connection.recv_bytes())
            if reply.number != self._number:
                continue  # of one that was called off
            if isinstance(reply, ReplayFailed):
                raise HelixError(_text("The policy can't be replayed."), verbatim(reply.reason))
            yield reply
            if isinstance(reply, EffectDone) or reply.replay.is_exact:
                return
        self._send(StopReplay())

    def _send_session(self, stop: Event) -> None:
        if self._facts is None:
            raise ValueError("no session was loaded")
        if self.process is None:
            self._start()
        if not self._is_open:
            self._is_open = True
            self.sent = 0
            self._send(OpenSession(self._facts))
        while self.sent < len(self._log) and not stop.is_set():
            events = list(self._log[self.sent : self.sent + _EVENTS_AT_ONCE])
            self._send(AddEvents(events))
            self.sent += len(events)

    def _start(self) -> None:
        try:
            self.process, self._connection = start_process(_serve, "replays")
        except OSError as error:
            raise HelixError(
                _text("The policy can't be replayed."),
                verbatim(str(error)),
                _text("Close other programs and try again."),
            ) from error

    def _send(self, request: Request) -> None:
        assert self._connection is not None  # it was started
        self._connection.send_bytes(encode(request))

    def end(self) -> None:
        process = self.process
        connection = self._connection
        self.process = None
        self._connection = None
        self._is_open = False
        if process is not None and connection is not None:
            end_process(process)
            connection.close()

    def forget(self) -> None:
        self._log = ()
        self._facts = None
        self.end()


def _serve(connection: Connection) -> None:
    """Run the worker process; only there the engine is imported."""
    from helix_desktop.replay.policy.worker_process import serve

    serve(connection)
