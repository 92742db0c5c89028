"""Output that a thread writes: a reader that doesn't read keeps its turn waiting, and nobody else."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from errno import EAGAIN
from typing import Any, TextIO


class OutputQueue:
    """Writes texts to streams in the order of the calls of `write`, in a thread of its own.

    `on_error` is called in the event loop with the first error of each stream; what is queued for that
    stream is dropped. The thread writes below the buffer of a stream, whose lock would hold up the end of
    the process.
    """

    def __init__(self, on_error: Callable[[OSError], object]) -> None:
        self._on_error = on_error
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[tuple[TextIO, str] | None] = queue.SimpleQueue()
        self._unwritten = 0  # texts
        self._has_failed = False
        self._is_written = asyncio.Event()
        self._is_written.set()
        self._has_ended = asyncio.Event()
        # A daemon: a write that nobody reads must not hold up the end of the process.
        threading.Thread(target=self._run, name="output", daemon=True).start()

    def write(self, stream: TextIO, text: str) -> None:
        """Queue a text."""
        self._unwritten += 1
        self._is_written.clear()
        self._texts.put((stream, text))

    async def wait_until_written(self) -> None:
        """Wait until all is written; after an error, for good: what waits is about to be canceled."""
        await self._is_written.wait()

    async def close(self) -> None:
        """Wait until all that can be written is, and end the thread."""
        self._texts.put(None)
        await self._has_ended.wait()

    def _run(self) -> None:
        failed = set[TextIO]()
        while (item := self._texts.get()) is not None:
            stream, text = item
            error = None
            if stream not in failed:
                error = _write(stream, text)
            if error is not None:
                failed.add(stream)
            self._call_in_loop(self._note_written, error)
        self._call_in_loop(self._has_ended.set)

    def _call_in_loop(self, function: Callable[..., object], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(function, *args)

    def _note_written(self, error: OSError | None) -> None:
        self._unwritten -= 1
        if error is not None:
            self._has_failed = True
            self._on_error(error)
        if not self._unwritten and not self._has_failed:
            self._is_written.set()


def _write(stream: TextIO, text: str) -> OSError | None:
    """Write a text whole. Return the error if it can't be written."""
    encoded = _with_line_ends(text).encode(stream.encoding, stream.errors or "strict")
    binary = getattr(stream.buffer, "raw", stream.buffer)
    rest = memoryview(encoded)
    try:
        while rest:
            count = binary.write(rest)
            if count is None:
                return BlockingIOError(EAGAIN, os.strerror(EAGAIN))
            rest = rest[count:]
    except OSError as error:
        return error
    return None


def _with_line_ends(text: str) -> str:
    """Return a text with the line ends of this system, as text streams write them."""
    return text.replace("\n", os.linesep)
