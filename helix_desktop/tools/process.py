"""Run programs to their end, output capped, ended as a tree on timeout or cancel; and the bundled ripgrep.

Processes that a command leaves behind are found by a tag in their environment, whatever their group. Only
Linux shows the environment of other processes; elsewhere nothing is found, and ending the process group has
to be enough.

Built on `loop.subprocess_exec`, which asyncio's own loop and the Qt loop both have.

The bundled ripgrep: where it is, and one run of it. Its regular expressions take time linear in the text,
whatever the pattern: a model's pattern cannot hang us.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tools import STOPPED, TURN_ENDED, OutputCallback, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.process_group import ProcessGroup

_RUN_VARIABLE = "HELIX_RUN"
_MAX_ROUNDS = 10  # a process may start another one while it is being ended
_NAME_CAP = 60  # characters
_SANDBOX_PROGRAMS = ("bwrap",)


def find_orphans(env_tag: str) -> tuple[str, ...]:
    """Return the names of the processes with this tag but the sandbox's own; blocks for some milliseconds."""
    names = map(_name, _marked(env_tag))
    return tuple(name for name in names if name.split(" ")[0] not in _SANDBOX_PROGRAMS)


def kill_orphans(env_tag: str) -> None:
    """Kill every process with this tag, also those started meanwhile."""
    for _ in range(_MAX_ROUNDS):
        pids = list(_marked(env_tag))
        if not pids:
            return
        for pid in pids:
            _kill(pid, env_tag)


def _marked(env_tag: str) -> Iterator[int]:
    if sys.platform != "linux" or not env_tag:
        return
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _carries(int(entry), env_tag):
            yield int(entry)


def _carries(pid: int, env_tag: str) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or somebody else's
        return False
    return f"{_RUN_VARIABLE}={env_tag}".encode() in variables


def _name(pid: int) -> str:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return "a process that has ended since"
    program = os.path.basename(argv[0].decode(errors="replace"))
    args = [arg.decode(errors="replace") for arg in argv[1:]]
    return escape_hidden_name(" ".join([program, *args]))[:_NAME_CAP]


def _kill(pid: int, env_tag: str) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError):
        pid_fd = os.pidfd_open(pid)
        try:
            if _carries(pid, env_tag):  # by now the pid may belong to another process
                signal.pidfd_send_signal(pid_fd, signal.SIGKILL)
        finally:
            os.close(pid_fd)


_MIB = 1024 * 1024
OUTPUT_CAP = 63 * _MIB  # leaves room for a header under the store's cap of 64 MB
_TAIL = 1 * _MIB
_MAX_SPILL = 1024 * _MIB
_MAX_CHUNK = 16 * 1024  # bytes per callback: more than any screen shows
_INTERVAL_S = 0.1


class CappedOutput:
    """A capped buffer: keeps the first part and the last MB, and counts the bytes between."""

    def __init__(self, cap: int = OUTPUT_CAP) -> None:
        self._head_size = max(cap - _TAIL, 0)
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, data: bytes) -> bytes:
        """Add the next chunk; return the bytes of it that are beyond the first part."""
        self._size += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        beyond = data[room:] if room > 0 else data
        self._tail += beyond
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]
        return beyond

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    @property
    def dropped(self) -> int:
        return self._size - len(self._head) - min(len(self._tail), _TAIL)

    def joined(self) -> bytes:
        """Return the kept bytes, with a line for the number of dropped bytes, if any."""
        gap = f"\n[… {self.dropped:,} bytes of output dropped here …]\n".encode() if self.dropped else b""
        return bytes(self._head) + gap + bytes(self._tail[-_TAIL:])


