"""What every tool is."""

from __future__ import annotations

from typing import Protocol, TypeVar

from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult
from helix_desktop.tools.arguments import Arguments

Args_contra = TypeVar("Args_contra", bound=Arguments, contravariant=True)


class Tool(Protocol[Args_contra]):
    """One thing the agent can do."""

    async def ask(self, call_id: str, given: Args_contra) -> ApprovalAsk | None:
        """The question a call raises before it may run; None when it needs none. Raises ToolError."""
        ...

    async def run(self, call_id: str, given: Args_contra, told: Progress) -> ToolResult:
        """Do it; `told` hears the output while it comes. Raises ToolError."""
        ...


class Free:
    """A tool that changes nothing and needs no approval."""

    async def ask(self, call_id: str, given: Arguments) -> ApprovalAsk | None:
        """Nothing to ask."""
        return None
