"""A command of the command line in a process that is forked from one that has imported the app already.

Starting an interpreter and importing the app takes half a second of processor time, which most tests of the
command line are not about. Linux only: elsewhere a forked process may not use what its parent has loaded.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from tempfile import TemporaryFile

import pytest

PRELOADED_MODULES = (
    "tests.support.plain_imports",  # first: what comes after it is imported faster
    *("helix_desktop.cli.backup", "helix_desktop.main", "helix_desktop.cli.run"),
    *("helix_desktop.cli.replay", "tests.support.forked_command"),
    *("helix_desktop.cli.cache_command", "helix_desktop.cli.commands", "helix_desktop.cli.sessions"),
    # Other languages, second windows and the self-check need Qt; there is no application in it yet.
    *("helix_desktop.app.main", "helix_desktop.app.single_instance", "helix_desktop.app.qt_language"),
    *("tomlkit", "tests.support.preloaded_vocabulary"),
)
STANDARD_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


class ForkedProcess:
    def __init__(
        self, process: ForkServerProcess, stdout: asyncio.StreamReader | None, stderr: asyncio.StreamReader
    ) -> None:
        """`stdout` is None where its output goes elsewhere."""
        assert process.pid is not None
        self._process = process
        self.pid = process.pid
        self.stdout = stdout
        self.stderr = stderr

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        """Wait for its end; return the exit code."""
        if self.returncode is None:
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()
            loop.add_reader(self._process.sentinel, ended.set)
            await ended.wait()
            loop.remove_reader(self._process.sentinel)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, _: bytes | None = None) -> tuple[bytes, bytes]:
        """Wait for its end; return what it printed and its errors."""
        printed = await self.stdout.read() if self.stdout is not None else b""
        errors = await self.stderr.read()
        await self.wait()
        return printed, errors


async def start_forked(
    argv: Sequence[str | bytes | Path], folder: Path, environ: Mapping[str, str], stdout: int
) -> ForkedProcess:
    """Begin `helix-desktop WORDS` in a folder with exactly this environment, without an input.

    Its output goes to `stdout`, a file descriptor or `asyncio.subprocess.PIPE`.
    """
    with ExitStack() as opened:
        nothing = opened.enter_context(open(os.devnull, "rb"))  # noqa: ASYNC230 - a device
        error_reader, error_writer = _pipe(opened)
        reader, writer = _pipe(opened) if stdout == asyncio.subprocess.PIPE else (None, stdout)
        streams = [nothing.fileno(), writer, error_writer]
        process = await asyncio.to_thread(_start, argv, folder, environ, streams)
        printed = await _stream(reader) if reader is not None else None
        return ForkedProcess(process, printed, await _stream(error_reader))


def _pipe(opened: ExitStack) -> tuple[int, int]:
    """Return both ends of a pipe, of which the second is closed with `opened`."""
    reader, writer = os.pipe()
    opened.callback(os.close, writer)
    return reader, writer


async def _stream(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


def run_forked(
    argv: Sequence[str | bytes | Path],
    folder: Path,
    environ: Mapping[str, str],
    stdin_data: bytes,
    timeout_s: float,
) -> tuple[int, bytes, bytes]:
    """Run `helix-desktop WORDS` in a folder with exactly this environment; return exit code, output, errors.

    Raises TimeoutError when it takes longer than `timeout_s`; it is killed then.
    """
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write(stdin_data)
        stdin.seek(0)
        process = _start(argv, folder, environ, [stream.fileno() for stream in (stdin, stdout, stderr)])
        process.join(timeout_s)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
        process.close()
        if code is None:
            raise TimeoutError(f"{argv} still ran after {timeout_s:.0f} s")
        stdout.seek(0)
        stderr.seek(0)
        return code, stdout.read(), stderr.read()


def _start(
    argv: Sequence[str | bytes | Path], folder: Path, environ: Mapping[str, str], streams: Sequence[int]
) -> ForkServerProcess:
    """Begin a command with these file descriptors as its standard streams; the caller closes them."""
    connections = [Connection(os.dup(stream)) for stream in streams]
    arguments = ([os.fsdecode(word) for word in argv], folder, dict(environ), connections)
    process = _forkserver_context().Process(target=_run, args=arguments)
    process.start()
    for connection in connections:
        connection.close()
    return process


@functools.cache
def _forkserver_context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED_MODULES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
        forkserver.ensure_running()
    return context


def _run(argv: list[str], folder: Path, environ: dict[str, str], streams: list[Connection]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    for number, ((name, mode), stream) in enumerate(zip(STANDARD_STREAMS, streams, strict=True)):
        os.dup2(stream.fileno(), number)
        stream.close()
        buffering = 1 if name == "stderr" else -1  # lines, as the interpreter has it
        setattr(sys, name, os.fdopen(number, mode, buffering, encoding="utf-8", closefd=False))
    sys.argv = ["helix-desktop", *argv]
    from helix_desktop.main import main

    sys.exit(main())
