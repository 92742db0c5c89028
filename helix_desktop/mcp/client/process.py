"""A server's process, ended with its group; and why a server can't be reached or asked, and what to do."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.private_details import MIN_SECRET_LENGTH
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    system_reason,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.system.process_group import ProcessGroup

text = TextContext("MCP")

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

    def add_secrets(self, secrets: Iterable[str]) -> None:
        self.set_secrets((*self._secrets, *secrets))

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
        self._process = process
        self._transport = transport
        self._group = group
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
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
        return self._process.returncode is not None

    async def end(self, error_reader: asyncio.Task[None]) -> bool:
        """Close its input, then terminate, then kill its whole group; return when it is gone.

        Return True if it ended by itself. `error_reader` gets the time to read what it printed last. When
        canceled, it kills at once.
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


# They log what servers send, including secrets; errors are reported in our own messages.
for _name in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

NOT_TAKEN = -1
"""The code of an error answer of our own: the server did not take the request."""

_CHECK_ADDRESS = text("Check that the server is running, and check the address.")
_CHECK_PATH = text("Check the path of the URL: it often ends in /mcp.")
_STATUS_TEXTS: dict[int, tuple[TranslatableText, TranslatableText]] = {
    HTTPStatus.UNAUTHORIZED: (
        text("It needs a key, or doesn't accept the one that was sent."),
        text("Add a valid key to its headers, mostly in an Authorization header."),
    ),
    HTTPStatus.FORBIDDEN: (
        text("The key may lack permission, or the server refuses this app."),
        text("Check the key in its Authorization header, and what that may do."),
    ),
    HTTPStatus.NOT_FOUND: (text("There may be no MCP server at this path."), _CHECK_PATH),
    HTTPStatus.METHOD_NOT_ALLOWED: (text("There may be no MCP server at this path."), _CHECK_PATH),
    HTTPStatus.TOO_MANY_REQUESTS: (text("It gets too many requests."), text("Try again later.")),
}


class ConnectionFailure(HelixError):
    """A request got no answer of an MCP server.

    `is_taken`: the server may have acted on the request; else the connection has to be made anew.
    """

    def __init__(
        self,
        what: TranslatableText,
        why: OptionalText = "",
        fix: OptionalText = "",
        *,
        is_taken: bool = True,
    ) -> None:
        super().__init__(what, why, fix)
        self.is_taken = is_taken


class SignInNeeded(ConnectionFailure):
    """A server answers only after the user has signed in, or has given it a key."""

    def __init__(self, host: str) -> None:
        super().__init__(
            text("{host} asks for a sign-in.", host=host),
            fix=text("Sign in under Settings → MCP servers, or add a key to its headers."),
            is_taken=False,
        )


FailureListener = Callable[[ConnectionFailure | None], None]
"""Is called with what went wrong with a request; with None when one was answered."""


def answer_too_large() -> ConnectionFailure:
    return ConnectionFailure(
        text("It sent an answer of over {count} MB.", count=MAX_MESSAGE_BYTES // 2**20),
        text("More than that is not read."),
        text("Ask it for less at once."),
    )


def unreachable(host: str, error: Exception) -> ConnectionFailure:
    why = verbatim(as_sentence(str(error) or type(error).__name__))
    fix = _CHECK_ADDRESS
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError(verify_message=detail):
                why = text("Its certificate isn't valid here ({detail}).", detail=detail)
                fix = text("Check the name in the URL, and the clock and certificates of this computer.")
            case ssl.SSLError(reason=detail):
                why = text(
                    "No secure connection ({detail}).", detail=(detail or "").replace("_", " ").lower()
                )
                fix = text("Check http:// or https:// in the URL.")
            case socket.gaierror():
                why = text("The name in the URL can't be found.")
                fix = text("Check the address, and check the network.")
            case ConnectionRefusedError():
                why = text("Nothing answers at this address.")
            case OSError(strerror=str(detail)):
                why = verbatim(as_sentence(detail))
            case _:
                continue
        break
    return ConnectionFailure(text("Can't reach {host}.", host=host), why, fix, is_taken=False)


def no_answer(host: str, seconds: float, *, is_taken: bool = True) -> ConnectionFailure:
    what = text("No answer from {host} within {seconds} s.", host=host, seconds=round(seconds))
    return ConnectionFailure(what, fix=_CHECK_ADDRESS, is_taken=is_taken)


def cut_off(host: str) -> ConnectionFailure:
    what = text("{host} ended the connection before its answer.", host=host)
    fix = text("Check that the server is running, and http:// or https:// in the URL.")
    return ConnectionFailure(what, fix=fix)


def undecodable(host: str, error: Exception) -> ConnectionFailure:
    """Return the failure of an answer in a compression that is not read."""
    what = text("The answer of {host} can't be unpacked ({detail}).", host=host, detail=str(error))
    return ConnectionFailure(what, fix=text("Check the settings of a proxy or gateway in between."))


def session_lost(host: str) -> ConnectionFailure:
    what = text("{host} doesn't know this session anymore.", host=host)
    why = text("The server was restarted.")
    return ConnectionFailure(what, why, is_taken=False)


def refused(host: str, status: int, phrase: str) -> ConnectionFailure:
    what = text("{host} answered {status}.", host=host, status=f"{status} {phrase}".strip())
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        why = text("The server has a problem of its own.")
        fix = text("Look at its log, or try again later.")
    else:
        default = text("It doesn't take the request."), text("Check the path of the URL, and the headers.")
        why, fix = _STATUS_TEXTS.get(status, default)
    return ConnectionFailure(what, why, fix)


def other_content(host: str, media_type: str) -> ConnectionFailure:
    what = text("{host} answered with {type}.", host=host, type=media_type[:80] or "no content type")
    return ConnectionFailure(what, text("There may be no MCP server at this path."), _CHECK_PATH)


def other_message(host: str) -> ConnectionFailure:
    what = text("{host} answered with JSON that isn't a message of the protocol.", host=host)
    return ConnectionFailure(what, text("There may be no MCP server at this path."), _CHECK_PATH)


def error_reason(error: BaseException) -> TranslatableText:
    """Describe an error in whole sentences; of a group, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HelixError):
        return join_sentences(error.what, error.why, error.fix)
    if type(error).__name__ == "ValidationError":  # its words are for programmers
        return text("It sent something else than the protocol has in {place}.", place=fault_place(error))
    return verbatim(as_sentence(" ".join(str(error).split())[:500] or type(error).__name__))


def fault_place(error: Any) -> str:
    """Return where in a message something breaks the protocol, as "tools.3.name"."""
    faults = error.errors()
    place = ".".join(str(part) for part in faults[0]["loc"]) if faults else ""
    return place or "its answer"


def as_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error's causes from the first one on, which says the most, to itself."""
    if error is None:
        return
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _causes(inner)
    yield from _causes(error.__cause__ or error.__context__)
    yield error
