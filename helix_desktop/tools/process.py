"""Programs run to their end: output under a cap, the whole process group ended on time-out or cancel.

Built on `loop.subprocess_exec`, which asyncio's own loop and the Qt loop both have.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

_MIB = 1024 * 1024
OUTPUT_CAP = 63 * _MIB  # leaves room for a header under the store's cap of 64 MB
_TAIL = 1 * _MIB
_GULP = 1 * _MIB
_BREATH_S = 0.005
_TERM_GRACE_S = 0.3
_LINGER_S = 0.5
_START_GRACE_S = 5.0
_GUARD = 'exec 3<&0 </dev/null; ( ( read -r _ <&3; kill -9 -$$ ) >/dev/null 2>&1 & ); exec 3<&-; exec "$@"'
"""A shell's words: leave a watcher in the group, then become the command.

The watcher waits at a pipe whose other end is ours, and ends the group when that is closed: when the command
has ended, or when this process is gone, however it ended. As long as it waits, the group's number is nobody
else's. It is nobody's child, so that no command waits for it.
"""


class CappedOutput:
    """Bytes as they arrive: the first part and the last MB are kept, what lies between is counted."""

    def __init__(self, cap: int = OUTPUT_CAP) -> None:
        self._room = max(cap - _TAIL, 0)
        self._head, self._tail = bytearray(), bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self._size += len(data)
        room = self._room - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    @property
    def dropped(self) -> int:
        """How many bytes were not kept."""
        return self._size - len(self._head) - min(len(self._tail), _TAIL)

    def whole(self) -> bytes:
        """What was kept, with a line that says how much was dropped, if anything was."""
        gap = f"\n[… {self.dropped:,} bytes of output dropped here …]\n".encode() if self.dropped else b""
        return bytes(self._head) + gap + bytes(self._tail[-_TAIL:])


@dataclass(frozen=True)
class Launch:
    """A program to run; a `str` command goes to the system's shell on Windows only.

    `guarded`: on POSIX systems nothing of its group outlives it, nor this process, even a killed one; without
    `feed`.
    """

    command: Sequence[str] | str
    cwd: str
    environment: Mapping[str, str]
    feed: bytes | None = None
    join_errors: bool = True
    guarded: bool = False


@dataclass(frozen=True)
class Ran:
    """How a program ended; `exit_code` is None when it was ended at its time limit."""

    exit_code: int | None
    output: bytes
    errors: bytes
    dropped: int
    left_behind: bool


class _Watcher(asyncio.SubprocessProtocol):
    """Collects a program's output and knows when it ended and when its pipes closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cap: int) -> None:
        self._loop = loop
        self.streams = {1: CappedOutput(cap), 2: CappedOutput(cap)}
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.made: asyncio.Future[asyncio.SubprocessTransport] = loop.create_future()
        self._swallowed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self.made.done():
            self.made.set_result(cast(asyncio.SubprocessTransport, transport))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.streams[fd].add(data)
        self._swallowed += len(data)
        if self._swallowed >= _GULP:
            self._swallowed = 0
            self._pause(fd)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def _pause(self, fd: int) -> None:
        # A flood of output must leave the loop, which may be the window's, time for other work.
        pipe = self.made.result().get_pipe_transport(fd)
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            pipe.pause_reading()
            self._loop.call_later(_BREATH_S, pipe.resume_reading)


async def run_process(launch: Launch, timeout_s: float, cap: int = OUTPUT_CAP) -> Ran:
    """Run a program to its end, at most `timeout_s` seconds; output beyond `cap` bytes loses its middle.

    When the task is cancelled, or the time is over, the program and all of its process group are ended first.
    Raises OSError when it cannot be started.
    """
    with _guard(launch) as (guarded, stdin):
        return await _run(guarded, stdin, timeout_s, cap)


