"""The command line as a user has it: each command in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.cli.output import JsonLine
from tests.support.forked_command import ForkedProcess, run_forked, start_forked

ROOT = Path(__file__).resolve().parents[2]
RunningCommand = asyncio.subprocess.Process | ForkedProcess
COMMAND_TIMEOUT_S = 300.0  # only a test that fails waits for it


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[JsonLine]:
        """Standard output as events, one per line. Raises when a line is none."""
        return [msgspec.json.decode(line, type=JsonLine) for line in self.out.splitlines()]

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    def assert_refused(self, code: int, *fragments: str) -> None:
        """Assert that it ended with this code and one line that contains this text."""
        assert self.code == code, self
        assert len(self.err.splitlines()) == 1, self.err
        assert self.err.startswith("helix-desktop: ")
        for word in fragments:
            assert word in self.err, self.err


@dataclass(frozen=True)
class Cli:
    """Runs commands in a folder, on a data directory of its own."""

    folder: Path
    data: Path

    @classmethod
    def create(cls, folder: Path) -> Cli:
        """With a project `ws` to work on."""
        (folder / "ws").mkdir(exist_ok=True)
        return cls(folder, folder / "data")

    @property
    def project(self) -> Path:
        return self.folder / "ws"

    @property
    def store(self) -> Path:
        (store,) = (self.data / "workspaces").glob("*/store")
        return store

    async def start(
        self,
        *args: str | bytes | Path,
        stdout: int = asyncio.subprocess.PIPE,
        environ: Mapping[str, str] | None = None,
        stdin: int = asyncio.subprocess.DEVNULL,
    ) -> asyncio.subprocess.Process:
        """Begin a command in an interpreter of its own; the caller waits for its end."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "helix_desktop", *args),
            cwd=self.folder,
            env=self._environ(environ or {}),
            stdin=stdin,
            stdout=stdout,
            stderr=asyncio.subprocess.PIPE,
        )

    async def fork(
        self,
        *args: str | bytes | Path,
        stdout: int = asyncio.subprocess.PIPE,
        environ: Mapping[str, str] | None = None,
    ) -> RunningCommand:
        """Begin a command as `start` does, without the time that an interpreter of its own takes to start."""
        if sys.platform != "linux":
            return await self.start(*args, stdout=stdout, environ=environ)
        return await start_forked(args, self.folder, self._environ(environ or {}), stdout)

    async def on_terminal(self, *args: str, **environ: str) -> bytes:
        """Run a command to its end; return what it wrote to a terminal."""
        import tty  # only POSIX has it

        reader, terminal = os.openpty()
        tty.setraw(terminal)
        process = await self.fork(*args, stdout=terminal, environ=environ)
        os.close(terminal)

        def read() -> Iterator[bytes]:
            with suppress(OSError):  # the end of what a terminal gets
                while part := os.read(reader, 65_536):
                    yield part

        output = await asyncio.to_thread(lambda: b"".join(read()))
        os.close(reader)
        result = await wait_for_exit(process)
        assert result.code == 0, result
        return output

    async def __call__(self, *args: str | bytes | Path, **environ: str) -> CommandResult:
        return await self.run_with_stdin(b"", *args, **environ)

    async def run_with_stdin(
        self, stdin_data: bytes, *args: str | bytes | Path, **environ: str
    ) -> CommandResult:
        """Run a command that reads these bytes from its standard input to its end."""
        if sys.platform != "linux":
            return await wait_for_exit(
                await self.start(*args, environ=environ, stdin=asyncio.subprocess.PIPE), stdin_data
            )
        command = (args, self.folder, self._environ(environ), stdin_data, COMMAND_TIMEOUT_S)
        code, out, err = await asyncio.to_thread(run_forked, *command)
        return CommandResult(code, out, err.decode())

    def _environ(self, overrides: Mapping[str, str]) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(self.data), **overrides}

    async def run(self, message: str, *args: str, **environ: str) -> CommandResult:
        """One turn in the project, which is trusted; the demo model answers unless another is named."""
        is_named = any(word in args for word in ("--model", "--base-url", "--session"))
        model = () if is_named else ("--model", "demo/offline")
        run = ("run", "--workspace", "ws", "--trust", "--message", message)
        return await self(*run, *model, *args, **environ)

    async def run_with_server(self, base_url: str, message: str, *args: str, **environ: str) -> CommandResult:
        """Run one turn in the project, answered by a server, and parse its JSON lines."""
        server = ("--model", "local/small", "--base-url", base_url, "--json")
        return await self.run(message, *server, *args, **environ)


async def wait_for_exit(process: RunningCommand, stdin_data: bytes | None = None) -> CommandResult:
    """Wait for the end of a command, with a time limit; kill it if it hangs."""
    try:
        async with asyncio.timeout(COMMAND_TIMEOUT_S):
            out, err = await process.communicate(stdin_data)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return CommandResult(process.returncode, out or b"", err.decode())
