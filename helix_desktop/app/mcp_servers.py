"""The MCP servers of all workspaces: kept in their records, secrets in the keychain, live in open rooms."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from helix_desktop.agent.ports import Counter
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.config.secrets import Secrets
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.context.mcp_report import ServerReport, ToolReport
from helix_desktop.context.mcp_server import MOST_SERVERS, ServerEntry, faults_of
from helix_desktop.mcp.actor import START_S, Actor, Ground
from helix_desktop.mcp.hub import Hub
from helix_desktop.workspaces.registry import Registry

replace = msgspec.structs.replace


class McpServers:
    """Adds, changes, starts and ends servers. What is changed holds at once; the record is kept first."""

    def __init__(
        self, registry: Registry, secrets: Secrets, inherited: Mapping[str, str], counter: Counter
    ) -> None:
        self._registry, self._secrets, self._inherited = registry, secrets, inherited
        self._counter = counter
        self._scope = TaskScope()
        self._hubs: dict[str, Hub] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._costs: dict[str, int] = {}

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Hear of the workspace whose servers have changed. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def open(self, identity: str, root: Path) -> Hub:
        """The servers of a workspace that is being opened; none starts before `begin` or `settled`."""
        ground = Ground(root, self._inherited, lambda entry: self._kept(identity, entry))
        self._hubs[identity] = Hub(ground, self._scope.start, lambda: self._tell(identity))
        return self._hubs[identity]

    def begin(self, identity: str) -> None:
        """Start the servers of an open workspace beside everything else; without trust end them."""
        if self._registry.get(identity).servers:
            self._scope.start(self._use(identity), f"mcp begin {identity}")

    async def settled(self, identity: str, seconds: float) -> None:
        """Wait until every server is ready or has failed, at most so many seconds."""
        await self._use(identity)
        if identity in self._hubs:
            await self._hubs[identity].settled(seconds)

    async def shut(self, identity: str) -> None:
        """End the servers of a workspace."""
        hub = self._hubs.pop(identity, None)
        if hub is not None:
            await hub.close()

    async def close(self) -> None:
        """End all servers."""
        for identity in tuple(self._hubs):
            await self.shut(identity)
        await self._scope.close()

    def _tell(self, identity: str) -> None:
        for listener in tuple(self._listeners):
            listener(identity)

    def entries(self, identity: str) -> tuple[ServerEntry, ...]:
        """The servers of a workspace, in order."""
        return self._registry.get(identity).servers

    async def _use(self, identity: str, anew: str = "") -> None:
        hub = self._hubs.get(identity)
        if hub is not None:
            record = self._registry.get(identity)
            await hub.use(record.servers, record.trusted, anew)
        self._tell(identity)

    async def _keep(self, identity: str, servers: Sequence[ServerEntry], anew: str = "") -> None:
        self._registry.change(identity, servers=tuple(servers))
        await self._use(identity, anew)

    async def add(self, identity: str, drafts: Sequence[Draft]) -> None:
        """Add servers and start them: who adds one has seen what it starts. Raises HelixError."""
        known = self.entries(identity)
        if len(known) + len(drafts) > MOST_SERVERS:
            raise InputUnusable(f"A workspace can have {MOST_SERVERS} servers.", fix="Remove some first.")
        for draft in drafts:
            _check(draft.entry, tuple(one.name for one in known))
            await self._keep_secrets(identity, draft)
            known = (*known, _agreed(draft.entry))
        await self._keep(identity, known)

    async def change(self, identity: str, name: str, draft: Draft) -> None:
        """Change a server and start it so: who saves one has seen what it starts. Secrets left empty stay."""
        known = self.entries(identity)
        _check(draft.entry, tuple(one.name for one in known if one.name != name))
        former = self._entry(identity, name)
        values = await self._kept(identity, former)
        kept = {key: draft.secrets.get(key) or values.get(key, "") for key in draft.entry.secrets}
        gone = [key for key in former.secrets if name != draft.entry.name or key not in draft.entry.secrets]
        await self._drop_secrets(identity, name, gone)
        await self._keep_secrets(identity, Draft(draft.entry, kept))
        changed = _agreed(replace(draft.entry, off=former.off, enabled=former.enabled))
        await self._keep(identity, [changed if one.name == name else one for one in known], draft.entry.name)

    async def agree(self, identity: str, name: str, fingerprint: str) -> None:
        """Let a server start as the person has just seen it. Raises InputUnusable if it is another by now."""
        entry = self._entry(identity, name)
        if entry.fingerprint != fingerprint:
            raise InputUnusable(f"{name} was changed meanwhile.", fix="Look at it again.")
        await self._put(identity, _agreed(entry))

    async def switch(self, identity: str, name: str, on: bool) -> None:
        """Switch a server on or off."""
        await self._put(identity, replace(self._entry(identity, name), enabled=on))

    async def switch_tools(self, identity: str, name: str, off: Sequence[str]) -> None:
        """Say which tools of a server are not told."""
        await self._put(identity, replace(self._entry(identity, name), off=tuple(sorted(off))))

    async def restart(self, identity: str, name: str) -> None:
        """Start a server anew."""
        await self._use(identity, name)

    async def remove(self, identity: str, name: str) -> Callable[[], Awaitable[None]]:
        """Remove a server with its secrets; the returned function brings it back."""
        before = self.entries(identity)
        entry = self._entry(identity, name)
        values = await self._kept(identity, entry)
        await self._keep(identity, [one for one in before if one.name != name])
        await self._drop_secrets(identity, name, entry.secrets)

        async def put_back() -> None:
            now = self.entries(identity)
            if any(one.name == name for one in now):
                raise InputUnusable(
                    f"There is a server called {name} by now.", fix="Rename or remove it first."
                )
            await self._keep_secrets(identity, Draft(entry, dict(values)))
            at = min(before.index(entry), len(now))
            await self._keep(identity, (*now[:at], entry, *now[at:]))

        return put_back

    async def _put(self, identity: str, entry: ServerEntry) -> None:
        await self._keep(
            identity, [entry if one.name == entry.name else one for one in self.entries(identity)]
        )

    def _entry(self, identity: str, name: str) -> ServerEntry:
        for one in self.entries(identity):
            if one.name == name:
                return one
        raise InputUnusable(f"There is no server called {name}.", fix="It was removed; add it again.")

    async def _kept(self, identity: str, entry: ServerEntry) -> dict[str, str]:
        found = {name: await self._secrets.get(_place(identity, entry.name, name)) for name in entry.secrets}
        return {name: key.value for name, key in found.items() if key.value}

    async def _keep_secrets(self, identity: str, draft: Draft) -> None:
        for name, value in draft.secrets.items():
            if value:
                await self._secrets.set(_place(identity, draft.entry.name, name), value)

    async def _drop_secrets(self, identity: str, server: str, names: Sequence[str]) -> None:
        for name in names:
            await self._secrets.set(_place(identity, server, name), "")

    async def reports(self, identity: str) -> tuple[ServerReport, ...]:
        """How the servers of a workspace are doing, in order."""
        hub = self._hubs.get(identity)
        return tuple([await self._report(identity, hub, entry) for entry in self.entries(identity)])

    async def _report(self, identity: str, hub: Hub | None, entry: ServerEntry) -> ServerReport:
        kept = await self._kept(identity, entry)
        missing = tuple(name for name in entry.secrets if name not in kept)
        if hub is None:
            return ServerReport(entry, "untrusted" if entry.enabled else "off", missing=missing)
        condition, actor = hub.condition(entry), hub.actor(entry.name)
        return ServerReport(
            *(entry, condition.state, condition.why, condition.again_s),
            server=actor.server if actor else "",
            tools=await self._tools(actor, entry) if actor else (),
            log=actor.chatter.text if actor else "",
            missing=missing,
        )

    async def _tools(self, actor: Actor, entry: ServerEntry) -> tuple[ToolReport, ...]:
        texts = [json.dumps(msgspec.to_builtins(one.spec)) for one in actor.offers]
        new = [text for text in texts if text not in self._costs]
        self._costs.update(zip(new, await self._counter.count(new), strict=True))
        return tuple(
            ToolReport(
                *(one.tool, one.spec.description.partition("] ")[2], self._costs[text]),
                on=one.tool not in entry.off,
                reads=one.reads,
                refused=one.refused,
            )
            for one, text in zip(actor.offers, texts, strict=True)
        )

    async def test(self, identity: str, name: str, draft: Draft) -> ServerReport:
        """Start a server once as it would be kept, and end it again; `name`: the one whose secrets it has."""
        entry = _agreed(replace(draft.entry, enabled=True))
        _check(entry)
        values = await self._kept(identity, replace(entry, name=name)) if name else {}
        given = {**values, **{key: value for key, value in draft.secrets.items() if value}}

        async def secrets(_: ServerEntry) -> Mapping[str, str]:
            return given

        scope = TaskScope()
        root = Path(self._registry.get(identity).path)
        hub = Hub(Ground(root, self._inherited, secrets), scope.start)
        try:
            await hub.use((entry,), True)
            await hub.settled(START_S)
            return await self._report(identity, hub, entry)
        finally:
            await hub.close()
            await scope.close()


def _agreed(entry: ServerEntry) -> ServerEntry:
    return replace(entry, approved=entry.fingerprint)


def _check(entry: ServerEntry, taken: tuple[str, ...] = ()) -> None:
    faults = faults_of(entry, taken)
    if faults:
        raise InputUnusable(f"{entry.name or 'This server'} cannot be used yet.", " ".join(faults.values()))


def _place(identity: str, server: str, name: str) -> str:
    """The name under which a server's secret lies in the keychain."""
    return f"mcp/{identity}/{server}/{name}"
