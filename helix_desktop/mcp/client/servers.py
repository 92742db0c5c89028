"""The MCP servers of one workspace, each connected and reconnected by an actor; one source of tools."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from helix_desktop.domain.deferred_tools import argument_fault
from helix_desktop.domain.errors import HelixError, InvalidInput, ToolError
from helix_desktop.domain.files.file_use import mcp_call_target
from helix_desktop.domain.mcp_server import (
    FilledPrompt,
    McpServerConfig,
    McpServerState,
    ServerPrompt,
    ServerResource,
    SignIn,
)
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import AskUser, ServerQuestion, ServerReply, server_reply_note
from helix_desktop.domain.tools import (
    AllowedCall,
    ApprovalRequest,
    OutputCallback,
    ProgressText,
    ToolResult,
    ignore_output,
)
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.mcp.client.exposed_tool import ExposedTool, expose_tool, sanitize_text, without_twins
from helix_desktop.mcp.client.process import (
    NOT_TAKEN,
    ConnectionFailure,
    ProgramSpec,
    SignInNeeded,
    StderrLog,
    answer_too_large,
    as_sentence,
    build_environment,
    error_reason,
    no_answer,
)
from helix_desktop.permissions.rules import suggest_server_rules
from helix_desktop.system.task_scope import raise_if_canceled

if TYPE_CHECKING:
    from mcp.client import ClientSession


_log = logging.getLogger(__name__)
_text = TextContext("MCP")


START_TIMEOUT_S = 120.0  # for a program to be ready; the first run of npx or uvx downloads it
URL_START_TIMEOUT_S = 20.0  # for a server at a URL: nothing is downloaded
MAX_CALL_S = 1800.0  # a call that reports progress is ended after that nevertheless
MAX_QUESTIONS = 20  # that a call may ask the user; more are declined unasked
_READY_TIMEOUT_S = 15.0  # how long a call waits for a server that is being restarted
_RETRY_DELAYS_S = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)  # between attempts to start it
_MAX_ATTEMPTS = 10  # in a row; then only the user or a call starts it again
_STABLE_AFTER_S = 60.0  # a server that ran this long starts over with the first delay
_CLOSED = ("Connection closed", "SSE stream ended")
"""How the words of the protocol's package begin where a server ended before its answer."""
LISTED_LATELY_S = 5.0  # within that, what answers at a URL is taken for the same
_MAX_DATA_CHARS = 500  # of what an error says beside its text
_NAMED_CHANGES = 3
_SETTLE_S = 0.2  # debounces several notifications of changed tools
_END_TIMEOUT_S = 5.0  # for a server that has closed its output to be gone
_TELL_S = 5.0  # at most, for other calls that a lost server did not take to be told so, before it ends
PING_TIMEOUT_S = 5.0  # after a call without an answer; then the server is restarted


def start_timeout_s(config: McpServerConfig) -> float:
    return URL_START_TIMEOUT_S if config.url else START_TIMEOUT_S


async def _no_variables(_: McpServerConfig) -> Mapping[str, str]:
    return {}


async def _no_sign_in(_: McpServerConfig) -> SignIn | None:
    return None


async def _discard_sign_in(_: McpServerConfig, __: SignIn | None) -> None:
    pass


class ConsentEnded(HelixError):
    """What a server runs of its workspace is not what the user agreed to."""

    @classmethod
    def of(cls, config: McpServerConfig) -> ConsentEnded:
        files = tuple(map(escape_hidden_name, config.consent_changes[:_NAMED_CHANGES]))
        return cls(
            _text("{name} wasn't started.", name=config.name),
            _text("Files that it runs have changed since you approved it: {files}.", files=files),
            _text("Review it in Settings → MCP servers."),
        )


class ServerContext(msgspec.Struct, frozen=True):
    """The context of one workspace's servers: its folder, inherited environment, and source of secrets.

    `check_consent` is awaited right before a program starts: it returns more variables for it, or raises
    ConsentEnded. `load_sign_in` returns what the user's sign-in at a server gave us, `save_sign_in` keeps it
    refreshed (None: it has ended).
    """

    root: Path
    inherited_environment: Mapping[str, str]
    load_secrets: Callable[[McpServerConfig], Awaitable[Mapping[str, str]]]
    check_consent: Callable[[McpServerConfig], Awaitable[Mapping[str, str]]] = _no_variables
    load_sign_in: Callable[[McpServerConfig], Awaitable[SignIn | None]] = _no_sign_in
    save_sign_in: Callable[[McpServerConfig, SignIn | None], Awaitable[None]] = _discard_sign_in


