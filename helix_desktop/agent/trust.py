"""Trust: until the person trusts a workspace's folder, no tool runs in it and no request leaves for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from helix_desktop.agent.ports import Model, Tools
from helix_desktop.domain.errors import ToolError, WorkspaceUntrusted
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output

IsTrusted = Callable[[], bool]
"""Whether the person trusts the folder now."""


def require_trust(is_trusted: IsTrusted) -> None:
    """Raises WorkspaceUntrusted unless the folder is trusted."""
    if not is_trusted():
        raise WorkspaceUntrusted(
            "This folder is not trusted yet.",
            "Until it is, nothing is sent to a model and no tool runs; sessions and cache can be read.",
            "Trust the folder if you know what is in it.",
        )


class TrustGatedModel:
    """A model that is only asked for a trusted folder."""

    def __init__(self, model: Model, is_trusted: IsTrusted) -> None:
        self._model, self._is_trusted = model, is_trusted

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """What the model streams. Raises ModelError, WorkspaceUntrusted."""
        require_trust(self._is_trusted)
        async with aclosing(self._model.stream(request)) as arrivals:
            async for arrival in arrivals:
                yield arrival


class TrustGatedTools:
    """Tools that only work in a trusted folder."""

    def __init__(self, tools: Tools, is_trusted: IsTrusted) -> None:
        self._tools, self._is_trusted = tools, is_trusted

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """The question a call raises before it may run. Raises ToolError."""
        self._require_trust()
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `told` hears its output while it runs. Raises ToolError."""
        self._require_trust()
        return await self._tools.run(call, on_output)

    def _require_trust(self) -> None:
        try:
            require_trust(self._is_trusted)
        except WorkspaceUntrusted as error:
            raise ToolError(error.what, error.why, error.fix) from error
