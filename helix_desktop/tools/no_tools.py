"""The tools of a workspace whose folder is not there: none."""

from __future__ import annotations

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output


class NoTools:
    """Tells of no tool and refuses every call, so that such a workspace can only be read."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Nothing."""
        return ()

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """Refuse. Raises ToolError."""
        raise _refusal()

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Refuse. Raises ToolError."""
        raise _refusal()


def _refusal() -> ToolError:
    return ToolError("This workspace is open for reading only.", "Its folder is not there.")
