"""How an MCP server is doing, as a person is told: its state, what it offers and costs, and what it said."""

from __future__ import annotations

import msgspec

from helix_desktop.context.mcp_server import ServerEntry, ServerState


class ToolReport(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, what is said of it, its tokens in every request, whether it is told.

    `reads` is the server's own claim that it changes nothing; `refused` says why it can never be told.
    """

    tool: str
    said: str
    tokens: int
    on: bool
    reads: bool = False
    refused: str = ""


class ServerReport(msgspec.Struct, frozen=True):
    """A server: its entry, its state and why, the name it gives itself, its tools, the end of its log.

    `again_s`: a failed one is tried again so many seconds after it failed. `missing` names secrets that have
    no value now.
    """

    entry: ServerEntry
    state: ServerState
    why: str = ""
    again_s: float = 0.0
    server: str = ""
    tools: tuple[ToolReport, ...] = ()
    log: str = ""
    missing: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[ToolReport, ...]:
        """The tools that the model is told of."""
        return tuple(one for one in self.tools if one.on and not one.refused)

    @property
    def tokens(self) -> int:
        """What its tools cost in every request, in tokens by our count."""
        return sum(one.tokens for one in self.told)
