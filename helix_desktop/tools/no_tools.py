"""The empty set of tools, for a workspace whose folder is missing."""

from __future__ import annotations

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output


class NoTools:
    """Exposes no tools and refuses every call, so that the workspace is read-only."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return no tools."""
        return ()

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """Raise ToolError, always."""
        raise _refusal()

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Raise ToolError, always."""
        raise _refusal()


def _refusal() -> ToolError:
    return ToolError("This workspace is open for reading only.", "Its folder is not there.")
