"""The way to a store that another process owns; when that ends, on to the next owner, or into the files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.errors import StoreClosed
from helix_desktop.context.event import Recorded
from helix_desktop.store import refusals
from helix_desktop.store.remote import calls
from helix_desktop.store.remote.calls import Answer, Call, Request
from helix_desktop.store.remote.connection import Connection, ConnectionGone
from helix_desktop.store.remote.faults import error_of
from helix_desktop.store.remote.shared import SharedStore
from helix_desktop.store.remote.wire import Frame, FrameRefused

PATIENCE_S = 60.0  # for one answer; an owner that is busy with a large one still answers within seconds
_FOLLOWED = 8  # owners that may end, one after the other, while one request waits for its answer
_ENDED = "It was closed or ended"

# What they tell would be another thing the second time, and nobody knows whether the first one was done.
_ONCE = frozenset(
    (calls.COLLECT, calls.RESTORE, calls.TRASH_SESSION, calls.RESTORE_SESSION, calls.EMPTY_TRASH, calls.LIFT)
)

Place = Connection | SharedStore
Reopen = Callable[[], Awaitable[Place]]
"""Opens the store anew: as its owner, or through the process that owns it by now."""

T = TypeVar("T")


class Way:
    """Where one guest's requests go."""

    def __init__(self, connection: Connection, owner_pid: int) -> None:
        self.owner_pid = owner_pid
        self.reopen: Reopen | None = None
        self.place: Place = connection
        self._changing = asyncio.Lock()
        self._order = asyncio.Lock()
        self._late = 0  # commits that wait for an earlier one to be asked for again
        self._asked: set[asyncio.Future[Frame]] = set()
        self._closed = False

    async def ask(self, call: Call[T], request: Frame, patience_s: float, told: Progress | None) -> T:
        """The answer, of whoever owns the store by then. Raises as the method does; StoreClosed, StoreLocked.

        What was begun and must not be done twice is not asked again.
        """
        for left in reversed(range(_FOLLOWED)):
            at = self.place
            try:
                return await self._ask(at, call, request, patience_s, told)
            except (ConnectionGone, FrameRefused) as error:
                if not left or self.reopen is None or isinstance(error, FrameRefused) or call in _ONCE:
                    raise self._gone(_ENDED) from error
                await self._follow(at, self.reopen)
        raise AssertionError  # the last turn of the loop returns or raises

    async def commit(self, request: Frame, session: str, events: Sequence[Recorded]) -> None:
        """A commit of these events; those that were on their way when the owner ended go first, in order."""
        if not self._late:
            try:
                return await self._ask(self.place, calls.COMMIT, request, PATIENCE_S, None)
            except (ConnectionGone, FrameRefused) as error:
                if self.reopen is None or isinstance(error, FrameRefused):
                    raise self._gone(_ENDED) from error
        self._late += 1
        try:
            async with self._order:
                if not (events and await self._stored(session, events)):
                    await self.ask(calls.COMMIT, request, PATIENCE_S, None)
        finally:
            self._late -= 1

    async def close(self) -> None:
        """Wait for what was asked, then leave the owner, or let go of the files."""
        if self._asked:
            await asyncio.wait(self._asked, timeout=PATIENCE_S)
        async with self._changing:
            self._closed = True
            await self.place.close()

    async def _ask(
        self, at: Place, call: Call[T], request: Frame, patience_s: float, told: Progress | None
    ) -> T:
        if isinstance(at, SharedStore):
            given = call.arguments(request.read(Request), request.json)
            result: T = await at.serve(self, call, given, told or silent)
            return result
        waiting = at.ask(request, told)
        self._asked.add(waiting)
        waiting.add_done_callback(self._asked.discard)
        try:
            async with asyncio.timeout(patience_s):
                came = await waiting
        except TimeoutError as error:
            raise self._gone(f"It has not answered for {patience_s:.0f} s") from error
        answer = came.read(Answer)
        if answer.fault is not None:
            raise error_of(answer.fault)
        return call.result(bytes(answer.value), came.json)

    async def _stored(self, session: str, events: Sequence[Recorded]) -> bool:
        """Whether the owner that has ended did store these events."""
        log = await self.ask(calls.EVENTS, calls.EVENTS.request(session), PATIENCE_S, None)
        first = events[0].seq - 1
        return log[first : first + len(events)] == list(events)

    async def _follow(self, left: Place, reopen: Reopen) -> None:
        """Go to where the store is used now, unless another request went there already."""
        async with self._changing:
            if self._closed:
                raise refusals.closed()
            if self.place is left:
                await left.close()
                self.place = await reopen()

    def _gone(self, why: str) -> StoreClosed:
        return StoreClosed(
            "The process that owns this workspace's store does not answer any more.",
            f"{why} (process {self.owner_pid}); whether it stored what was sent last is not known.",
            "Try again: what is there is read anew.",
        )
