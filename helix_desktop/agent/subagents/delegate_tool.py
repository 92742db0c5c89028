"""The tool `delegate`: gives a task to a subagent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from helix_desktop.agent.ports.tools import Tools
from helix_desktop.agent.subagents.runner import SubagentRunner
from helix_desktop.domain.decoding_faults import decoding_fault
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.session import ModelRole
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import SHOW_OUTPUT, ApprovalRequest, OutputCallback, ToolResult, ignore_output

DELEGATE = "delegate"
"""The name of the tool that starts subagents; subagents do not have it."""
_REFUSALS = {
    DELEGATE: ("A subagent cannot start subagents.", "Do this part yourself."),
    SHOW_OUTPUT: ("Nobody reads a subagent's chat.", "Name the hash in your answer."),
}


class DelegateArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tool's arguments: the task, its title, and the role of the model that does it."""

    task: str
    title: str = ""
    model: ModelRole = "main"


def delegate_spec(description: str, argument_descriptions: Mapping[str, str]) -> ToolSpec:
    """Return the tool's spec; `argument_descriptions` describes each argument by name."""
    types: dict[str, dict[str, Any]] = {
        "task": {"type": "string"},
        "title": {"type": "string"},
        "model": {"type": "string", "enum": list(get_args(ModelRole))},
    }
    properties = {name: kind | {"description": argument_descriptions[name]} for name, kind in types.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["task"],
        "additionalProperties": False,
    }
    return ToolSpec(DELEGATE, description, schema)


class DelegatingTools:
    """The tools of a conversation, followed by `delegate`.

    Starting a subagent needs no approval: it changes nothing by itself, and its calls ask for approval in the
    chat of the session that started it.
    """

    def __init__(self, tools: Tools, spec: ToolSpec, subagents: SubagentRunner) -> None:
        self._tools, self._spec, self._subagents = tools, spec, subagents

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, in a stable order."""
        return (*self._tools.specs, self._spec)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None if that is nothing. Raises ToolError."""
        return None if call.name == DELEGATE else await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; of a subagent, only the result is returned. Raises ToolError."""
        if call.name != DELEGATE:
            return await self._tools.run(call, on_output)
        args = _parse_arguments(call.arguments)
        result = await self._subagents.run(args.task, title=args.title, call_id=call.id, role=args.model)
        return msgspec.structs.replace(result.output, target=args.title)


def _parse_arguments(text: str) -> DelegateArguments:
    try:
        args = msgspec.json.decode(text or "{}")
        if isinstance(args, dict):
            args = {name: value for name, value in args.items() if value is not None}
        return msgspec.convert(args, DelegateArguments)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        models = ", ".join(get_args(ModelRole))
        is_json = isinstance(error, msgspec.ValidationError)
        raise ToolError(
            f"{DELEGATE} was called with wrong arguments{'' if is_json else ': not valid JSON'}.",
            decoding_fault(error),
            f"It takes task, title?, model? (one of {models}).",
        ) from error


class SubagentTools:
    """A workspace's tools without those that only an agent with a user before it has."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, in a stable order."""
        return tuple(spec for spec in self._tools.specs if spec.name not in _REFUSALS)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None if that is nothing. Raises ToolError."""
        _refuse(call)
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call. Raises ToolError."""
        _refuse(call)
        return await self._tools.run(call, on_output)


def _refuse(call: ToolCall) -> None:
    if call.name in _REFUSALS:
        what, fix = _REFUSALS[call.name]
        raise ToolError(what, fix=fix)
