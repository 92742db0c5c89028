"""The interface of tools."""

from __future__ import annotations

from typing import Protocol, TypeVar

from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult
from helix_desktop.tools.arguments import Arguments

Args_contra = TypeVar("Args_contra", bound=Arguments, contravariant=True)


class Tool(Protocol[Args_contra]):
    """One thing the agent can do."""

    async def approval_request(self, call_id: str, args: Args_contra) -> ApprovalRequest | None:
        """Return the approval request of a call; None when it needs none. Raises ToolError."""
        ...

    async def run(self, call_id: str, args: Args_contra, on_output: OutputCallback) -> ToolResult:
        """Run the call; `on_output` gets the output while it arrives. Raises ToolError."""
        ...


class UnguardedTool:
    """A tool that changes nothing and needs no approval."""

    async def approval_request(self, call_id: str, args: Arguments) -> ApprovalRequest | None:
        """Return None: no approval is needed."""
        return None