class ServerStatus(msgspec.Struct, frozen=True):
    """The status of a server: its state and, if it failed, the reason and the seconds to the next attempt.

    `lacks_secret`: it failed because a secret of it has no value, which no other attempt would change.
    """

    state: McpServerState
    reason: OptionalText = ""
    retry_in_s: float = 0.0
    lacks_secret: bool = False


class _SecretMissing(HelixError):
    """A server cannot start, since a secret of it has no value."""


class _CallNotTaken(ToolError):
    """A server did not take a call, so that it can be made again."""


class _OpenCall:
    """A call that its server works on; it ends after `quiet_s` without a sign of life, and after MAX_CALL_S.

    None of that time passes while the user answers a question of the server.
    """

    def __init__(self, on_output: OutputCallback, ask: AskUser | None, quiet_s: float) -> None:
        self.on_output = on_output
        self._ask = ask
        self._quiet_s = quiet_s
        self.limit = asyncio.timeout(MAX_CALL_S)
        self.quiet = asyncio.timeout(quiet_s)
        self._left_s = MAX_CALL_S  # of the limit, while it is paused
        self._questions: set[asyncio.Task[ServerReply | None]] = set()
        self.notes: list[str] = []
        """What the server asked, and what came of it."""

    def on_progress(self, text: str, share: float | None) -> None:
        self.go_on()
        line = f"{sanitize_text(text, 500)}\n"
        self.on_output(line if share is None else ProgressText(line, share))

    def pause(self) -> None:
        if not (self.limit.expired() or self.quiet.expired()):
            if (ends_at_s := self.limit.when()) is not None:
                self._left_s = ends_at_s - asyncio.get_running_loop().time()
            self.limit.reschedule(None)
            self.quiet.reschedule(None)

    def go_on(self) -> None:
        if not (self._questions or self.limit.expired() or self.quiet.expired()):
            now_s = asyncio.get_running_loop().time()
            self.limit.reschedule(self.limit.when() or now_s + self._left_s)
            self.quiet.reschedule(now_s + self._quiet_s)

    async def ask(self, question: ServerQuestion) -> ServerReply | None:
        """Return the user's reply; None if no user is there, or the call has asked too often.

        It is canceled if the call ends before.
        """
        if len(self.notes) + len(self._questions) >= MAX_QUESTIONS:
            return None
        if self._ask is None:
            reply: ServerReply | None = None
        else:
            task = asyncio.get_running_loop().create_task(self._ask(question), name="mcp question")
            self._questions.add(task)
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
                self._questions.discard(task)
            reply = ServerReply() if task.cancelled() else task.result()
        self.notes.append(server_reply_note(question, reply))
        return reply

    def end(self) -> None:
        for task in self._questions:
            task.cancel()


