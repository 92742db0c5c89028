"""Policy replays for the window: one worker process, started at the first need, ended when nobody asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from helix_desktop.context.policy import ContextPolicy
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
    ReplayEnded,
    Reply,
    Request,
    StartReplay,
    StopReplay,
    decode_reply,
    encode,
)
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.system.worker_process import end_process, start_process

_text = TextContext("Replay")

IDLE_S = 180.0
"""Seconds without a replay after which the process ends, unless it is to stay ready.

It takes 150 to 400 MB, by the session's length.
"""

_EVENTS_AT_ONCE = 250  # encoded while the interpreter's lock is held
_TRIES = 2


class PolicyReplayWorker:
    """Replays the policies of one session at a time in a process of its own. Use it from one event loop."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._sending = asyncio.Lock()
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Queue[Reply | None]] = {}  # None: the process died
        self._stopped: list[int] = []  # replays that nobody waits for, and the process does not know
        self._replays: set[int] = set()  # those of `_waiting` that a later change calls off
        self._scope = TaskScope()
        self._reader: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._log: Sequence[RecordedEvent] = ()
        self._facts: SessionFacts | None = None
        self._first_pictures: FirstPictures | None = None
        self._sent = 0  # events of the log that the process has
        self._is_open = False  # True if the process has the session's facts
        self._is_closed = self._stays_ready = False

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Give it a session; called again with a longer log of the same one, only what is new is sent.

        Raises HelixError if no process can be started.
        """
        is_same = facts == self._facts and len(log) >= len(self._log)
        is_same = is_same and (not self._log or log[len(self._log) - 1] is self._log[-1])
        if not is_same:
            self._is_open, self._sent = False, 0
        self._log, self._facts = tuple(log), facts
        await self._send()

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return an approximate picture of a session that was not given to it yet; needs no process."""
        if self._first_pictures is None or not self._first_pictures.continues_to(log, facts):
            self._first_pictures = FirstPictures(facts)
        return await asyncio.to_thread(self._first_pictures.picture, log, policy)

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield pictures of a policy (its numbers as set, not scaled), of which more and more is exact.

        The last one is exact as a whole. A later call ends this one without it. Raises HelixError if the
        replay failed.
        """
        for number in self._replays & self._waiting.keys():
            self._waiting[number].put_nowait(ReplayEnded(number))
        async with aclosing(self._exchange(policy)) as replies:
            async for reply in replies:
                if isinstance(reply, ReplayDone):
                    yield reply.replay

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """Return what a field changes against its profile's value; replays go before it.

        Raises HelixError if the replay failed.
        """
        while True:
            async with aclosing(self._exchange(policy, field, in_background=True)) as replies:
                async for reply in replies:
                    if isinstance(reply, EffectDone):
                        return reply.effect
            await asyncio.sleep(0)  # a replay went before it

    async def replay_in_background(self, policy: ContextPolicy) -> PolicyReplay:
        """Return the exact replay of a policy; all other requests go before it.

        Raises HelixError if the replay failed.
        """
        while True:
            async with aclosing(self._exchange(policy, in_background=True)) as replies:
                async for reply in replies:
                    if isinstance(reply, ReplayDone):
                        return reply.replay
            await asyncio.sleep(0)  # another request went before it

    async def stay_ready(self, *, is_on: bool) -> None:
        """Start the process with the session, and let it run until this is turned off again.

        Raises HelixError if no process can be started.
        """
        self._stays_ready = is_on
        if is_on:
            await self._send()
        else:
            self._watch_idle()

    async def _exchange(
        self, policy: ContextPolicy, field: str = "", *, in_background: bool = False
    ) -> AsyncGenerator[Reply, None]:
        """Yield the replies to a request; once the process died, it is asked once more."""
        for _ in range(_TRIES):
            number, replies = next(self._numbers), asyncio.Queue[Reply | None]()
            self._waiting[number] = replies
            if not in_background:
                self._replays.add(number)
            try:
                await self._send(StartReplay(number, policy, field, in_background))
                while (reply := await replies.get()) is not None:
                    if isinstance(reply, ReplayEnded):
                        if reply.failure:
                            raise HelixError(_text("The policy can't be replayed."), verbatim(reply.failure))
                        return
                    yield reply
                    if _is_last(reply):
                        return
            finally:
                self._replays.discard(number)
                if self._waiting.pop(number, None) is not None:
                    self._stopped.append(number)
                    self._tell_stopped()
                self._watch_idle()
        raise HelixError(
            _text("The policy can't be replayed."),
            _text("The process that replays it ended twice."),
            _text("The system may be out of memory. Close other programs and try again."),
        )

    def _tell_stopped(self) -> None:
        """Tell the process for which replays nobody waits any more, unless something is being sent."""
        if self._connection is None or self._sending.locked():
            return
        with suppress(OSError):
            for number in self._stopped:
                self._connection.send_bytes(encode(StopReplay(number)))
        self._stopped.clear()

    async def _send(self, request: Request | None = None) -> None:
        """Send what the process does not have of the session, and a request.

        What was begun goes on when the caller is canceled: a thread would write into what comes next.
        """
        await asyncio.shield(self._scope.start(self._send_whole(request), "send to policy replays"))

    async def _send_whole(self, request: Request | None) -> None:
        async with self._sending:
            if self._is_closed:
                return
            await self._send_session()
            if request is not None and self._connection is not None:
                with suppress(OSError):  # the reader finds the same, and tells all that wait
                    await asyncio.to_thread(self._connection.send_bytes, encode(request))
                self._start_reader()
        self._tell_stopped()
        self._watch_idle()

    async def _send_session(self) -> None:
        """Start the process if there is none, and send what it does not have of the session."""
        if self._facts is None:
            raise ValueError("no session was loaded")
        if self._process is None:
            await self._start()
        connection, log = self._connection, self._log
        assert connection is not None  # it was started
        try:
            if not self._is_open:
                self._is_open, self._sent = True, 0
                await asyncio.to_thread(connection.send_bytes, encode(OpenSession(self._facts)))
            while self._sent < len(log) and log is self._log:  # else another session is waiting
                events = list(log[self._sent : self._sent + _EVENTS_AT_ONCE])
                self._sent += len(events)
                await asyncio.to_thread(_send_events, connection, events)
        except OSError:
            self._start_reader()

    async def _start(self) -> None:
        if self._ending is not None:
            await asyncio.wait([self._ending])
        try:
            self._process, self._connection = await asyncio.to_thread(start_process, _serve, "replays")
        except OSError as error:
            raise HelixError(
                _text("The policy can't be replayed."),
                verbatim(str(error)),
                _text("Close other programs and try again."),
            ) from error
        self._is_open, self._sent = False, 0

    def _start_reader(self) -> None:
        if self._reader is None or self._reader.done():
            self._reader = self._scope.start(self._read(), "policy replays")

    async def _read(self) -> None:
        """Hand the replies to those that wait, as long as somebody does."""
        connection = self._connection
        while connection is not None and self._waiting:
            try:
                data = await asyncio.to_thread(connection.recv_bytes)
            except (EOFError, OSError):
                await self._end()
                for replies in self._waiting.values():
                    replies.put_nowait(None)
                return
            reply = decode_reply(data)
            is_last = _is_last(reply)
            waiting = self._waiting.pop(reply.number, None) if is_last else self._waiting.get(reply.number)
            if waiting is not None:
                waiting.put_nowait(reply)

    def _watch_idle(self) -> None:
        """End the process when nobody asks for a while."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._process is not None and not self._waiting and not self._stays_ready:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._end_idle)

    def _end_idle(self) -> None:
        if not self._waiting and not self._sending.locked():
            self._ending = self._scope.start(self._end(), "end policy replays")

    async def close(self) -> None:
        """End the process; replays that wait end without a result.

        What was begun goes on when the caller is canceled, and another call waits for it.
        """
        if self._closing is None:
            self._closing = self._scope.start(self._close(), "close policy replays")
        await asyncio.shield(self._closing)
        await self._scope.close()

    async def _close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        for number, replies in self._waiting.items():
            replies.put_nowait(ReplayEnded(number))
        self._is_closed, self._log, self._first_pictures = True, (), None
        async with self._sending:
            await self._end()
        pending = [task for task in (self._reader, self._ending) if task is not None]
        if pending:
            await asyncio.wait(pending)

    async def _end(self) -> None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return
        await asyncio.to_thread(end_process, process)
        if self._reader is None or self._reader.done() or self._reader is asyncio.current_task():
            connection.close()
        else:
            self._reader.add_done_callback(lambda _: connection.close())


def _is_last(reply: Reply) -> bool:
    return not isinstance(reply, ReplayDone) or reply.replay.is_exact


def _send_events(connection: Connection, events: list[RecordedEvent]) -> None:
    connection.send_bytes(encode(AddEvents(events)))


def _serve(connection: Connection) -> None:
    """Run the worker process; only there the engine is imported."""
    from helix_desktop.replay.policy.worker_process import serve

    serve(connection)
