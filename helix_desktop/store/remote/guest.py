"""One guest of a store: reads its requests, a few at a time, and answers each."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from typing import Any, Protocol

from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.errors import HelixError, StoreError
from helix_desktop.store.backlog import Backlog
from helix_desktop.store.remote.calls import Call, Request, call_of
from helix_desktop.store.remote.faults import fault_of
from helix_desktop.store.remote.wire import (
    ANSWER_CAP,
    HEAD_BYTES,
    REQUEST_CAP,
    Frame,
    FrameRefused,
    Head,
    far_frame,
    frame,
    read_head,
)

_SHARES = 200  # times at most that a guest is told how far one answer is
_AT_ONCE = 64  # requests of one guest that are worked on; the next is read when one is answered
_log = logging.getLogger(__name__)


class Host(Protocol):
    """Does what guests ask for."""

    async def serve(self, guest: object, call: Call[Any], given: tuple[Any, ...], told: Progress) -> Any:
        """Run a method; `told` hears how far it is, on any thread. Raises HelixError, ValueError."""
        ...

    def part(self, guest: object) -> None:
        """A guest has left."""
        ...


class Guest:
    """A connection whose other end has proved to be the same person."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: Host) -> None:
        self._reader, self._writer, self._host = reader, writer, host
        self._backlog = Backlog()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._writing = asyncio.Lock()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer until the guest leaves; what it no longer waits for is given up. Raises FrameRefused."""
        try:
            async with asyncio.TaskGroup() as calls:
                while await self._next(calls):
                    pass
                for task in self._answering:
                    task.cancel()
        finally:
            self._host.part(self)

    async def _next(self, calls: asyncio.TaskGroup) -> bool:
        """Begin to answer one more request; false when the guest has left."""
        await self._slots.acquire()
        async with AsyncExitStack() as place:
            place.callback(self._slots.release)
            try:
                head = read_head(await self._reader.readexactly(HEAD_BYTES), REQUEST_CAP)
                await place.enter_async_context(self._backlog.place(head.length))
                payload = await self._reader.readexactly(head.length)
            except asyncio.IncompleteReadError:
                return False
            task = calls.create_task(self._answer(head, payload, place.pop_all()))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return True

    async def _answer(self, head: Head, payload: bytes, place: AsyncExitStack) -> None:
        async with place:
            result = await self._result(Frame(payload, head.json), head.id)
            await send(self._writer, head.id, result, self._writing)

    async def _result(self, asked: Frame, identity: int) -> Frame:
        try:
            request = asked.read(Request)
            call = call_of(request)
            given = call.arguments(request, asked.json)
            told = Told(self._writer, identity).tell if request.told else silent
            result = frame((None, await self._host.serve(self, call, given, told)))
        except FrameRefused as error:
            return frame((fault_of(StoreError("The request was refused.", f"{error}.")), None))
        except (HelixError, ValueError) as error:
            return frame((fault_of(error), None))
        except Exception:  # noqa: BLE001 - a mistake of ours: it is logged, and the guest must hear of it
            _log.exception("a request of another process failed")
            return frame((fault_of(StoreError("The owner of the store could not answer.")), None))
        if len(result.payload) > ANSWER_CAP:
            return frame((fault_of(StoreError("The answer is too large to be sent.")), None))
        return result


class Told:
    """Tells a guest how far its answer is: from any thread, seldom enough for any socket."""

    def __init__(self, writer: asyncio.StreamWriter, identity: int) -> None:
        self._writer, self._identity = writer, identity
        self._loop = asyncio.get_running_loop()
        self._share = -1

    def tell(self, done: int, size: int) -> None:
        """So much of so much is done."""
        share = done * _SHARES // max(1, size)
        if share != self._share:
            self._share = share
            with suppress(RuntimeError):  # the loop may have ended
                self._loop.call_soon_threadsafe(self._send, far_frame(done, size))

    def _send(self, far: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(far.head(self._identity) + far.payload)  # whole, between other frames


async def send(writer: asyncio.StreamWriter, identity: int, answer: Frame, turn: asyncio.Lock) -> None:
    """Send a frame and wait until the other side takes it; who has left needs none."""
    async with turn:
        with suppress(ConnectionError):
            writer.writelines((answer.head(identity), answer.payload))
            await writer.drain()
