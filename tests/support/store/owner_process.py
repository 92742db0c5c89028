"""A process that owns a store, until its standard input ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.support.store.builders import WORKSPACE

REPO_ROOT = Path(__file__).resolve().parents[3]
OWNER_SCRIPT = """
import asyncio, sys
from pathlib import Path
from helix_desktop.store.remote.server import SharedStore

async def own():
    store = await SharedStore.open(Path(sys.argv[1]), sys.argv[2])
    store.set_open_sessions(lambda session: session == "open here")
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(own())
"""


@asynccontextmanager
async def owner_process(folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER_SCRIPT, str(folder), WORKSPACE,
        cwd=REPO_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"open\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        await process.communicate(b"")
