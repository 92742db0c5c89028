"""Builds the status of MCP servers, with what their tools cost in tokens."""

from __future__ import annotations

from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.agent.run_settings import schema_json
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.hub import Hub
from helix_desktop.mcp.client.server_actor import ServerActor
from helix_desktop.services.mcp.status import McpServerStatus, McpToolStatus


class StatusBuilder:
    """Builds the status of servers. The tokens of a schema are counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._token_counts: dict[str, int] = {}

    async def build(
        self, hub: Hub | None, config: McpServerConfig, missing_secrets: tuple[str, ...] = ()
    ) -> McpServerStatus:
        """Build the status of a server; `hub` is None while its workspace is not open."""
        if hub is None:
            return McpServerStatus(
                config, "waiting" if config.enabled else "off", missing_secrets=missing_secrets
            )
        condition, actor = hub.status(config), hub.actor(config.name)
        return McpServerStatus(
            config,
            condition.state,
            condition.reason,
            condition.retry_in_s,
            reported_name=actor.server_title if actor else "",
            tools=await self._tool_statuses(actor, config) if actor else (),
            log=actor.stderr_log.text if actor else "",
            missing_secrets=missing_secrets,
        )

    async def _tool_statuses(self, actor: ServerActor, config: McpServerConfig) -> tuple[McpToolStatus, ...]:
        texts = [schema_json(tool.spec) for tool in actor.tools]
        new = [text for text in texts if text not in self._token_counts]
        self._token_counts.update(zip(new, await self._counter.count(new), strict=True))
        return tuple(
            McpToolStatus(
                tool.tool,
                tool.spec.description.partition("] ")[2],
                self._token_counts[text],
                is_enabled=tool.tool not in config.off,
                is_read_only=tool.claims_read_only,
                refusal=tool.rejection,
            )
            for tool, text in zip(actor.tools, texts, strict=True)
        )