class SpillFile:
    """A file for all of an output that is too large for memory; its methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = 0
        self.is_complete = True

    def write(self, data: bytes) -> None:
        """Append; data that the disk refuses, or beyond 1 GB, is left out."""
        if self.is_complete and self.size + len(data) <= _MAX_SPILL:
            try:
                with self._path.open("ab") as file:
                    file.write(data)
            except OSError:
                self.is_complete = False
            else:
                self.size += len(data)
        else:
            self.is_complete = False

    def remove(self) -> None:
        self.size = 0
        with suppress(OSError):
            self._path.unlink()


class LiveOutput:
    """Reports the newest output about ten times a second; of a flood only the newest part."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_output: OutputCallback) -> None:
        self._loop = loop
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        if self._on_output is ignore_output:
            return
        self._pending += data[-_MAX_CHUNK:]
        del self._pending[:-_MAX_CHUNK]
        if self._timer is None:
            self._timer = self._loop.call_later(_INTERVAL_S, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text = self._decoder.decode(bytes(self._pending))
        self._pending.clear()
        if text:
            self._on_output(text)


_PAUSE_EVERY_BYTES = 1024 * 1024
_PAUSE_S = 0.005
_TERM_GRACE_S = 0.3
_LINGER_S = 0.5
_START_GRACE_S = 5.0
_IN_UTF8 = "chcp 65001>nul & "
"""Words of cmd.exe: let it, and what it starts, write UTF-8 instead of the code page of old consoles."""

ProcessEnding = Literal["ended", "late", "stopped", "cut off"]
"""How a run ended: by itself, at its time limit, because the user stopped it, or with its turn."""
_ENDINGS: dict[tuple[object, ...], ProcessEnding] = {(STOPPED,): "stopped", (TURN_ENDED,): "cut off"}
"""How a program ends that is canceled with one of these messages."""
_Held = TypeVar("_Held")


@asynccontextmanager
async def held(context: AbstractContextManager[_Held]) -> AsyncIterator[_Held]:
    """Enter a context that blocks, and leave it, on another thread; it is told of no error inside."""
    value = await asyncio.to_thread(context.__enter__)
    try:
        yield value
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


class ProcessSpec(msgspec.Struct, frozen=True):
    """A program to run; a `str` command goes to the system's shell on Windows only.

    `is_guarded`: on POSIX systems nothing of its group outlives it, nor this process, even a killed one;
    without `stdin_data`. On Windows that holds for every program.
    `confine` is called in the new process before the program starts, and must not allocate much.
    """

    command: Sequence[str] | str
    cwd: str
    environment: Mapping[str, str]
    stdin_data: bytes | None = None
    join_errors: bool = True
    is_guarded: bool = False
    confine: Callable[[], None] | None = None


class ProcessResult(msgspec.Struct, frozen=True):
    """How a program ended; `exit_code` is None when it was ended early.

    `orphan_names` are the processes it left in the background (ended too), as far as they could be found;
    `dropped_bytes` of the output were not kept; `spilled_bytes`, all of it or its start, are in a file.
    """

    exit_code: int | None
    output: bytes
    errors: bytes
    dropped_bytes: int
    orphan_names: tuple[str, ...]
    ending: ProcessEnding = "ended"
    spilled_bytes: int = 0
    is_spill_complete: bool = True


class _Watcher(asyncio.SubprocessProtocol):
    """Collects a program's output and knows when it ended and when its pipes closed."""

    def __init__(
        self, group: ProcessGroup, cap: int, on_output: OutputCallback, spill_path: Path | None
    ) -> None:
        self.group = group
        loop = self._loop = asyncio.get_running_loop()
        self.streams = {1: CappedOutput(cap), 2: CappedOutput(cap)}
        self.live = LiveOutput(loop, on_output)
        self.spill = SpillFile(spill_path) if spill_path else None
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.started: asyncio.Future[asyncio.SubprocessTransport] = loop.create_future()
        self.early_ending: ProcessEnding | None = None  # of a program that was to end while it started
        self._writing: asyncio.Future[None] | None = None
        self._unpaused_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self.started.done():
            subprocess_transport = cast(asyncio.SubprocessTransport, transport)
            self.group.attach(subprocess_transport)
            self.started.set_result(subprocess_transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        stream = self.streams[fd]
        beyond = stream.add(data)
        self.live.add(data)
        if beyond and fd == 1 and self.spill is not None:
            self._spill(self.spill, beyond if self._writing else stream.head + beyond)
            return
        self._unpaused_bytes += len(data)
        if self._unpaused_bytes >= _PAUSE_EVERY_BYTES:
            self._unpaused_bytes = 0
            self._pause(fd)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    async def settle(self) -> None:
        """Wait until the spill file is on disk; remove it if memory held all of the output."""
        self.live.flush()
        if self._writing is not None:
            await asyncio.wait([self._writing])
            if self.spill is not None and not self.streams[1].dropped:
                await asyncio.to_thread(self.spill.remove)

    def _spill(self, spill: SpillFile, data: bytes) -> None:
        # Reading pauses until the disk has it, so that chunks keep their order and memory stays small.
        pipe = self._pipe(1)
        if pipe is not None:
            pipe.pause_reading()
        self._writing = self._loop.run_in_executor(None, spill.write, data)
        if pipe is not None:
            self._writing.add_done_callback(lambda _: pipe.resume_reading())

    def _pause(self, fd: int) -> None:
        # A flood of output must leave the loop, which may be the window's, time for other work.
        pipe = self._pipe(fd)
        if pipe is not None:
            pipe.pause_reading()
            self._loop.call_later(_PAUSE_S, pipe.resume_reading)

    def _pipe(self, fd: int) -> asyncio.ReadTransport | None:
        pipe = self.started.result().get_pipe_transport(fd)
        return pipe if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing() else None


async def run_process(
    spec: ProcessSpec,
    timeout_s: float,
    cap: int = OUTPUT_CAP,
    on_output: OutputCallback = ignore_output,
    spill_path: Path | None = None,
) -> ProcessResult:
    """Run a program to its end, at most `timeout_s` seconds; output beyond `cap` bytes loses its middle.

    `on_output` gets the output while it arrives; `spill_path` is a new file for all of an output that is too
    large. When the task is canceled, or the time is over, the program and all it started are ended first; a
    cancel with the message STOPPED or TURN_ENDED returns the output so far. Raises OSError when it cannot be
    started.
    """
    env_tag = secrets.token_hex(16) if spec.is_guarded else ""
    group = ProcessGroup("stdin" if spec.is_guarded else "none")
    try:
        return await _run(spec, timeout_s, _Watcher(group, cap, on_output, spill_path), env_tag)
    finally:
        group.close()


async def _run(spec: ProcessSpec, timeout_s: float, watcher: _Watcher, env_tag: str) -> ProcessResult:
    transport = await _start(spec, watcher, env_tag)
    orphan_names: tuple[str, ...] = ()
    try:
        _write_stdin(transport, spec.stdin_data)
        ending = watcher.early_ending or await _wait(watcher, timeout_s)
        exit_code = transport.get_returncode() if ending == "ended" else None
        if ending == "ended":
            done, _ = await asyncio.wait([watcher.closed], timeout=_LINGER_S)
            names = watcher.group.names
            if not names and env_tag:
                names = await asyncio.to_thread(find_orphans, env_tag)
            orphan_names = names or (() if done else ("a process",))
    finally:
        await _end(transport, watcher)
        if env_tag:
            await asyncio.shield(asyncio.to_thread(kill_orphans, env_tag))
    await watcher.settle()
    output = watcher.streams[1]
    errors = watcher.streams[2]
    spill = watcher.spill
    size, is_complete = (spill.size, spill.is_complete) if spill else (0, True)
    return ProcessResult(
        exit_code, output.joined(), errors.joined(), output.dropped, orphan_names, ending, size, is_complete
    )


async def _wait(watcher: _Watcher, timeout_s: float) -> ProcessEnding:
    try:
        done, _ = await asyncio.wait([watcher.exited], timeout=timeout_s)
    except asyncio.CancelledError as canceled:
        if canceled.args not in _ENDINGS:
            raise
        return _ENDINGS[canceled.args]
    return "ended" if done else "late"


async def _start(spec: ProcessSpec, watcher: _Watcher, env_tag: str) -> asyncio.SubprocessTransport:
    try:
        # A cancel in the middle of starting would end the program alone, not what it has started by then.
        await asyncio.shield(_spawn(spec, watcher, env_tag))
    except asyncio.CancelledError as canceled:
        await asyncio.wait([watcher.started], timeout=_START_GRACE_S)
        if not watcher.started.done():
            raise
        watcher.early_ending = _ENDINGS.get(canceled.args)
        if watcher.early_ending is None:
            await _end(watcher.started.result(), watcher)
            raise
    return watcher.started.result()


async def _spawn(spec: ProcessSpec, watcher: _Watcher, env_tag: str) -> None:
    loop = asyncio.get_running_loop()
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL if spec.stdin_data is None else subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT if spec.join_errors else subprocess.PIPE,
        "cwd": spec.cwd,
        "env": dict(spec.environment),
        **watcher.group.start_options,
    }
    if isinstance(spec.command, str):
        await loop.subprocess_shell(lambda: watcher, _IN_UTF8 + spec.command, **options)
        return
    variable = f"{_RUN_VARIABLE}={env_tag}" if env_tag else ""
    argv = watcher.group.argv(spec.command, variable)
    await loop.subprocess_exec(lambda: watcher, *argv, preexec_fn=spec.confine, **options)


def _write_stdin(transport: asyncio.SubprocessTransport, data: bytes | None) -> None:
    pipe = transport.get_pipe_transport(0)
    if data is not None and isinstance(pipe, asyncio.WriteTransport):
        pipe.write(data)
        pipe.close()  # closes when everything is written


async def _end(transport: asyncio.SubprocessTransport, watcher: _Watcher) -> None:
    group = watcher.group
    closed = watcher.closed
    try:
        if not closed.done():
            group.terminate()
            try:
                await asyncio.wait([closed], timeout=_TERM_GRACE_S)
            finally:
                group.kill()
            await asyncio.wait([closed], timeout=_TERM_GRACE_S)
    finally:
        if not closed.done():
            group.kill()
        transport.close()


_NAME = "rg.exe" if os.name == "nt" else "rg"
_OPTIONS = ("--no-config", "--color=never", "--line-number", "--max-columns=400", "--max-columns-preview")
_TIMEOUT_S = 30.0
_NO_MATCH = 1
_TROUBLE = 2
_CAP = 16 * 1024 * 1024  # bytes of output


def find_ripgrep() -> Path | None:
    """Return the bundled ripgrep (of a frozen program or its environment), else the system's, else None."""
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    frozen = getattr(sys, "_MEIPASS", "")
    if frozen:
        folders[:0] = [Path(frozen), Path(frozen) / "bin"]
    for path in chain((folder / _NAME for folder in folders), _installed()):
        if path.is_file():
            return path
    system = shutil.which("rg")
    return Path(system) if system else None


def _installed() -> Iterator[Path]:
    """Yield where the ripgrep package installed the program: environments may share packages."""
    try:
        files = distribution("ripgrep").files or ()
    except PackageNotFoundError:
        return
    yield from (Path(str(file.locate())).resolve() for file in files if file.name == _NAME)


def normalize_path(name: str, windows: bool = os.name == "nt") -> str:
    """Return a path from ripgrep relative to the searched folder, with slashes."""
    if windows:
        name = name.replace("\\", "/")
    return name.removeprefix("./")


class Ripgrep:
    def __init__(self, binary: Path | None, environment: Mapping[str, str]) -> None:
        self._binary = binary
        self._environment = environment

    async def run(self, args: Sequence[str], cwd: str, stdin_data: bytes | None = None) -> ProcessResult:
        """Search files, or `stdin_data` if it is given. No match is exit code 1.

        Raises ToolError with ripgrep's own message when the pattern is wrong, and when there is no ripgrep.
        """
        if self._binary is None:
            raise ToolError(
                "Text search is not available.",
                "The ripgrep program that comes with Helix Desktop was not found.",
                "Use read_file or run_command instead, and tell the user to reinstall.",
            )
        command = [str(self._binary), *_OPTIONS, *args]
        try:
            spec = ProcessSpec(command, cwd, self._environment, stdin_data, join_errors=False)
            result = await run_process(spec, _TIMEOUT_S, _CAP)
        except OSError as error:
            raise ToolError("Text search could not be started.", f"{error.strerror}.") from error
        if result.exit_code is None:
            raise ToolError("The search took over 30 s and was ended.", fix="Search a smaller folder.")
        if result.exit_code >= _TROUBLE and not result.output:
            message = result.errors.decode(errors="replace").strip().removeprefix("rg: ")
            wrong = "glob" if "glob" in message else "pattern"
            raise ToolError(f"The {wrong} can't be used.", f"{message[:600]}\n", f"Correct the {wrong}.")
        return result