class ServerActor:
    """A server of one workspace. `run` runs in one task; everything else may be called from any.

    Its tools stay listed while it is restarted, so that a crash does not invalidate the provider's prompt
    cache. `on_tools_changed` is awaited when its tools have changed, `on_change` called when its status has.
    After a call that it did not answer it has to answer a ping, or it is restarted: the next call would
    hang too.
    """

    def __init__(
        self,
        config: McpServerConfig,
        context: ServerContext,
        on_tools_changed: Callable[[], Awaitable[None]],
        on_change: Callable[[], None],
        retry_delays_s: tuple[float, ...] = _RETRY_DELAYS_S,
    ) -> None:
        self.config = config
        self._context = context
        self._on_tools_changed = on_tools_changed
        self._on_change = on_change
        self._retry_delays_s = retry_delays_s
        self.stderr_log = StderrLog()
        self.tools: tuple[ExposedTool, ...] = ()
        self.prompts: tuple[ServerPrompt, ...] = ()
        self.resources: tuple[ServerResource, ...] = ()
        self._offers_task: asyncio.Task[None] | None = None
        self.later_tools: tuple[str, ...] = ()
        """Those tools that the server did not offer at first, by its own names for them."""
        self._known_tools: frozenset[str] = frozenset()
        self.server_title = ""
        """The name and version that the server gives itself."""
        self.status = ServerStatus("waiting")
        self._session: ClientSession | None = None
        self._disconnected = asyncio.Event()
        self._ready_or_failed = asyncio.Event()
        self._retry_requested = asyncio.Event()
        self._list_lock = asyncio.Lock()
        self._listed_at_s = 0.0
        self._open_calls: list[_OpenCall] = []
        self._no_call = asyncio.Event()  # set when there is none of them any more
        self._check: asyncio.Task[None] | None = None  # whether it still answers
        self._end_reason: OptionalText = ""  # of the newest connection that ended
        self._ended = asyncio.Event()  # set once that is known
        self._failure: ConnectionFailure | None = None
        """What went wrong with the newest message."""
        self._lacks_secret = self._lacks_consent = False

    async def run(self) -> None:
        """Connect, and again whenever the connection is lost, until canceled."""
        failures = 0
        self._known_tools = frozenset((*self.config.known_tools, *(tool.tool for tool in self.tools)))
        loop = asyncio.get_running_loop()
        while True:
            started_at_s = loop.time()
            reason = await self._connect()
            raise_if_canceled()
            failures = 1 if loop.time() - started_at_s > _STABLE_AFTER_S else failures + 1
            is_signed_out = isinstance(self._failure, SignInNeeded)
            needs_user = self._lacks_secret or self._lacks_consent or is_signed_out
            may_retry = failures < _MAX_ATTEMPTS and not needs_user
            delay_s = (
                self._retry_delays_s[min(failures, len(self._retry_delays_s)) - 1] if may_retry else None
            )
            self._end_reason = reason
            self._ended.set()
            self.stderr_log.note(reason)
            self._retry_requested.clear()
            state: McpServerState = "unapproved"
            if not self._lacks_consent:
                state = "signed_out" if is_signed_out else "failed"
            self._set_status(ServerStatus(state, reason, delay_s or 0.0, self._lacks_secret))
            with suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._retry_requested.wait()

    def retry(self) -> None:
        """Start it again now, if it has failed."""
        self._retry_requested.set()

    async def wait_ready(self, timeout_s: float = _READY_TIMEOUT_S, restart_failed: bool = True) -> bool:
        """Return True if ready within `timeout_s`; `restart_failed` first restarts a failed server."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                if self._disconnected.is_set() and self.status.state == "ready":
                    self._ready_or_failed.clear()  # its end is about to be reported
                await self._ready_or_failed.wait()
                if restart_failed and self.status.state == "failed":
                    self._ready_or_failed.clear()
                    self.retry()
                    await self._ready_or_failed.wait()
        return self.is_up

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The server's own names of the tools that it offers, in order."""
        return tuple(sorted(tool.tool for tool in self.tools if not tool.rejection))

    @property
    def tool_digests(self) -> dict[str, str]:
        """The digests of what the server says of its tools, by exposed name."""
        return {tool.spec.name: tool.digest for tool in self.tools if not tool.rejection}

    @property
    def is_up(self) -> bool:
        return self._session is not None and self.status.state == "ready" and not self._disconnected.is_set()

    @property
    def failure_reason(self) -> OptionalText:
        """Why it can't be called now, with the last line that it printed."""
        if self.status.state in ("failed", "waiting", "unapproved", "signed_out") and self.status.reason:
            return self.status.reason
        return self._end_reason or self._with_last_line(_text("It is still being started."))

    def _with_last_line(self, reason: TranslatableText) -> TranslatableText:
        last = "" if self.config.url else self.stderr_log.last_line
        text = join_sentences(
            reason,
            self.stderr_log.exit_text,
            _text("Its last output: {line}", line=as_sentence(sanitize_text(last, 300))) if last else "",
        )
        sanitized = self.stderr_log.sanitize(text)
        return text if sanitized == text else verbatim(sanitized)

    async def _connect(self) -> TranslatableText:
        """Keep one connection until it ends and return the reason, for the user."""
        self._ready_or_failed.clear()
        self._ended.clear()
        self._set_status(ServerStatus("starting"))
        self._failure = None
        self._lacks_secret = False
        self._lacks_consent = False
        disconnected = self._disconnected = asyncio.Event()
        try:
            async with self._open_session(disconnected):
                await disconnected.wait()
                self._session = None
                self._ready_or_failed.clear()
                reason = error_reason(self._failure) if self._failure else _text("The server ended.")
                self._set_status(ServerStatus("waiting", reason))
        except _SecretMissing as error:
            self._lacks_secret = True
            reason = error_reason(error)
        except ConsentEnded as error:
            self._lacks_consent = True
            return error_reason(error)
        except Exception as error:  # noqa: BLE001 - any failure of a server ends only its own session
            reason = self._start_failure(error)
        finally:
            self._session = None
            if self._check:
                self._check.cancel()
        return self._with_last_line(reason)

    def _start_failure(self, error: Exception) -> TranslatableText:
        if self._failure is not None:
            return error_reason(self._failure)
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            seconds = start_timeout_s(self.config)
            if self.config.url:
                return error_reason(no_answer(urlsplit(self.config.url).netloc.rpartition("@")[2], seconds))
            return _text("The server wasn't ready within {seconds} s.", seconds=round(seconds))
        if str(error).startswith(_CLOSED):
            return _text("The server ended before it was ready.")
        return error_reason(error)

    def _note_result(self, failure: ConnectionFailure | None) -> None:
        """Keep what went wrong with a message; None: it was answered."""
        self._failure = failure
        if failure is not None and not failure.is_taken and not self._open_calls:  # else they are told first
            self._disconnected.set()

    @asynccontextmanager
    async def _open_session(self, disconnected: asyncio.Event) -> AsyncIterator[None]:
        sdk = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.client.session")
        async with asyncio.timeout(start_timeout_s(self.config)) as deadline:
            async with (
                self._open_transport(disconnected) as streams,
                sdk.open_session(
                    streams,
                    self._context.root,
                    self.config.name,
                    self._relist_tools,
                    self._list_offers_later,
                    self._ask_user,
                    self._on_page_done,
                ) as session,
            ):
                self._session = session
                server_info = session.server_info
                self.server_title = (
                    sanitize_text(f"{server_info.name} {server_info.version}", 80) if server_info else ""
                )
                await self._list_tools()
                deadline.reschedule(None)
                self._set_status(ServerStatus("ready"))
                self._list_offers_later()
                try:
                    yield
                finally:
                    self.prompts = ()
                    self.resources = ()
                    if self._offers_task:
                        self._offers_task.cancel()

    @asynccontextmanager
    async def _open_transport(self, disconnected: asyncio.Event) -> AsyncIterator[Any]:
        config = self.config
        context = self._context
        secrets = await context.load_secrets(config)
        self.stderr_log.set_secrets(secrets.values())
        missing = [name for name in config.secret_names if not secrets.get(name)]
        if missing:
            raise _SecretMissing(
                _text("The secret {name} of {server} is missing.", name=missing[0], server=config.name),
                _text("The keychain doesn't have it, or can't be read now."),
                _text("Enter it again."),
            )
        transports = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.client.transports")
        filled = config.fill_in(secrets)
        if config.url:
            oauth = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.client.oauth")
            auth = None
            if not config.has_authorization:
                auth = oauth.SignInAuth(config.url, self._load_sign_in, self._save_sign_in)
            opened = transports.connect_http(
                filled.url, filled.headers, auth, bool(secrets), self.stderr_log, self._note_result
            )
        else:
            variables = await context.check_consent(config)
            environment = build_environment(context.inherited_environment, {**variables, **filled.env})
            cwd = str(context.root / config.cwd)
            program = ProgramSpec((filled.command, *filled.args), cwd, environment)
            opened = transports.connect_stdio(program, self.stderr_log, disconnected, self._note_result)
        async with opened as streams:
            yield streams

    async def _load_sign_in(self) -> SignIn | None:
        sign_in = await self._context.load_sign_in(self.config)
        if sign_in is not None:
            self.stderr_log.add_secrets(sign_in.secrets.values())
        return sign_in

    async def _save_sign_in(self, sign_in: SignIn | None) -> None:
        if sign_in is not None:
            self.stderr_log.add_secrets(sign_in.secrets.values())
        await self._context.save_sign_in(self.config, sign_in)

    async def _relist_tools(self) -> None:
        if self._list_lock.locked() or self._session is None:
            return
        async with self._list_lock:
            await asyncio.sleep(_SETTLE_S)
        await self._list_tools()

    def _list_offers_later(self) -> None:
        """List prompts and resources soon: several changes come at a time."""
        if self._offers_task:
            self._offers_task.cancel()
        self._offers_task = asyncio.get_running_loop().create_task(self._list_offers(), name="mcp offers")

    async def _list_offers(self) -> None:
        await asyncio.sleep(_SETTLE_S)
        if self._session is not None:
            offers = importlib.import_module("helix_desktop.mcp.client.session")
            self.prompts = await offers.list_prompts(self.config.name, self._session)
            self.resources = await offers.list_resources(self.config.name, self._session)

    async def get_prompt(self, prompt: ServerPrompt, arguments: dict[str, str]) -> FilledPrompt:
        """Return a prompt filled in. Raises InvalidInput."""
        offers = importlib.import_module("helix_desktop.mcp.client.session")
        filled_prompt: FilledPrompt = await self._fetch(
            lambda session: offers.get_prompt(session, prompt, arguments)
        )
        return filled_prompt

    async def read_resource(self, resource: ServerResource) -> bytes:
        """Return the bytes of a resource. Raises InvalidInput."""
        offers = importlib.import_module("helix_desktop.mcp.client.session")
        data: bytes = await self._fetch(lambda session: offers.read_resource(session, resource))
        return data

    async def _fetch(self, fetch: Callable[[ClientSession], Awaitable[Any]]) -> Any:
        """Fetch what the user wants of the server, within the time that a call has. Raises InvalidInput."""
        what = _text("{server} didn't answer.", server=self.config.name)
        fix = _text("Check the server in Settings → MCP servers.")
        if self._session is None or not self.is_up:
            raise InvalidInput(what, _text("It isn't running."), fix)
        try:
            async with asyncio.timeout(self.config.quiet_s):
                return await fetch(self._session)
        except InvalidInput:
            raise
        except TimeoutError:
            seconds = self.config.quiet_s
            raise InvalidInput(what, _text("It took more than {seconds} s.", seconds=seconds), fix) from None
        except Exception as error:
            why = verbatim(sanitize_text(self.stderr_log.sanitize(as_sentence(str(error))), 500))
            raise InvalidInput(what, why, fix) from error

    async def _list_tools(self) -> None:
        session = self._session
        if session is None:
            return
        sdk = importlib.import_module("helix_desktop.mcp.client.session")
        listed = await sdk.list_tools(session)
        self._listed_at_s = asyncio.get_running_loop().time()
        offers = without_twins([expose_tool(self.config.name, tool) for tool in listed])
        tools = tuple(sorted(offers, key=lambda offer: offer.spec.name))  # the server's order may change
        names = frozenset(tool.tool for tool in tools if not tool.rejection)
        if self._known_tools:
            self.later_tools += tuple(sorted(names - self._known_tools))
        self._known_tools |= names
        if tools != self.tools:
            self.tools = tools
            self._on_change()
            await self._on_tools_changed()

    def _set_status(self, status: ServerStatus) -> None:
        self.status = status
        if status.state in ("ready", "failed", "unapproved", "signed_out"):
            self._ready_or_failed.set()
        self._on_change()

    async def ensure_ready(self) -> None:
        """Return once it can be called and its tools are as it describes them now. Raises ToolError."""
        if self._check:
            await asyncio.wait([self._check])
        if self.is_up and self.config.url:
            await self._list_again()
        if not self.is_up and not await self.wait_ready():
            raise ToolError(
                f"The MCP server {self.config.name} is not running.",
                self.status.reason or "It is still being started.",
                "Go on without it, or ask the user to look at Settings → MCP servers.",
            )

    async def _list_again(self) -> None:
        """List the tools at a URL: another program may answer there by now, without any sign of it."""
        listed_s = asyncio.get_running_loop().time() - self._listed_at_s
        if self._open_calls or listed_s < LISTED_LATELY_S:
            return
        try:
            async with asyncio.timeout(_READY_TIMEOUT_S):
                await self._list_tools()
        except Exception as error:  # noqa: BLE001 - whatever is wrong, it is connected anew
            _log.debug("Listing the tools of MCP server %s again: %s", self.config.name, error)
            self._disconnected.set()

    async def _ask_user(self, question: ServerQuestion) -> ServerReply | None:
        """Ask the user who waits for the newest call; None if none runs, or no user is there.

        Its other calls wait as well: it may answer one after the other.
        """
        if not self._open_calls:
            return None
        for call in self._open_calls:
            call.pause()
        try:
            return await self._open_calls[-1].ask(question)
        finally:
            for call in self._open_calls:
                call.go_on()

    async def _are_pages_done(self) -> bool:
        words = _text("Are you done in the browser? The call is repeated then.")
        reply = await self._ask_user(ServerQuestion("", words, server=self.config.name))
        return reply is not None and reply.action == "accept"

    def _on_page_done(self) -> None:
        for call in self._open_calls:
            call.on_progress("The page in the browser is done.", None)

    async def call_tool(
        self,
        tool: str,
        digest: str,
        arguments: str,
        on_output: OutputCallback,
        ask: AskUser | None = None,
    ) -> ToolResult:
        """Call a tool, if `digest` is still that of its description; `ask` puts what it asks to the user.

        Raises ToolError; canceling cancels the call at the server too.
        """
        args = _parse_arguments(arguments)
        call = _OpenCall(on_output, ask, self.config.quiet_s)
        try:
            answer = await self._call_ready(tool, digest, args, call)
        except _CallNotTaken:
            call = _OpenCall(on_output, ask, self.config.quiet_s)
            answer = await self._call_ready(tool, digest, args, call)  # connected anew
        if answer is None:
            raise ToolError(
                f"{tool} gave no result.",
                f"The MCP server {self.config.name} asked for more input each time that it got some.",
                "Give everything it needs with the call.",
            )
        results = importlib.import_module("helix_desktop.mcp.client.session")
        result: ToolResult = results.to_tool_result(answer, sanitize_text(mcp_call_target(arguments), 200))
        if not call.notes:
            return result
        notes = "\n".join(call.notes).encode("utf-8", "surrogatepass")
        return msgspec.structs.replace(result, content=b"\n\n".join(filter(None, (result.content, notes))))

    async def _call_ready(self, tool: str, digest: str, args: dict[str, Any], call: _OpenCall) -> Any:
        """Call a tool once the server is ready, if `digest` is that of its description then."""
        await self.ensure_ready()
        if digest not in (offer.digest for offer in self.tools if offer.tool == tool and not offer.rejection):
            raise ToolError(
                f"{tool} was not run: it is not the tool that was allowed.",
                f"The MCP server {self.config.name} describes it differently now.",
                "Call it again if it still fits: the user sees what it says now.",
            )
        session = self._session
        assert session is not None  # set before the status becomes ready
        disconnected = self._disconnected
        try:
            return await self._call_session(session, tool, args, call)
        except _CallNotTaken:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TELL_S):
                    await self._no_call.wait()
            disconnected.set()
            raise

    async def _call_session(
        self, session: ClientSession, tool: str, args: dict[str, Any], call: _OpenCall
    ) -> Any:
        sdk = importlib.import_module("helix_desktop.mcp.client.session")
        loop = asyncio.get_running_loop()
        is_answered = False
        self._open_calls.append(call)
        self._no_call.clear()
        try:
            async with call.limit, call.quiet:
                answer = await sdk.call_tool(session, tool, args, call.on_progress, self._are_pages_done)
                is_answered = True
                return answer
        except TimeoutError:
            raise ToolError(
                f"{tool} did not answer.",
                f"The MCP server {self.config.name} gave no sign of life for {self.config.quiet_s} s; it was "
                "canceled, and may have been carried out all the same.",
                "Look at what it did before you call it again; try it with less to do, or go on without it.",
            ) from None
        except ToolError:
            raise
        except Exception as error:
            is_answered = True  # by an error, or by its end
            is_taken = getattr(error, "code", None) != NOT_TAKEN
            if str(error).startswith(_CLOSED):  # its last line says why
                await asyncio.wait([ended := loop.create_task(self._ended.wait())], timeout=_END_TIMEOUT_S)
                ended.cancel()
            is_unanswered = is_taken and self._is_without_answer(error)
            outcome = "may have carried out" if is_unanswered else "did not carry out"
            error_type = ToolError if is_taken else _CallNotTaken
            raise error_type(
                sanitize_text(self.stderr_log.sanitize(self._call_failure(error)), 1_000),
                f"The MCP server {self.config.name} {outcome} {tool}.",
                "Look at what it did before you call it again." if is_unanswered else "",
            ) from error
        finally:
            self._open_calls.remove(call)
            call.end()
            if not self._open_calls:
                self._no_call.set()
            # A server that works on another call may be busy with it.
            if not is_answered and not self._open_calls and self.is_up:
                self._check = loop.create_task(self._check_alive(session), name="mcp check")

    def _is_without_answer(self, error: Exception) -> bool:
        """Return True if the server took a call, and ended or was lost before it answered."""
        if str(error).startswith(_CLOSED):
            return True
        return self._failure is not None and str(error) == str(self._failure)

    def _call_failure(self, error: Exception) -> str:
        words = str(error)
        if not words.strip() and (code := getattr(error, "code", None)) is not None:
            return " ".join(filter(None, (f"It reports error {code} without a text.", _error_data(error))))
        if words.startswith("SSE stream failed") and "byte limit" in words:
            return error_reason(answer_too_large())
        if not words.startswith(_CLOSED):
            return " ".join(filter(None, (error_reason(error), _error_data(error))))
        if self._failure is not None and self._failure.is_taken:
            return error_reason(self._failure)
        return str(self._with_last_line(_text("The server ended in the middle of the call.")))

    async def _check_alive(self, session: ClientSession) -> None:
        """Disconnect from a server that does not answer a ping, so that it is restarted."""
        try:
            async with asyncio.timeout(PING_TIMEOUT_S):
                await session.send_ping()
        except TimeoutError:
            if self._session is not session:
                return  # lost and connected anew meanwhile
            self._failure = ConnectionFailure(_text("The server stopped answering and was restarted."))
            self._disconnected.set()
        except Exception as error:  # noqa: BLE001 - any answer is a sign of life, a lost connection is seen
            _log.debug("Ping of MCP server %s: %s", self.config.name, error)


