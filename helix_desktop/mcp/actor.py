"""One server's life: connected by a task of its own, tried again when it is lost, called by others."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helix_desktop.context.errors import HelixError, ToolError
from helix_desktop.context.mcp_server import ServerEntry, ServerState
from helix_desktop.context.tool import Progress, ToolResult
from helix_desktop.mcp.chatter import Chatter
from helix_desktop.mcp.offer import Offer, offer, plain
from helix_desktop.mcp.process import Program, environment_of

if TYPE_CHECKING:
    from mcp.client import ClientSession

START_S = 120.0  # for a server to be ready; the first run of npx or uvx downloads it
LONGEST_CALL_S = 1800.0  # a call that shows signs of life is ended after that all the same
_WAIT_S = 15.0  # a call waits so long for a server that is being started again
_PAUSES_S = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0)  # between attempts to start it
_MOST_TRIES = 10  # in a row; then only a person or a call starts it again
_STEADY_S = 60.0  # a server that held so long begins with the first pause again
_EARLY, _MIDST = "The server ended before it was ready.", "The server ended in the middle of the call."
_SETTLE_S = 0.2  # several changes of a server's tools told at once are looked at once


@dataclass(frozen=True)
class Ground:
    """What servers of one workspace stand on: its folder, what programs inherit, where secrets come from."""

    root: Path
    inherited: Mapping[str, str]
    secrets: Callable[[ServerEntry], Awaitable[Mapping[str, str]]]


class Condition(msgspec.Struct, frozen=True):
    """How a server is: its state, and of one that failed why, and in how many seconds it is tried again."""

    state: ServerState
    why: str = ""
    again_s: float = 0.0


class Actor:
    """A server of one workspace. `live` runs in one task; everything else may be called by any.

    What it offers stays told while it is started again, so that a crash does not void what the provider has
    cached. `changed` is awaited when its tools have changed, `told` called when its condition has.
    """

    def __init__(
        self,
        entry: ServerEntry,
        ground: Ground,
        changed: Callable[[], Awaitable[None]],
        told: Callable[[], None],
        pauses_s: tuple[float, ...] = _PAUSES_S,
    ) -> None:
        self.entry, self._ground, self._changed, self._told = entry, ground, changed, told
        self._pauses_s = pauses_s
        self.chatter = Chatter()
        self.offers: tuple[Offer, ...] = ()
        self.server = ""
        """The name and version that the server gives itself."""
        self.condition = Condition("waiting")
        self._session: ClientSession | None = None
        self._gone = asyncio.Event()
        self._settled, self._wanted = asyncio.Event(), asyncio.Event()
        self._look = asyncio.Lock()

    async def live(self) -> None:
        """Connect, and again whenever the connection is lost, until cancelled."""
        failed = 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            why = await self._connect()
            failed = 1 if loop.time() - began > _STEADY_S else failed + 1
            pause = self._pauses_s[min(failed, len(self._pauses_s)) - 1] if failed < _MOST_TRIES else None
            self.chatter.note(why)
            self._wanted.clear()
            self._show(Condition("failed", why, pause or 0.0))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wanted.wait()

    def retry(self) -> None:
        """Start it again now, if it has failed."""
        self._wanted.set()

    async def ready(self, seconds: float = _WAIT_S, again: bool = True) -> bool:
        """Whether it is ready, after at most so many seconds; `again` starts one that failed once more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._gone.is_set() and self.condition.state == "ready":
                    self._settled.clear()  # its end is about to be told
                await self._settled.wait()
                if again and self.condition.state == "failed":
                    self._settled.clear()
                    self.retry()
                    await self._settled.wait()
        return self.up

    @property
    def up(self) -> bool:
        """Whether it can be called now."""
        return self._session is not None and self.condition.state == "ready" and not self._gone.is_set()

    async def _connect(self) -> str:
        """Hold one connection; returns why it ended, in words for people."""
        self._settled.clear()
        self._show(Condition("starting"))
        gone = self._gone = asyncio.Event()
        try:
            async with self._session_with(gone):
                await gone.wait()
                self._session = None
                self._settled.clear()
                self._show(Condition("waiting", "The server ended."))
            why = "The server ended."
        except Exception as error:  # noqa: BLE001 - whatever a server brings about ends its session alone
            why = _reason(error)
        finally:
            self._session = None
        return self.chatter.safe(f"{why} {self._last_words()}".strip())

    def _last_words(self) -> str:
        last = self.chatter.last
        return f"Its last words: {plain(last, 300)}" if last else ""

    @asynccontextmanager
    async def _session_with(self, gone: asyncio.Event) -> AsyncIterator[None]:
        sdk = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.session")
        async with asyncio.timeout(START_S) as patience:
            async with (
                self._open(gone) as streams,
                sdk.greeted(streams, self._ground.root, self._again) as session,
            ):
                self._session = session
                named = session.server_info
                self.server = plain(f"{named.name} {named.version}", 80) if named else ""
                await self._list()
                patience.reschedule(None)
                self._show(Condition("ready"))
                yield

    @asynccontextmanager
    async def _open(self, gone: asyncio.Event) -> AsyncIterator[Any]:
        entry, ground = self.entry, self._ground
        secrets = await ground.secrets(entry)
        self.chatter.hide(secrets.values())
        missing = [name for name in entry.secrets if not secrets.get(name)]
        if missing:
            raise HelixError(
                f"The secret {missing[0]} of {entry.name} is not known.",
                "It is in no keychain that can be read now.",
                "Enter it again.",
            )
        if entry.url:
            http = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.http")
            opened = http.web(entry.url, {**entry.headers, **secrets}, self.chatter, gone)
        else:
            stdio = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.stdio")
            environment = environment_of(ground.inherited, {**entry.env, **secrets})
            cwd = str(ground.root / entry.cwd)
            program = Program((entry.command, *entry.args), cwd, environment)
            opened = stdio.pipes(program, self.chatter, gone)
        async with opened as streams:
            yield streams

    async def _again(self) -> None:
        """The server says that its tools have changed."""
        if self._look.locked() or self._session is None:
            return
        async with self._look:
            await asyncio.sleep(_SETTLE_S)
        await self._list()

    async def _list(self) -> None:
        session = self._session
        if session is None:
            return
        sdk = importlib.import_module("helix_desktop.mcp.session")
        listed = await sdk.tools_of(session)
        offers = [
            offer(
                self.entry.name,
                tool.name,
                tool.title or (tool.annotations.title if tool.annotations else "") or "",
                tool.description or "",
                tool.input_schema,
                bool(tool.annotations and tool.annotations.read_only_hint),
            )
            for tool in listed
        ]
        found = tuple(sorted(offers, key=lambda one: one.spec.name))  # a server's own order may change
        if found != self.offers:
            self.offers = found
            self._told()
            await self._changed()

    def _show(self, condition: Condition) -> None:
        self.condition = condition
        if condition.state in ("ready", "failed"):
            self._settled.set()
        self._told()

    async def call(self, tool: str, arguments: str, told: Progress) -> ToolResult:
        """Have a tool called. Raises ToolError; being cancelled cancels the call at the server too."""
        given = _object(arguments)
        if not self.up and not await self.ready():
            raise ToolError(
                f"The MCP server {self.entry.name} is not running.",
                self.condition.why or "It is still being started.",
                "Go on without it, or ask the user to look at Settings → MCP servers.",
            )
        session = self._session
        assert session is not None  # set before it is shown as ready
        results = importlib.import_module("helix_desktop.mcp.results")
        answer = await self._answer(session, tool, given, told)
        if answer is None:
            raise ToolError(
                f"{tool} asks the user for more, which is not possible here.",
                "The server wants to put a question of its own.",
                "Give everything it needs with the call.",
            )
        target = next((str(value) for value in given.values() if isinstance(value, str)), "")
        result: ToolResult = results.result_of(answer, plain(target, 200))
        return result

    async def _answer(self, session: ClientSession, tool: str, given: dict[str, Any], told: Progress) -> Any:
        sdk = importlib.import_module("helix_desktop.mcp.session")
        loop, quiet_s = asyncio.get_running_loop(), self.entry.quiet_s
        try:
            async with asyncio.timeout(LONGEST_CALL_S), asyncio.timeout(quiet_s) as quiet:

                def heard(text: str) -> None:
                    quiet.reschedule(loop.time() + quiet_s)
                    told(f"{plain(text, 500)}\n")

                return await sdk.call(session, tool, given, heard)
        except TimeoutError:
            raise ToolError(
                f"{tool} did not answer.",
                f"The MCP server {self.entry.name} gave no sign of life for {quiet_s} s; it was cancelled.",
                "Try it with less to do, or go on without it.",
            ) from None
        except ToolError:
            raise
        except Exception as error:
            raise ToolError(
                f"The MCP server {self.entry.name} did not carry out {tool}.",
                plain(self.chatter.safe(_reason(error).replace(_EARLY, _MIDST)), 1_000),
            ) from error


def _object(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except ValueError as error:
        raise ToolError("The arguments are no JSON.", f"{error}.", "Send one JSON object.") from None
    if not isinstance(given, dict):
        raise ToolError("The arguments are no JSON object.", fix="Send one JSON object.")
    return given


def _reason(error: BaseException) -> str:
    """What went wrong, in one sentence; of several errors the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HelixError):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"It was not ready within {START_S:g} s."
    said = " ".join(str(error).split())[:500] or type(error).__name__
    if said == "Connection closed":
        return _EARLY
    return said if said.endswith((".", "!", "?")) else f"{said}."
