"""Programs run to their end: output under a cap, all they started ended on time-out or cancel.

Built on `loop.subprocess_exec`, which asyncio's own loop and the Qt loop both have.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from helix_desktop.context.tool import STOPPED, Progress, unheard
from helix_desktop.system import job
from helix_desktop.tools import stragglers
from helix_desktop.tools.output import OUTPUT_CAP, Aside, CappedOutput, LiveOutput
from helix_desktop.tools.stragglers import VARIABLE

_GULP = 1024 * 1024
_BREATH_S = 0.005
_TERM_GRACE_S = 0.3
_LINGER_S = 0.5
_START_GRACE_S = 5.0
_IN_UTF8 = "chcp 65001>nul & "
"""Words of cmd.exe: let it, and what it starts, write UTF-8 instead of the code page of old consoles."""

_GUARD = (
    "exec 3<&0 </dev/null; ( ( read -r _ <&3; kill -9 -$$ ) >/dev/null 2>&1 & ); exec 3<&-; "
    f'{VARIABLE}=$1; export {VARIABLE}; shift; exec "$@"'
)
"""A shell's words: leave a watcher in the group, then become the command.

The watcher waits at a pipe whose other end is ours, and ends the group when that is closed: when the command
has ended, or when this process is gone, however it ended. As long as it waits, the group's number is nobody
else's. It is nobody's child, so that no command waits for it.
"""


How = Literal["ended", "late", "stopped"]
"""How a run came to its end: by itself, at its time limit, or because the person stopped it."""


@dataclass(frozen=True)
class Launch:
    """A program to run; a `str` command goes to the system's shell on Windows only.

    `guarded`: on POSIX systems nothing of its group outlives it, nor this process, even a killed one; without
    `feed`. On Windows that holds for every program.
    `confine` is called in the new process before the program starts, and must not allocate much.
    """

    command: Sequence[str] | str
    cwd: str
    environment: Mapping[str, str]
    feed: bytes | None = None
    join_errors: bool = True
    guarded: bool = False
    confine: Callable[[], None] | None = None


@dataclass(frozen=True)
class Ran:
    """How a program ended; `exit_code` is None when it was ended early.

    `left` names the processes it left in the background (ended too), as far as they could be seen;
    `dropped` bytes of the output were not kept; `aside` bytes, all of it or its beginning, stand in a file.
    """

    exit_code: int | None
    output: bytes
    errors: bytes
    dropped: int
    left: tuple[str, ...]
    how: How = "ended"
    aside: int = 0
    aside_whole: bool = True


class _Watcher(asyncio.SubprocessProtocol):
    """Collects a program's output and knows when it ended and when its pipes closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cap: int, told: Progress, aside: Path | None) -> None:
        self._loop = loop
        self.streams = {1: CappedOutput(cap), 2: CappedOutput(cap)}
        self.live = LiveOutput(loop, told)
        self.aside = Aside(aside) if aside else None
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.made: asyncio.Future[asyncio.SubprocessTransport] = loop.create_future()
        if sys.platform == "win32":
            self.job = job.Job()
        self._writing: asyncio.Future[None] | None = None
        self._swallowed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self.made.done():
            self.made.set_result(cast(asyncio.SubprocessTransport, transport))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        stream = self.streams[fd]
        beyond = stream.add(data)
        self.live.add(data)
        if beyond and fd == 1 and self.aside is not None:
            self._put_aside(self.aside, beyond if self._writing else stream.head + beyond)
            return
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

    async def settle(self) -> None:
        """Wait until what was put aside is on disk; a file that holds no more than was kept is removed."""
        self.live.flush()
        if self._writing is not None:
            await asyncio.wait([self._writing])
            if self.aside is not None and not self.streams[1].dropped:
                await asyncio.to_thread(self.aside.remove)

    def _put_aside(self, aside: Aside, data: bytes) -> None:
        # Reading rests until the disk has it, so that pieces keep their order and memory stays small.
        pipe = self._pipe(1)
        if pipe is not None:
            pipe.pause_reading()
        self._writing = self._loop.run_in_executor(None, aside.write, data)
        if pipe is not None:
            self._writing.add_done_callback(lambda _: pipe.resume_reading())

    def _pause(self, fd: int) -> None:
        # A flood of output must leave the loop, which may be the window's, time for other work.
        pipe = self._pipe(fd)
        if pipe is not None:
            pipe.pause_reading()
            self._loop.call_later(_BREATH_S, pipe.resume_reading)

    def _pipe(self, fd: int) -> asyncio.ReadTransport | None:
        pipe = self.made.result().get_pipe_transport(fd)
        return pipe if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing() else None


