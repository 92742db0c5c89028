"""Trust: until the person trusts a workspace's folder, no tool runs in it and no request leaves for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from helix_desktop.agent.ports import Model, Tools
from helix_desktop.context.errors import ToolError, WorkspaceUntrusted
from helix_desktop.context.message import Arrival, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard

Trust = Callable[[], bool]
"""Whether the person trusts the folder now."""


def demand(trusted: Trust) -> None:
    """Raises WorkspaceUntrusted unless the folder is trusted."""
    if not trusted():
        raise WorkspaceUntrusted(
            "This folder is not trusted yet.",
            "Until it is, nothing is sent to a model and no tool runs; sessions and cache can be read.",
            "Trust the folder if you know what is in it.",
        )


class TrustedModel:
    """A model that is only asked for a trusted folder."""

    def __init__(self, model: Model, trusted: Trust) -> None:
        self._model, self._trusted = model, trusted

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """What the model streams. Raises ModelError, WorkspaceUntrusted."""
        demand(self._trusted)
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                yield arrival


class TrustedTools:
    """Tools that only work in a trusted folder."""

    def __init__(self, tools: Tools, trusted: Trust) -> None:
        self._tools, self._trusted = tools, trusted

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalAsk | None:
        """The question a call raises before it may run. Raises ToolError."""
        self._demand()
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, told: Progress = unheard) -> ToolResult:
        """Run a call; `told` hears its output while it runs. Raises ToolError."""
        self._demand()
        return await self._tools.run(call, told)

    def _demand(self) -> None:
        try:
            demand(self._trusted)
        except WorkspaceUntrusted as error:
            raise ToolError(error.what, error.why, error.fix) from error
