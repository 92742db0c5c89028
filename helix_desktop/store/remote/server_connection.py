"""One client of a store: reads its requests, several at a time, and answers each."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from typing import Any, Protocol

from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.store.remote.frames import (
    HEAD_BYTES,
    MAX_ANSWER_BYTES,
    MAX_REQUEST_BYTES,
    Frame,
    FrameHead,
    InvalidFrame,
    encode_frame,
    encode_progress,
    read_frame_head,
)
from helix_desktop.store.remote.rpc_errors import to_rpc_error
from helix_desktop.store.remote.rpc_methods import RpcMethod, RpcRequest, method_of
from helix_desktop.store.threads.backpressure import Backpressure

text = TextContext("Store")

_MAX_PROGRESS_FRAMES = 200  # maximum number of progress frames for one answer
_MAX_CONCURRENT_REQUESTS = (
    64  # requests of one client that are processed at once; the next is read when one is answered
)
_log = logging.getLogger(__name__)


class RequestHandler(Protocol):
    """The handler of clients' requests."""

    async def handle_request(
        self, client: object, method: RpcMethod[Any], args: tuple[Any, ...], on_progress: OnProgress
    ) -> Any:
        """Run a method; `on_progress` is called on any thread. Raise HelixError, ValueError."""
        ...

    def client_disconnected(self, client: object) -> None:
        """Release what belongs to a client that has disconnected."""
        ...


class ClientConnection:
    """A connection whose other end has proved to be the same user."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: RequestHandler
    ) -> None:
        self._reader, self._writer, self._handler = reader, writer, handler
        self._backpressure = Backpressure()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_REQUESTS)
        self._write_lock = asyncio.Lock()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer until the client leaves, then cancel its pending requests. Raise InvalidFrame."""
        try:
            async with asyncio.TaskGroup() as calls:
                while await self._accept_request(calls):
                    pass
                for task in self._answering:
                    task.cancel()
        finally:
            self._handler.client_disconnected(self)

    async def _accept_request(self, tasks: asyncio.TaskGroup) -> bool:
        """Begin to answer one more request; return False if the client has left."""
        await self._slots.acquire()
        async with AsyncExitStack() as slots:
            slots.callback(self._slots.release)
            try:
                head = read_frame_head(await self._reader.readexactly(HEAD_BYTES), MAX_REQUEST_BYTES)
                await slots.enter_async_context(self._backpressure.slot(head.length))
                payload = await self._reader.readexactly(head.length)
            except asyncio.IncompleteReadError:
                return False
            task = tasks.create_task(self._answer(head, payload, slots.pop_all()))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return True

    async def _answer(self, head: FrameHead, payload: bytes, slots: AsyncExitStack) -> None:
        async with slots:
            result = await self._handle_frame(Frame(payload, head.is_json), head.id)
            await _send_frame(self._writer, head.id, result, self._write_lock)

    async def _handle_frame(self, request_frame: Frame, request_id: int) -> Frame:
        try:
            request = request_frame.decode(RpcRequest)
            method = method_of(request)
            args = method.decode_args(request, request_frame.is_json)
            on_progress = (
                ProgressSender(self._writer, request_id).report if request.wants_progress else no_progress
            )
            result = encode_frame((None, await self._handler.handle_request(self, method, args, on_progress)))
        except InvalidFrame as error:
            refused = StoreError(text("The request was refused."), verbatim(f"{error}."))
            return encode_frame((to_rpc_error(refused), None))
        except (HelixError, ValueError) as error:
            return encode_frame((to_rpc_error(error), None))
        except Exception:  # noqa: BLE001 - a bug of ours: it is logged, and the client must get an answer
            _log.exception("a request of another process failed")
            failed = StoreError(
                text("The process that manages the workspace data couldn't answer."),
                fix=text("Open the log for details."),
            )
            return encode_frame((to_rpc_error(failed), None))
        if len(result.payload) > MAX_ANSWER_BYTES:
            return encode_frame(
                (
                    to_rpc_error(
                        StoreError(
                            text("The answer is too large to send."), fix=text("Ask for less at once.")
                        )
                    ),
                    None,
                )
            )
        return result


class ProgressSender:
    """Report the progress of an answer to a client: from any thread, rarely enough for any socket."""

    def __init__(self, writer: asyncio.StreamWriter, request_id: int) -> None:
        self._writer, self._request_id = writer, request_id
        self._loop = asyncio.get_running_loop()
        self._sent_step = -1

    def report(self, done: int, size: int) -> None:
        """Report `done` of `size`."""
        step = done * _MAX_PROGRESS_FRAMES // max(1, size)
        if step != self._sent_step:
            self._sent_step = step
            with suppress(RuntimeError):  # the loop may have ended
                self._loop.call_soon_threadsafe(self._send, encode_progress(done, size))

    def _send(self, progress_frame: Frame) -> None:
        if not self._writer.is_closing():
            self._writer.write(
                progress_frame.encode_head(self._request_id) + progress_frame.payload
            )  # complete, between other frames


async def _send_frame(
    writer: asyncio.StreamWriter, request_id: int, answer: Frame, write_lock: asyncio.Lock
) -> None:
    """Send a frame and wait until the other side takes it; ignore a side that has left."""
    async with write_lock:
        with suppress(ConnectionError):
            writer.writelines((answer.encode_head(request_id), answer.payload))
            await writer.drain()
