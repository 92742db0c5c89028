"""The guest's end of the socket: sends requests, joins answers to them."""

from __future__ import annotations

import asyncio

from helix_desktop.context.archive import Progress
from helix_desktop.store.remote.wire import (
    ANSWER_CAP,
    GREETING,
    GREETING_CAP,
    HEAD_BYTES,
    Frame,
    FrameRefused,
    Head,
    read_head,
)


class ConnectionGone(Exception):
    """The other side has left, or sent what is no frame."""


class Connection(asyncio.Protocol):
    """One connection to an owner; its frames resolve the futures that wait for their ids."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._came = bytearray()
        self._head: Head | None = None
        self._cap = GREETING_CAP
        self._last = GREETING
        self._told: dict[int, Progress] = {}
        self._waiting: dict[int, asyncio.Future[Frame]] = {GREETING: loop.create_future()}
        self._ended: asyncio.Future[None] = loop.create_future()
        self.refused: FrameRefused | None = None

    @property
    def alive(self) -> bool:
        """Whether the other side is there."""
        return not self._ended.done()

    async def greeting(self) -> Frame:
        """The next frame of the greeting. Raises ConnectionGone, FrameRefused."""
        if self.refused is not None:
            raise self.refused
        waiting = self._waiting.get(GREETING)
        if waiting is None or not self.alive:
            raise ConnectionGone
        frame = await waiting
        self._waiting[GREETING] = asyncio.get_running_loop().create_future()
        return frame

    def trust(self) -> None:
        """The other side has proved who it is: take long frames from it."""
        self._cap = ANSWER_CAP

    def say(self, frame: Frame) -> None:
        """Send a frame of the greeting."""
        self._write(frame, GREETING)

    def ask(self, frame: Frame, told: Progress | None = None) -> asyncio.Future[Frame]:
        """Send a request, in the order of these calls; its answer, and until then how far it is.

        Raises ConnectionGone.
        """
        if not self.alive:
            raise ConnectionGone
        self._last += 1
        identity = self._last
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._forget(identity))
        self._waiting[identity] = answer
        if told is not None:
            self._told[identity] = told
        self._write(frame, identity)
        return answer

    async def close(self) -> None:
        """Let go of the socket."""
        if self._transport is not None:
            self._transport.close()
            await asyncio.shield(self._ended)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        assert isinstance(transport, asyncio.Transport)  # what a stream socket has
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        self._came += data
        try:
            while self._frame_came():
                pass
        except FrameRefused as error:
            self.refused = error
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has left: nobody waits any longer."""
        if not self._ended.done():
            self._ended.set_result(None)
        for answer in tuple(self._waiting.values()):
            if not answer.done():
                answer.set_exception(self.refused or ConnectionGone())
                answer.exception()  # asked for here: usually nobody waits for more of a greeting

    def _frame_came(self) -> bool:
        """Take one whole frame out of what came; false when there is none."""
        if self._head is None and len(self._came) >= HEAD_BYTES:
            self._head = read_head(bytes(self._came[:HEAD_BYTES]), self._cap)
        if self._head is None or len(self._came) < HEAD_BYTES + self._head.length:
            return False
        head, self._head = self._head, None
        end = HEAD_BYTES + head.length
        with memoryview(self._came) as came:
            frame = Frame(bytes(came[HEAD_BYTES:end]), head.json, head.far)
        del self._came[:end]
        if head.far:
            self._tell(head.id, frame)
            return True
        waiting = self._waiting.get(head.id)
        if waiting is not None and not waiting.done():  # of a call that was given up, nobody waits
            waiting.set_result(frame)
        return True

    def _tell(self, identity: int, frame: Frame) -> None:
        told = self._told.get(identity)
        if told is not None:
            told(*frame.read(tuple[int, int]))

    def _forget(self, identity: int) -> None:
        self._waiting.pop(identity, None)
        self._told.pop(identity, None)

    def _write(self, frame: Frame, identity: int) -> None:
        assert self._transport is not None  # given with the connection
        self._transport.write(frame.head(identity) + frame.payload)