@contextmanager
def _guard(launch: Launch) -> Iterator[tuple[Launch, int]]:
    """The launch, guarded if it wants that, and its standard input; leaving the block lets the guard go."""
    plain = subprocess.DEVNULL if launch.feed is None else subprocess.PIPE
    if not launch.guarded or os.name != "posix" or isinstance(launch.command, str):
        yield launch, plain
        return
    far, near = os.pipe()
    try:
        yield replace(launch, command=["/bin/sh", "-c", _GUARD, "sh", *launch.command]), far
    finally:
        os.close(far)
        os.close(near)


async def _run(launch: Launch, stdin: int, timeout_s: float, cap: int) -> Ran:
    loop = asyncio.get_running_loop()
    watcher = _Watcher(loop, cap)
    transport = await _start(loop, launch, stdin, watcher)
    try:
        _feed(transport, launch.feed)
        in_time, _ = await asyncio.wait([watcher.exited], timeout=timeout_s)
        alone = bool(in_time) and bool((await asyncio.wait([watcher.closed], timeout=_LINGER_S))[0])
        exit_code = transport.get_returncode() if in_time else None
    finally:
        await _end(transport, watcher)
    out, errors = watcher.streams[1], watcher.streams[2]
    return Ran(exit_code, out.whole(), errors.whole(), out.dropped, bool(in_time) and not alone)


async def _start(
    loop: asyncio.AbstractEventLoop, launch: Launch, stdin: int, watcher: _Watcher
) -> asyncio.SubprocessTransport:
    try:
        # A cancel in the middle of starting would end the program alone, not what it has started by then.
        await asyncio.shield(_spawn(loop, launch, stdin, watcher))
    except asyncio.CancelledError:
        await asyncio.wait([watcher.made], timeout=_START_GRACE_S)
        if watcher.made.done():
            await _end(watcher.made.result(), watcher)
        raise
    return watcher.made.result()


async def _spawn(loop: asyncio.AbstractEventLoop, launch: Launch, stdin: int, watcher: _Watcher) -> None:
    stderr = subprocess.STDOUT if launch.join_errors else subprocess.PIPE
    environment = dict(launch.environment)
    if isinstance(launch.command, str):
        await loop.subprocess_shell(
            lambda: watcher, launch.command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            cwd=launch.cwd, env=environment,
        )  # fmt: skip
    else:
        await loop.subprocess_exec(
            lambda: watcher, *launch.command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            cwd=launch.cwd, env=environment, start_new_session=os.name == "posix",
        )  # fmt: skip


def _feed(transport: asyncio.SubprocessTransport, feed: bytes | None) -> None:
    pipe = transport.get_pipe_transport(0)
    if feed is not None and isinstance(pipe, asyncio.WriteTransport):
        pipe.write(feed)
        pipe.close()  # closes when everything is written


async def _end(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
    try:
        if not watcher.closed.done():
            await _end_group(transport, watcher)
    finally:
        _kill_group(transport, watcher)
        transport.close()


if sys.platform == "win32":

    async def _end_group(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        command = ["taskkill", "/T", "/F", "/PID", str(transport.get_pid())]
        await asyncio.to_thread(subprocess.run, command, check=False, capture_output=True)
        await asyncio.wait([watcher.closed], timeout=_TERM_GRACE_S)

    def _kill_group(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        if transport.get_returncode() is None:
            transport.kill()

else:

    async def _end_group(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        _signal_group(transport, signal.SIGTERM)
        try:
            await asyncio.wait([watcher.closed], timeout=_TERM_GRACE_S)
        finally:
            _signal_group(transport, signal.SIGKILL)
        await asyncio.wait([watcher.closed], timeout=_TERM_GRACE_S)

    def _kill_group(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        if not watcher.closed.done():
            _signal_group(transport, signal.SIGKILL)

    def _signal_group(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
        try:
            os.killpg(transport.get_pid(), number)  # start_new_session made the pid the group's id
        except (ProcessLookupError, PermissionError):
            return
