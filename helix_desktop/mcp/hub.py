"""The MCP servers of one workspace: started as far as the person agreed, and told as one source of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.mcp_server import ServerEntry
from helix_desktop.context.message import ToolCall, ToolSpec
from helix_desktop.context.permission import server_offers
from helix_desktop.context.signs import revealed
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.mcp.actor import Actor, Condition, Ground
from helix_desktop.mcp.offer import Offer

Starter = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]
"""Starts a task that somebody owns, under a name."""


async def _nobody() -> None:
    """Nobody follows changes."""


class Hub:
    """Starts and ends servers as their entries say, and routes calls of their tools.

    `start` owns the tasks, `told` is called whenever anything about a server has changed, `changed` is
    awaited when the tools have.
    """

    def __init__(self, ground: Ground, start: Starter, told: Callable[[], None] = lambda: None) -> None:
        self._ground, self._start, self._told = ground, start, told
        self.changed: Callable[[], Awaitable[None]] = _nobody
        self._entries: tuple[ServerEntry, ...] = ()
        self._trusted = True
        self._actors: dict[str, Actor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._using = asyncio.Lock()

    async def use(self, entries: Sequence[ServerEntry], trusted: bool, anew: str = "") -> None:
        """Let these be the servers; those that stay as they are go on running, `anew` is started again.

        In a folder that is not `trusted` nothing runs.
        """
        async with self._using:
            self._entries, self._trusted = tuple(entries), trusted
            wanted = {one.name: one for one in entries if self._may_run(one)}
            kept: dict[str, tuple[Offer, ...]] = {}
            for name, actor in tuple(self._actors.items()):
                same = name in wanted and _same(wanted[name], actor.entry)
                if not same or name == anew:
                    left = await self._end(name)
                    kept[name] = left if same else ()
            for name, entry in wanted.items():
                if name in self._actors:
                    self._actors[name].entry = entry
                else:
                    self._begin(entry, kept.get(name, ()))
        self._told()
        await self.changed()

    def _may_run(self, entry: ServerEntry) -> bool:
        return self._trusted and entry.enabled and entry.agreed

    def _begin(self, entry: ServerEntry, known: tuple[Offer, ...]) -> None:
        """Start a server; what it is known to offer is told until it lists its tools."""
        actor = Actor(entry, self._ground, self._follow, self._told)
        actor.offers = known
        self._actors[entry.name] = actor
        self._tasks[entry.name] = self._start(actor.live(), f"mcp server {entry.name}")

    async def _follow(self) -> None:
        await self.changed()

    async def _end(self, name: str) -> tuple[Offer, ...]:
        """End a server; returns what it offered."""
        task, actor = self._tasks.pop(name), self._actors.pop(name)
        task.cancel()
        await asyncio.wait([task])
        return actor.offers

    async def close(self) -> None:
        """End all servers, side by side; returns when their processes are gone."""
        async with self._using:
            tasks = list(self._tasks.values())
            self._tasks.clear()
            self._actors.clear()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    @property
    def entries(self) -> tuple[ServerEntry, ...]:
        """The servers, running or not, in the order of the record."""
        return self._entries

    def actor(self, name: str) -> Actor | None:
        """The server that runs under a name, or is to run."""
        return self._actors.get(name)

    def condition(self, entry: ServerEntry) -> Condition:
        """How a server is."""
        actor = self._actors.get(entry.name)
        if actor is not None:
            return actor.condition
        if not entry.enabled:
            return Condition("off")
        return Condition(
            "unapproved" if not entry.agreed else "untrusted" if not self._trusted else "waiting"
        )

    async def settled(self, seconds: float) -> None:
        """Wait until every server is ready or has failed once, at most so many seconds."""
        await asyncio.gather(*(actor.ready(seconds, again=False) for actor in tuple(self._actors.values())))

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are switched on, server by server."""
        return tuple(one.spec for _, one in self._told_offers())

    def _told_offers(self) -> Iterator[tuple[Actor, Offer]]:
        for entry in self._entries:
            actor = self._actors.get(entry.name)
            for one in actor.offers if actor else ():
                if actor and not one.refused and one.tool not in entry.off:
                    yield actor, one

    def _find(self, call: ToolCall) -> tuple[Actor, Offer]:
        for actor, one in self._told_offers():
            if one.spec.name == call.name:
                return actor, one
        raise ToolError(
            f"The tool {call.name[:80]!r} is not there any more.",
            "Its MCP server was switched off, or does not offer it now.",
            "Go on without it.",
        )

    async def approval(self, call: ToolCall) -> ApprovalAsk:
        """The question that every call raises. Raises ToolError for a tool that is gone."""
        actor, one = self._find(call)
        entry = actor.entry
        offers = server_offers(call.name, entry.name, entry.fingerprint)
        if not one.reads:  # a claim, and no proof: it only decides what is offered
            offers = offers[:1]
        return ApprovalAsk(
            *(call.id, call.name, f"{entry.name}: {one.tool}"),
            summary=f"{entry.name}: {one.title}",
            detail=_shown(call.arguments),
            rule=offers[0],
            kind="mcp",
            offers=offers,
            server=entry.name,
            definition=entry.fingerprint,
        )

    async def run(self, call: ToolCall, told: Progress = unheard) -> ToolResult:
        """Run a call at its server. Raises ToolError. Cancelling cancels it there."""
        actor, one = self._find(call)
        return await actor.call(one.tool, call.arguments, told)


def _same(wanted: ServerEntry, running: ServerEntry) -> bool:
    """Whether a running server can go on under a changed entry."""
    return wanted.fingerprint == running.fingerprint and wanted.quiet_s == running.quiet_s


def _shown(arguments: str) -> str:
    """A call's arguments as a person reads them, nothing of them hidden."""
    try:
        return revealed(msgspec.json.format(arguments, indent=2))
    except msgspec.DecodeError:
        return revealed(arguments)