def _error_data(error: Exception) -> str:
    """Return what a server says of an error beside its text, where that does not say it."""
    data = getattr(getattr(error, "error", None), "data", None)
    if data is None:
        return ""
    words = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return "" if words in str(error) else f"Details: {words[:_MAX_DATA_CHARS]}"


def _parse_arguments(arguments: str) -> dict[str, Any]:
    try:
        args = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(
            "The arguments are not valid JSON, so nothing was run.",
            f"{error}. The answer may have reached its limit of tokens.",
            "Send one JSON object, with less in it if it was cut off.",
        ) from None
    if not isinstance(args, dict):
        raise ToolError("The arguments are no JSON object.", fix="Send one JSON object.")
    return args


TaskStarter = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]
"""Starts an owned task under a name."""


async def _ignore_change() -> None:
    """Do nothing: the default for `on_tools_changed`."""


class Hub:
    """The lifecycle of servers as they are configured, and the routing of their tool calls.

    `start_task` starts and owns the tasks, `on_change` is called whenever anything about a server has
    changed, `on_tools_changed` is awaited when the tools have.
    """

    def __init__(
        self, context: ServerContext, start_task: TaskStarter, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._context = context
        self._start_task = start_task
        self._on_change = on_change
        self.on_tools_changed: Callable[[], Awaitable[None]] = _ignore_change
        self.configs: tuple[McpServerConfig, ...] = ()
        """The servers, running or not, in the order of the record."""
        self._trusted = True
        self._actors: dict[str, ServerActor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._servers_lock = asyncio.Lock()

    async def set_servers(self, configs: Sequence[McpServerConfig], trusted: bool, restart: str = "") -> None:
        """Set the servers; unchanged ones keep running, the one named `restart` is started again.

        In a folder that is not `trusted` nothing runs.
        """
        async with self._servers_lock:
            self.configs = tuple(configs)
            self._trusted = trusted
            runnable = {
                config.name: config
                for config in configs
                if self._trusted and config.enabled and config.is_consented
            }
            previous_tools: dict[str, tuple[ExposedTool, ...]] = {}
            for name, actor in tuple(self._actors.items()):
                unchanged = name in runnable and _can_keep_running(runnable[name], actor.config)
                if not unchanged or name == restart:
                    tools = await self._stop_server(name)
                    previous_tools[name] = tools if unchanged else ()
            for name, config in runnable.items():
                if name in self._actors:
                    self._actors[name].config = config
                else:
                    self._start_server(config, previous_tools.get(name, ()))
        self._on_change()
        await self.on_tools_changed()

    def _start_server(self, config: McpServerConfig, known_tools: tuple[ExposedTool, ...]) -> None:
        """Start a server; offer `known_tools` until it lists its tools."""
        actor = ServerActor(config, self._context, self.on_tools_changed, self._on_change)
        actor.tools = known_tools
        self._actors[config.name] = actor
        self._tasks[config.name] = self._start_task(actor.run(), f"mcp server {config.name}")

    async def _stop_server(self, name: str) -> tuple[ExposedTool, ...]:
        task = self._tasks.pop(name)
        actor = self._actors.pop(name)
        task.cancel()
        await asyncio.wait([task])
        return actor.tools

    async def close(self) -> None:
        """Stop all servers concurrently and wait until their processes are gone."""
        async with self._servers_lock:
            tasks = list(self._tasks.values())
            self._tasks.clear()
            self._actors.clear()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    @property
    def configs_with_tools(self) -> tuple[McpServerConfig, ...]:
        """The servers, each with the tools that it offers now; one that offers none keeps those it had."""
        return tuple(map(self._with_tools, self.configs))

    def _with_tools(self, config: McpServerConfig) -> McpServerConfig:
        actor = self._actors.get(config.name)
        names = actor.tool_names if actor is not None else ()
        return msgspec.structs.replace(config, known_tools=names) if names else config

    def replace_configs(self, configs: tuple[McpServerConfig, ...]) -> None:
        """Replace the servers by the same with other known tools: nothing is started or ended."""
        self.configs = configs
        for config in configs:
            if config.name in self._actors:
                self._actors[config.name].config = config

    def actor(self, name: str) -> ServerActor | None:
        return self._actors.get(name)

    def status(self, config: McpServerConfig) -> ServerStatus:
        actor = self._actors.get(config.name)
        if actor is not None:
            return actor.status
        if not config.enabled:
            return ServerStatus("off")
        if not config.is_consented:
            return ServerStatus("unapproved")
        return ServerStatus("waiting" if self._trusted else "untrusted")

    @property
    def servers_lacking_secrets(self) -> tuple[str, ...]:
        """The servers that did not start, since a secret has no value, by name."""
        return tuple(name for name, actor in self._actors.items() if actor.status.lacks_secret)

    @property
    def failures(self) -> tuple[tuple[str, OptionalText], ...]:
        """The servers that should run and don't, by name, each with the reason."""
        return tuple(
            (config.name, actor.failure_reason if actor else error_reason(ConsentEnded.of(config)))
            for config in self.configs
            if ((actor := self._actors.get(config.name)) is not None and not actor.is_up)
            or (actor is None and self._trusted and config.enabled and config.consent_changes)
        )

    @property
    def prompts(self) -> tuple[ServerPrompt, ...]:
        return tuple(prompt for actor in self._actors.values() for prompt in actor.prompts)

    @property
    def resources(self) -> tuple[ServerResource, ...]:
        return tuple(resource for actor in self._actors.values() for resource in actor.resources)

    @property
    def rejected_tools(self) -> tuple[tuple[str, str, OptionalText], ...]:
        """The tools that can't be offered: the server, the tool, and why."""
        return tuple(
            (name, tool.tool, tool.rejection)
            for name, actor in self._actors.items()
            for tool in actor.tools
            if tool.rejection
        )

    @property
    def later_tools(self) -> dict[str, tuple[str, ...]]:
        """The tools that servers came to offer while they were known, by server."""
        return {name: actor.later_tools for name, actor in self._actors.items() if actor.later_tools}

    async def wait_settled(self, timeout_s: float) -> None:
        """Wait until every server is ready or has failed once, at most `timeout_s` seconds."""
        await asyncio.gather(
            *(actor.wait_ready(timeout_s, restart_failed=False) for actor in tuple(self._actors.values()))
        )

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are switched on, server by server."""
        return tuple(tool.spec for _, tool in self._exposed_tools())

    def _exposed_tools(self) -> Iterator[tuple[ServerActor, ExposedTool]]:
        for config in self.configs:
            actor = self._actors.get(config.name)
            for tool in actor.tools if actor else ():
                if actor and not tool.rejection and tool.tool not in config.off:
                    yield actor, tool

    def _find_tool(self, call: ToolCall) -> tuple[ServerActor, ExposedTool]:
        for actor, tool in self._exposed_tools():
            if tool.spec.name == call.name:
                return actor, tool
        raise ToolError(
            f"The tool {call.name[:80]!r} is not there any more.",
            "Its MCP server was switched off, or does not offer it now.",
            "Go on without it.",
        )

    async def approval(self, call: ToolCall) -> ApprovalRequest:
        """Return the approval request that every call needs, about the tool as its server describes it now.

        Raises ToolError for a tool that is gone, or whose server is.
        """
        actor, _ = self._find_tool(call)
        await actor.ensure_ready()
        actor, tool = self._find_tool(call)
        schema = tool.spec.parameters
        if fault := argument_fault(schema, _parse_arguments(call.arguments)):
            raise ToolError(
                f"{call.name} was called with wrong arguments.",
                fault,
                f"Its arguments have this schema: {json.dumps(schema)}",
            )
        config = actor.config
        rules = suggest_server_rules(call.name, config.name, config.fingerprint, actor.tool_digests)
        if not tool.claims_read_only:  # a claim is no proof: it only limits the suggestions
            rules = rules[:1]
        return ApprovalRequest(
            call.id,
            call.name,
            f"{config.name}: {tool.tool}",
            summary=f"{config.name}: {tool.title}",
            detail=_format_arguments(call.arguments),
            rule=rules[0],
            kind="mcp",
            suggested_rules=rules,
            server=config.name,
            definition=config.fingerprint,
            description=tool.description,
            description_digest=tool.digest,
            claims_read_only=tool.claims_read_only,
        )

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call at its server, if that describes the tool as it did when the call was allowed.

        Raises ToolError. Canceling cancels it at the server.
        """
        actor, tool = self._find_tool(call)
        if not isinstance(call, AllowedCall):
            return await actor.call_tool(tool.tool, tool.digest, call.arguments, on_output)
        return await actor.call_tool(tool.tool, call.digest, call.arguments, on_output, call.ask)


def _can_keep_running(config: McpServerConfig, running_config: McpServerConfig) -> bool:
    return config.fingerprint == running_config.fingerprint and config.quiet_s == running_config.quiet_s


def _format_arguments(arguments: str) -> str:
    """Format a call's arguments for the user, with hidden characters escaped."""
    try:
        return escape_hidden(msgspec.json.format(arguments, indent=2))
    except (msgspec.DecodeError, RecursionError):
        return escape_hidden(arguments)
