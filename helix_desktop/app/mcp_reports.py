"""How MCP servers are doing, with what their tools cost in tokens."""

from __future__ import annotations

import json

import msgspec

from helix_desktop.agent.ports import Counter
from helix_desktop.context.mcp_report import ServerReport, ToolReport
from helix_desktop.context.mcp_server import ServerEntry
from helix_desktop.mcp.actor import Actor
from helix_desktop.mcp.hub import Hub


class McpReports:
    """Makes reports. What a schema costs is counted once."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._costs: dict[str, int] = {}

    async def report(
        self, hub: Hub | None, entry: ServerEntry, missing: tuple[str, ...] = ()
    ) -> ServerReport:
        """How a server is doing; without a hub its workspace is not open. `missing` secrets are not known."""
        if hub is None:
            return ServerReport(entry, "waiting" if entry.enabled else "off", missing=missing)
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
