"""The status of an MCP server for the user: its state, its tools and their cost, and its log."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.mcp_server import McpServerConfig, McpServerState


class McpToolStatus(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, description, tokens in every request, whether it is enabled.

    `is_read_only` is the server's own claim that it changes nothing; `refusal`: why it is never exposed.
    """

    tool: str
    description: str
    tokens: int
    is_enabled: bool
    is_read_only: bool = False
    refusal: str = ""


class McpServerStatus(msgspec.Struct, frozen=True):
    """A server: its configuration, state and why, the name it gives itself, its tools, the end of its log.

    `retry_in_s`: a failed server is retried this many seconds after it failed. `missing_secrets` have no
    value now. `start_files` are what one that needs the user's consent runs of the workspace: files, and
    folders with a `/` at their end.
    """

    config: McpServerConfig
    state: McpServerState
    why: str = ""
    retry_in_s: float = 0.0
    reported_name: str = ""
    tools: tuple[McpToolStatus, ...] = ()
    log: str = ""
    missing_secrets: tuple[str, ...] = ()
    start_files: tuple[str, ...] = ()

    @property
    def exposed_tools(self) -> tuple[McpToolStatus, ...]:
        """Return the tools that are exposed to the model."""
        return tuple(tool for tool in self.tools if tool.is_enabled and not tool.refusal)

    @property
    def tokens(self) -> int:
        """Return what its tools cost in every request, in tokens by our count."""
        return sum(tool.tokens for tool in self.exposed_tools)
