"""What a workspace needs before anything runs or is sent: the user's trust, and a policy that is known."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.model_roles import ModelWrapper
from helix_desktop.agent.ports import Model, Tools
from helix_desktop.domain.errors import HelixError, ToolError, WorkspaceUntrusted
from helix_desktop.domain.messages import ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Agent")

IsTrusted = Callable[[], bool]
"""Returns True if the user trusts the folder now."""

FindPolicyError = Callable[[], HelixError | None]
"""Returns what is wrong with the file of the workspace's policy; None where the policy is known."""


def require_trust(is_trusted: IsTrusted) -> None:
    if not is_trusted():
        raise WorkspaceUntrusted(
            text("This folder isn't trusted yet."),
            text("Until it is, nothing runs or is sent. You can view sessions and outputs."),
            text("Trust the folder if you know what it contains."),
        )


def require_policy(find_policy_error: FindPolicyError) -> None:
    """Raise what is wrong with the policy's file: nobody knows what a request may contain."""
    error = find_policy_error()
    if error is not None:
        raise error


class GatedModel(ModelWrapper):
    """Sends nothing from an untrusted folder, and nothing while the policy is not known."""

    def __init__(self, model: Model, is_trusted: IsTrusted, find_policy_error: FindPolicyError) -> None:
        super().__init__(model)
        self._is_trusted = is_trusted
        self._find_policy_error = find_policy_error

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        require_trust(self._is_trusted)
        require_policy(self._find_policy_error)
        return request


class TrustGatedTools:
    def __init__(self, tools: Tools, is_trusted: IsTrusted) -> None:
        self._tools = tools
        self._is_trusted = is_trusted

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        self._require_trust()
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        self._require_trust()
        return await self._tools.run(call, on_output)

    def _require_trust(self) -> None:
        try:
            require_trust(self._is_trusted)
        except WorkspaceUntrusted as error:
            raise ToolError(error.what, error.why, error.fix) from error
