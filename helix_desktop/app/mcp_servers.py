"""The MCP servers of all workspaces: kept in their records, secrets in the keychain, live in open rooms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from helix_desktop.agent.ports import Counter
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.app.mcp_reports import McpReports
from helix_desktop.app.mcp_running import McpRunning
from helix_desktop.config.secrets import Secrets
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.context.mcp_server import MOST_SERVERS, ServerEntry, faults_of
from helix_desktop.mcp.actor import START_S, Ground
from helix_desktop.mcp.hub import Hub
from helix_desktop.workspaces.registry import Registry

replace = msgspec.structs.replace


class McpServers(McpRunning):
    """Adds, changes and removes servers. What is changed holds at once; the record is kept first."""

    def __init__(
        self, registry: Registry, secrets: Secrets, inherited: Mapping[str, str], counter: Counter
    ) -> None:
        super().__init__(registry, secrets, inherited)
        self._reports = McpReports(counter)

    def entries(self, identity: str) -> tuple[ServerEntry, ...]:
        """The servers of a workspace, in order."""
        return self._registry.get(identity).servers

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
            await self._of(identity).keep(draft)
            known = (*known, _agreed(draft.entry))
        await self._keep(identity, known)

    async def change(self, identity: str, name: str, draft: Draft) -> None:
        """Change a server and start it so: who saves one has seen what it starts. Secrets left empty stay."""
        known = self.entries(identity)
        _check(draft.entry, tuple(one.name for one in known if one.name != name))
        former = self._entry(identity, name)
        values = await self._of(identity).of(former)
        kept = {key: draft.secrets.get(key) or values.get(key, "") for key in draft.entry.secrets}
        gone = [key for key in former.secrets if name != draft.entry.name or key not in draft.entry.secrets]
        await self._of(identity).drop(name, gone)
        await self._of(identity).keep(Draft(draft.entry, kept))
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
        values = await self._of(identity).of(entry)
        await self._keep(identity, [one for one in before if one.name != name])
        await self._of(identity).drop(name, entry.secrets)

        async def put_back() -> None:
            now = self.entries(identity)
            if any(one.name == name for one in now):
                raise InputUnusable(
                    f"There is a server called {name} by now.", fix="Rename or remove it first."
                )
            await self._of(identity).keep(Draft(entry, dict(values)))
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

    async def reports(self, identity: str) -> tuple[ServerReport, ...]:
        """How the servers of a workspace are doing, in order."""
        hub, found = self._hubs.get(identity), []
        if hub is not None and hub.entries != self.entries(identity):  # somebody else has changed the record
            await self._use(identity)
        for entry in self.entries(identity):
            kept = await self._of(identity).of(entry)
            missing = tuple(name for name in entry.secrets if name not in kept)
            found.append(await self._reports.report(hub, entry, missing))
        return tuple(found)

    async def keeping(self) -> str:
        """Where secrets are kept, for people."""
        backend = await self._secrets.backend()
        if backend:
            return f"Kept in the {backend}."
        why = self._secrets.problem or "there is no keychain"
        return f"Kept for this run only: {why}".rstrip(".") + "."

    async def test(self, identity: str, name: str, draft: Draft) -> ServerReport:
        """Start a server once as it would be kept, and end it again; `name`: the one whose secrets it has."""
        entry = _agreed(replace(draft.entry, enabled=True))
        _check(entry)
        values = await self._of(identity).of(replace(entry, name=name)) if name else {}
        given = {**values, **{key: value for key, value in draft.secrets.items() if value}}

        async def secrets(_: ServerEntry) -> Mapping[str, str]:
            return given

        scope = TaskScope()
        root = Path(self._registry.get(identity).path)
        hub = Hub(Ground(root, self._inherited, secrets), scope.start)
        try:
            await hub.use((entry,), True)
            await hub.settled(START_S)
            return await self._reports.report(hub, entry)
        finally:
            await hub.close()
            await scope.close()


def _agreed(entry: ServerEntry) -> ServerEntry:
    return replace(entry, approved=entry.fingerprint)


def _check(entry: ServerEntry, taken: tuple[str, ...] = ()) -> None:
    faults = faults_of(entry, taken)
    if faults:
        raise InputUnusable(f"{entry.name or 'This server'} cannot be used yet.", " ".join(faults.values()))
