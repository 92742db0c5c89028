"""Tools that know the session that calls them, among the tools of its workspace."""

from __future__ import annotations

from helix_desktop.agent.ports.tools import Tools
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output


class SessionTools:
    """A workspace's tools as one session calls them: some are answered by tools that know this session.

    What the model is offered, and what needs approval, is the same in every session.
    """

    def __init__(self, tools: Tools, session_tools: Tools) -> None:
        """`session_tools` answer the calls of their names."""
        self._tools, self._session_tools = tools, session_tools
        self._names = frozenset(spec.name for spec in session_tools.specs)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model."""
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None if that is nothing. Raises ToolError."""
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `on_output` gets its output while it runs. Raises ToolError."""
        tools = self._session_tools if call.name in self._names else self._tools
        return await tools.run(call, on_output)