async def run_process(
    launch: Launch,
    timeout_s: float,
    cap: int = OUTPUT_CAP,
    told: Progress = unheard,
    aside: Path | None = None,
) -> Ran:
    """Run a program to its end, at most `timeout_s` seconds; output beyond `cap` bytes loses its middle.

    `told` hears the output while it comes; `aside` names a new file that takes all of an output that is too
    large. When the task is cancelled, or the time is over, the program and all it started are ended first; a
    cancel with the message STOPPED gives what there is so far. Raises OSError when it cannot be started.
    """
    mark = secrets.token_hex(16) if launch.guarded else ""
    with _guard(launch, mark) as (guarded, stdin):
        loop = asyncio.get_running_loop()
        return await _run(guarded, stdin, timeout_s, _Watcher(loop, cap, told, aside), mark)


@contextmanager
def _guard(launch: Launch, mark: str) -> Iterator[tuple[Launch, int]]:
    """The launch, guarded if it wants that, and its standard input; leaving the block lets the guard go."""
    plain = subprocess.DEVNULL if launch.feed is None else subprocess.PIPE
    if not launch.guarded or os.name != "posix" or isinstance(launch.command, str):
        yield launch, plain
        return
    far, near = os.pipe()
    try:
        yield replace(launch, command=["/bin/sh", "-c", _GUARD, "sh", mark, *launch.command]), far
    finally:
        os.close(far)
        os.close(near)


async def _run(launch: Launch, stdin: int, timeout_s: float, watcher: _Watcher, mark: str) -> Ran:
    transport = await _start(asyncio.get_running_loop(), launch, stdin, watcher)
    left: tuple[str, ...] = ()
    try:
        _feed(transport, launch.feed)
        how = await _awaited(watcher, timeout_s)
        exit_code = transport.get_returncode() if how == "ended" else None
        if how == "ended":
            left = await _left(watcher, mark)
    finally:
        await _end(transport, watcher)
        if mark:
            await asyncio.shield(asyncio.to_thread(stragglers.end, mark))
    await watcher.settle()
    out, errors, aside = watcher.streams[1], watcher.streams[2], watcher.aside
    size, whole = (aside.size, aside.is_whole) if aside else (0, True)
    return Ran(exit_code, out.whole(), errors.whole(), out.dropped, left, how, size, whole)


async def _awaited(watcher: _Watcher, timeout_s: float) -> How:
    try:
        done, _ = await asyncio.wait([watcher.exited], timeout=timeout_s)
    except asyncio.CancelledError as cancelled:
        if cancelled.args != (STOPPED,):
            raise
        return "stopped"
    return "ended" if done else "late"


async def _left(watcher: _Watcher, mark: str) -> tuple[str, ...]:
    """The names of what a program that has ended left running."""
    done, _ = await asyncio.wait([watcher.closed], timeout=_LINGER_S)
    names: tuple[str, ...]
    if sys.platform == "win32":
        names = watcher.job.names
    else:
        found = await asyncio.to_thread(stragglers.find, mark) if mark else []
        names = tuple(one.name for one in found)
    return names or (() if done else ("a process",))


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


if sys.platform == "win32":

    async def _spawn(loop: asyncio.AbstractEventLoop, launch: Launch, stdin: int, watcher: _Watcher) -> None:
        stderr = subprocess.STDOUT if launch.join_errors else subprocess.PIPE
        start = (
            partial(loop.subprocess_shell, lambda: watcher, _IN_UTF8 + launch.command)
            if isinstance(launch.command, str)
            else partial(loop.subprocess_exec, lambda: watcher, *launch.command)
        )
        transport, _ = await start(
            stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, cwd=launch.cwd, env=dict(launch.environment),
            creationflags=job.QUIETLY | job.SUSPENDED,
        )  # fmt: skip
        watcher.job.take(int(transport.get_extra_info("subprocess")._handle))

else:

    async def _spawn(loop: asyncio.AbstractEventLoop, launch: Launch, stdin: int, watcher: _Watcher) -> None:
        stderr = subprocess.STDOUT if launch.join_errors else subprocess.PIPE
        await loop.subprocess_exec(
            lambda: watcher, *launch.command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            cwd=launch.cwd, env=dict(launch.environment), start_new_session=True, preexec_fn=launch.confine,
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
        watcher.job.end()
        if transport.get_returncode() is None:  # one that no job could take
            transport.kill()
        await asyncio.wait([watcher.closed], timeout=_TERM_GRACE_S)

    def _kill_group(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
        watcher.job.close()
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
