"""The client's end of the socket: sends requests, matches answers to them."""

from __future__ import annotations

import asyncio

from helix_desktop.domain.progress import OnProgress
from helix_desktop.store.remote.frames import (
    HANDSHAKE_ID,
    HEAD_BYTES,
    MAX_ANSWER_BYTES,
    MAX_HANDSHAKE_BYTES,
    Frame,
    FrameHead,
    InvalidFrame,
    read_frame_head,
)


class ConnectionClosed(Exception):
    """The other side has left, or sent an invalid frame."""


class OwnerConnection(asyncio.Protocol):
    """One connection to an owner; its frames resolve the futures that wait for their ids."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: FrameHead | None = None
        self._max_bytes = MAX_HANDSHAKE_BYTES
        self._last_request_id = HANDSHAKE_ID
        self._progress_callbacks: dict[int, OnProgress] = {}
        self._pending_answers: dict[int, asyncio.Future[Frame]] = {HANDSHAKE_ID: loop.create_future()}
        self._disconnected: asyncio.Future[None] = loop.create_future()
        self.refusal: InvalidFrame | None = None

    @property
    def is_alive(self) -> bool:
        """Return True if the other side is connected."""
        return not self._disconnected.done()

    async def receive_handshake(self) -> Frame:
        """Return the next frame of the handshake. Raise ConnectionClosed, InvalidFrame."""
        if self.refusal is not None:
            raise self.refusal
        pending = self._pending_answers.get(HANDSHAKE_ID)
        if pending is None or not self.is_alive:
            raise ConnectionClosed
        frame = await pending
        self._pending_answers[HANDSHAKE_ID] = asyncio.get_running_loop().create_future()
        return frame

    def mark_authenticated(self) -> None:
        """Accept long frames: the other side has proved its identity."""
        self._max_bytes = MAX_ANSWER_BYTES

    def send_handshake(self, frame: Frame) -> None:
        """Send a frame of the handshake."""
        self._write(frame, HANDSHAKE_ID)

    def request(self, frame: Frame, on_progress: OnProgress | None = None) -> asyncio.Future[Frame]:
        """Send a request, in the order of the calls; return its answer's future. Report progress until then.

        Raise ConnectionClosed.
        """
        if not self.is_alive:
            raise ConnectionClosed
        self._last_request_id += 1
        request_id = self._last_request_id
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._remove_request(request_id))
        self._pending_answers[request_id] = answer
        if on_progress is not None:
            self._progress_callbacks[request_id] = on_progress
        self._write(frame, request_id)
        return answer

    async def close(self) -> None:
        """Close the socket."""
        if self._transport is not None:
            self._transport.close()
            await asyncio.shield(self._disconnected)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)  # what a stream socket has
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        self._buffer += data
        try:
            while self._read_frame():
                pass
        except InvalidFrame as error:
            self.refusal = error
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all pending answers: the other side has left."""
        if not self._disconnected.done():
            self._disconnected.set_result(None)
        for answer in tuple(self._pending_answers.values()):
            if not answer.done():
                answer.set_exception(self.refusal or ConnectionClosed())
                answer.exception()  # retrieved here: usually nobody waits for the rest of a handshake

    def _read_frame(self) -> bool:
        """Take one complete frame out of the buffer; return False if there is none."""
        if self._head is None and len(self._buffer) >= HEAD_BYTES:
            self._head = read_frame_head(bytes(self._buffer[:HEAD_BYTES]), self._max_bytes)
        if self._head is None or len(self._buffer) < HEAD_BYTES + self._head.length:
            return False
        head, self._head = self._head, None
        end = HEAD_BYTES + head.length
        with memoryview(self._buffer) as received:
            frame = Frame(bytes(received[HEAD_BYTES:end]), head.is_json, head.is_progress)
        del self._buffer[:end]
        if head.is_progress:
            self._report_progress(head.id, frame)
            return True
        pending = self._pending_answers.get(head.id)
        if pending is not None and not pending.done():  # nobody waits for a call that was canceled
            pending.set_result(frame)
        return True

    def _report_progress(self, request_id: int, frame: Frame) -> None:
        on_progress = self._progress_callbacks.get(request_id)
        if on_progress is not None:
            on_progress(*frame.decode(tuple[int, int]))

    def _remove_request(self, request_id: int) -> None:
        self._pending_answers.pop(request_id, None)
        self._progress_callbacks.pop(request_id, None)

    def _write(self, frame: Frame, request_id: int) -> None:
        assert self._transport is not None  # given with the connection
        self._transport.write(frame.encode_head(request_id) + frame.payload)
