"""The session that a sample opens with: the first tasks of its script, played by the engine at first opening.

The demo model, the files, the window and the file history are real; only what commands print is recorded, so
that nothing runs before the user sends a message. A test records it, and fails if they print something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from copy import copy
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Tools
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import (
    ApprovalRequest,
    OutputCallback,
    PermissionRule,
    ToolResult,
    ignore_output,
)
from helix_desktop.providers.demo.model import DemoModel
from helix_desktop.providers.demo.script import Script
from helix_desktop.workspaces.saved_rules import DEMO_RULES

PREPARED_TASKS = 7
"""The tasks of the script that are done when the sample opens; the next one is offered to the user.

The fourth meets a checkpoint, the seventh the handover at 85 %, both by the default policy.
"""

FOLDER_MARK = "{workspace}"
"""What stands for the project's folder in a recorded output."""

_COMMAND_TOOL = "run_command"


class RecordedCommand(msgspec.Struct, frozen=True):
    """What a command of the script printed, without the header that says how it ended."""

    command: str
    exit_code: int
    output: str


def commands_file(folder: Path, name: str) -> Path:
    """Return the file that holds the recorded commands of a sample; `folder` has its script."""
    return folder / f"{name}-commands.json"


def read_commands(folder: Path, name: str) -> list[RecordedCommand]:
    """Return the recorded commands of a sample, in order. Raises OSError, ValueError for a damaged file."""
    return msgspec.json.decode(commands_file(folder, name).read_bytes(), type=list[RecordedCommand])


class RecordedCommands:
    """The tools of a workspace, whose commands don't run: each gets what it printed when it was recorded."""

    def __init__(self, tools: Tools, commands: Sequence[RecordedCommand], root: Path) -> None:
        """`root` is the project's folder, as the outputs are to name it."""
        self._tools, self._commands, self._root = tools, list(commands), root

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model."""
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None if that is nothing. Raises ToolError."""
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call, or return the recorded output of a command. Raises ToolError."""
        if call.name != _COMMAND_TOOL:
            return await self._tools.run(call, on_output)
        command = msgspec.json.decode(call.arguments, type=dict[str, object]).get("command")
        recorded = next((entry for entry in self._commands if entry.command == command), None)
        if recorded is None:
            return ToolResult(b"not run: this command was not recorded\n", False, target=str(command))
        self._commands.remove(recorded)
        output = recorded.output.replace(FOLDER_MARK, str(self._root)).encode()
        head = b"exit code %d (recorded)\n" % recorded.exit_code
        return ToolResult(head + output, recorded.exit_code == 0, recorded.exit_code, recorded.command)


class _ScriptAllowed:
    """The permissions of the script: its calls are known."""

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        return DEMO_RULES

    def offers_demo_calls(self) -> bool:
        return False

    def allow_demo_calls(self) -> bool:
        return True

    async def add(self, rule: PermissionRule) -> None:
        return


class _UnhurriedModel:
    """The demo model, whose answers to the user wait for what runs in the background.

    So the same rewrites come at the same places, however fast the machine is.
    """

    def __init__(self, model: DemoModel, wait: Callable[[], Awaitable[None]]) -> None:
        self._model, self._wait = model, wait

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        if request.tools:  # what runs in the background asks without tools
            await self._wait()
        async for item in self._model.stream(request):
            yield item


def unhurried_workspace(
    workspace_id: str, services: SessionServices, policy: ContextPolicy, scripts_folder: Path
) -> OpenWorkspace:
    """Return a workspace whose demo model, without pauses, answers when no background work is left."""

    async def wait() -> None:
        for conversation in workspace.conversations:
            await conversation.checkpoints.wait()
            await conversation.wait_for_background_work()

    model = _UnhurriedModel(DemoModel(scripts_folder, pause_s=0), wait)
    workspace = OpenWorkspace(workspace_id, services, policy, model)
    return workspace


async def play_session(
    workspace_id: str,
    services: SessionServices,
    scripts_folder: Path,
    script: Script,
    root: Path,
    on_progress: OnProgress = no_progress,
) -> str:
    """Play the first tasks of a script into a new session of a workspace, and return its id.

    Raises StoreError, OSError, and ValueError if the recorded commands can't be read.
    """
    commands = await asyncio.to_thread(read_commands, scripts_folder, script.name)
    services = copy(services)
    services.tools = RecordedCommands(services.tools, commands, root)
    services.permissions = _ScriptAllowed()
    workspace = unhurried_workspace(workspace_id, services, ContextPolicy(), scripts_folder)
    conversation = await workspace.create_session()
    try:
        for number, message in enumerate(script.user_messages[:PREPARED_TASKS]):
            on_progress(number, PREPARED_TASKS)
            await conversation.run(message)
            await conversation.checkpoints.wait()
            await conversation.wait_for_background_work()
    finally:
        await conversation.close()
    return conversation.session.id
