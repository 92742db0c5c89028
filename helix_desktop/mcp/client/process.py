"""A server's process, in its own group that is ended together with it, and the end of its standard error."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.redaction.report_text import MIN_SECRET_LENGTH
from helix_desktop.domain.translatable_text import OptionalText, TextContext, system_reason, verbatim
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.system.process_group import ProcessGroup

MAX_CHARS = 64 * 1024  # characters
MAX_LINE_CHARS = 2_000  # characters; the rest of a longer line is left out
REDACTED = "•••"
_CREDENTIALS = re.compile(
    r"(?i)\b(bearer|authorization(?! header):?\s*\w*|(?:api[_-]?key|token|secret|password)\s*[=:])\s*\S+"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


class StderrLog:
    """The last lines of a stream, over successive programs."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0
        self._partial_line = ""
        self._secrets: tuple[str, ...] = ()
        self.exit_text: OptionalText = ""
        """How the newest program ended; empty if it did not."""
        self.dropped_lines = 0
        """Number of lines that were dropped."""

    def set_secrets(self, secrets: Iterable[str]) -> None:
        """Redact these from now on; the longest first, so that none leaves a part of another visible."""
        redactable = {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}
        self._secrets = tuple(sorted(redactable, key=len, reverse=True))

    def add(self, text: str) -> None:
        """Add the next chunk; lines are stored when they are complete."""
        *lines, partial = (self._partial_line + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in lines:
            self._append(line)
        self._partial_line = partial if len(partial) <= MAX_CHARS else partial[:MAX_LINE_CHARS] + " …"

    def note(self, text: str) -> None:
        """Add a line of our own, after finishing the current one."""
        if self._partial_line:
            self._append(self._partial_line)
            self._partial_line = ""
        self._append(f"— {text}")

    @property
    def text(self) -> str:
        """All stored lines."""
        dropped = [f"[{self.dropped_lines:,} earlier lines are not kept]"] if self.dropped_lines else []
        end = [self.sanitize(self._partial_line)] if self._partial_line else []
        return "\n".join([*dropped, *self._lines, *end])

    @property
    def last_line(self) -> str:
        """The last line that is not blank and not our own."""
        lines = [*self._lines, self.sanitize(self._partial_line)]
        return next((line for line in reversed(lines) if line.strip() and not line.startswith("— ")), "")

    def _append(self, line: str) -> None:
        sanitized = self.sanitize(line)
        self._lines.append(sanitized)
        self._size += len(sanitized) + 1
        while self._size > MAX_CHARS:
            self._size -= len(self._lines.popleft()) + 1
            self.dropped_lines += 1

    def sanitize(self, line: str) -> str:
        """Remove secrets, color codes and hidden characters from a line, and cut it to a readable length."""
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        line = _CREDENTIALS.sub(lambda match: f"{match[1]} {REDACTED}", _ESCAPES.sub("", line))
        text = escape_hidden(line[:MAX_LINE_CHARS])
        return f"{text} …" if len(line) > MAX_LINE_CHARS else text


text = TextContext("MCP")

MAX_MESSAGE_BYTES = 16 * 1024 * 1024  # bytes of one line; images of 5 MB fit in, in base64
_GRACE_S = 1.0  # for a server to exit by itself once its input is closed
_TERM_S = 0.5
_KILL_S = 2.0
_LAST_WORDS_S = 0.5  # for what a program printed before its end, if another one keeps the pipe open
_INHERITED_VARIABLES = frozenset({
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA",
    "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
    "USERNAME", "USERPROFILE", "WINDIR", "COMSPEC", "PROGRAMDATA", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
    "https_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
})  # fmt: skip


class ServerStartError(HelixError):
    """A server's program could not be started."""


class ProgramSpec(msgspec.Struct, frozen=True):
    """What to start, and where; `environment` is all that it gets."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]


def build_environment(inherited: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the inherited variables that every program needs, and `extra`. Nothing else is passed on."""
    needed = {
        name: value
        for name, value in inherited.items()
        if name in _INHERITED_VARIABLES or name.startswith("LC_")
    }
    return needed | dict(extra)


def _find_program(program: ProgramSpec) -> str:
    """Return the executable of the program. Raises ServerStartError."""
    command = program.argv[0]
    if not Path(program.cwd).is_dir():
        raise ServerStartError(
            text("Folder {folder} not found.", folder=program.cwd), fix=text("Correct the server's folder.")
        )
    if os.path.dirname(command):
        path = os.path.join(program.cwd, os.path.expanduser(command))
        executable = shutil.which(path)
    else:
        executable = shutil.which(command, path=program.environment.get("PATH", ""))
    if executable is None or not os.path.isabs(executable):  # Windows would also search the current folder
        raise ServerStartError(
            text("Program {program} not found.", program=command[:200]),
            text("It isn't installed, isn't executable or isn't in PATH."),
            text("Install it, or enter its full path."),
        )
    return executable


class ServerProcess:
    """A started program with pipes to its three streams. Its owner must call `end`."""

    def __init__(self, process: Process, transport: asyncio.SubprocessTransport, group: ProcessGroup) -> None:
        self._process, self._transport, self._group = process, transport, group
        pipes = (process.stdin, process.stdout, process.stderr)
        assert None not in pipes  # `start_process` requests all three
        self.input: asyncio.StreamWriter
        self.output: asyncio.StreamReader
        self.errors: asyncio.StreamReader
        self.input, self.output, self.errors = pipes  # type: ignore[assignment]  # as just asserted

    @property
    def pid(self) -> int:
        """The process id, also that of its group."""
        return self._process.pid

    @property
    def exit_text(self) -> OptionalText:
        """How it ended, for the user; empty while it runs."""
        code = self._process.returncode
        if code is None:
            return ""
        if code >= 0:
            return text("It ended with exit code {code}.", code=str(code))
        with suppress(ValueError):
            return text("It was ended by {signal}.", signal=signal.Signals(-code).name)
        return text("It was ended by signal {number}.", number=str(-code))

    async def wait(self, timeout_s: float) -> bool:
        """Wait at most `timeout_s` seconds and return True if it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
        return self._process.returncode is not None

    async def end(self, error_reader: asyncio.Task[None]) -> bool:
        """Close its input, then terminate, then kill its whole group; return when it is gone.

        Return True if it ended by itself. `error_reader` gets the time to read what it printed last.
        """
        try:
            self.input.close()
            if not (is_alone := await self.wait(_GRACE_S)):
                self._group.terminate()
                await self.wait(_TERM_S)
        finally:
            self._group.kill()
            self._group.close()
            await self.wait(_KILL_S)
            await asyncio.wait([error_reader], timeout=_LAST_WORDS_S)
            self._transport.close()
        return is_alone


async def start_process(program: ProgramSpec) -> ServerProcess:
    """Start a program in its own process group. Raises ServerStartError."""
    argv = (await asyncio.to_thread(_find_program, program), *program.argv[1:])
    loop = asyncio.get_running_loop()
    try:
        with ExitStack() as stack:
            group = ProcessGroup("inherited")
            stack.callback(group.close)
            transport, streams = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(MAX_MESSAGE_BYTES, loop),
                *group.argv(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=program.cwd,
                env=dict(program.environment),
                **group.start_options,
            )
            group.attach(transport)
            stack.pop_all()
    except (OSError, ValueError) as error:
        raise ServerStartError(
            text("{program} couldn't be started.", program=argv[0]),
            system_reason(error) if isinstance(error, OSError) else verbatim(f"{error}."),
        ) from error
    return ServerProcess(Process(transport, streams, loop), transport, group)
