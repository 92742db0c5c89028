"""A model's server on a thread of its own, for tests that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from tests.support.model_servers.chat_server import ChatServer, Script

_START_S = 60.0


@contextmanager
def serve_in_thread(script: Script) -> Iterator[ChatServer]:
    """Serve a script until the block ends."""
    started: SimpleQueue[tuple[ChatServer, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def serve() -> None:
        async with ChatServer(script) as server:
            over = asyncio.Event()
            started.put((server, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    server, loop, over = started.get(timeout=_START_S)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(_START_S)
