"""The interface of tools."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult
from helix_desktop.tools.arguments import Arguments

Args = TypeVar("Args", bound=Arguments)


class Tool(ABC, Generic[Args]):
    """One thing the agent can do, under a name, with arguments of one type."""

    name: ClassVar[str]
    arguments_type: ClassVar[type[Arguments]]

    @property
    def is_offered(self) -> bool:
        """True if the model is offered it now."""
        return True

    @abstractmethod
    async def approval_request(self, call_id: str, args: Args) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None when that is nothing. Raises ToolError."""

    @abstractmethod
    async def run(self, call_id: str, args: Args, on_output: OutputCallback) -> ToolResult:
        """Run the call; `on_output` gets the output while it arrives. Raises ToolError."""


class UnguardedTool(Tool[Args]):
    """A tool that changes nothing and needs no approval."""

    async def approval_request(self, call_id: str, args: Args) -> ApprovalRequest | None:
        """Return None: no approval is needed."""
        return None
