"""How an MCP server is doing, as a person is told: its state, what it offers and costs, and what it said."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.mcp_server import McpServerConfig, McpServerState


class McpToolStatus(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, what is said of it, its tokens in every request, whether it is told.

    `reads` is the server's own claim that it changes nothing; `refused` says why it can never be told.
    """

    tool: str
    description: str
    tokens: int
    is_enabled: bool
    is_read_only: bool = False
    refusal: str = ""


class McpServerStatus(msgspec.Struct, frozen=True):
    """A server: its entry, its state and why, the name it gives itself, its tools, the end of its log.

    `again_s`: a failed one is tried again so many seconds after it failed. `missing` names secrets that have
    no value now.
    """

    entry: McpServerConfig
    state: McpServerState
    why: str = ""
    retry_in_s: float = 0.0
    reported_name: str = ""
    tools: tuple[McpToolStatus, ...] = ()
    log: str = ""
    missing_secrets: tuple[str, ...] = ()

    @property
    def exposed_tools(self) -> tuple[McpToolStatus, ...]:
        """The tools that the model is told of."""
        return tuple(tool for tool in self.tools if tool.is_enabled and not tool.refusal)

    @property
    def tokens(self) -> int:
        """What its tools cost in every request, in tokens by our count."""
        return sum(tool.tokens for tool in self.exposed_tools)
