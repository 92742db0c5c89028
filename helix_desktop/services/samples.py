"""The sample projects: copied from the resources, opened with a played session, with a Python of their own.

A built app lends them its own Python, because a system may have none. Their commands say `python3`;
`resources/demo/bin` holds a program of that name, which starts this app again.

The session that a sample opens with: the first tasks of its script, played by the engine at first opening.
The demo model, the files, the window and the file history are real; only what commands print is recorded, so
that nothing runs before the user sends a message. A test records it, and fails if they print something else.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import shutil
import sys
import tempfile
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from copy import copy
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Tools
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import HelixError
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
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.providers.demo.model import DEMO_LABEL, DemoModel
from helix_desktop.providers.demo.script import Script
from helix_desktop.services.app_command import app_command, is_frozen
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry
from helix_desktop.workspaces.saved_rules import DEMO_RULES

text = TextContext("Services")

_PROGRAM = "SAMPLE_PROGRAM"  # what resources/demo/bin/python3 starts
_USAGE = "sample-python: give -m MODULE, -c TEXT or a file, and arguments\n"


def with_sample_python(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a sample's commands, in which there is a `python3`.

    A built app's own comes before the system's, which on macOS and Windows may be a mere offer to install
    one. Elsewhere, and in an AppImage, which no sandbox can start, it comes after.
    """
    path = environ.get("PATH", os.defpath)
    if not is_frozen():
        return {**environ, "PATH": os.pathsep.join((path, str(Path(sys.executable).parent)))}
    program = app_command()[0]
    folders = (str(resources_dir() / "demo" / "bin"), path)
    if program != sys.executable:
        folders = folders[::-1]
    return {**environ, "PATH": os.pathsep.join(folders), _PROGRAM: program}


def run_sample_python(argv: Sequence[str]) -> int:
    """Run `python3 ARGS` as far as samples need it, -m MODULE, -c TEXT or a file; return the exit code."""
    try:
        match list(argv):
            case ["-m", module, *rest]:
                _run_as_main([module, *rest], os.getcwd())
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case ["-c", text, *rest]:
                _run_as_main(["-c", *rest], os.getcwd())
                exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
            case [file, *rest] if not file.startswith("-"):
                _run_as_main([file, *rest], os.path.dirname(os.path.abspath(file)))
                runpy.run_path(file, run_name="__main__")
            case _:
                sys.stderr.write(_USAGE)
                return 2
    except Exception:  # noqa: BLE001 - whatever the sample's code raises ends it, as it would end Python
        traceback.print_exc()
        return 1
    return 0


def _run_as_main(argv: list[str], folder: str) -> None:
    sys.argv[:] = argv
    sys.path.insert(0, folder)


PREPARED_TASKS = 7
"""The tasks of the script that are done when the sample opens; the next one is offered to the user.

Checkpoints come from the first on, facts after the third, the handover in the seventh, all by the shares of
the default policy.
"""

_PLAYED_POLICY = msgspec.structs.replace(ContextPolicy(), handover_cooldown_s=0)
"""The default policy without its waits: tasks of an hour are played in seconds.

With them the handover would update a summary of the first task alone.
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
        self._tools = tools
        self._commands = list(commands)
        self._root = root

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
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
        self._model = model
        self._wait = wait

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
    workspace = unhurried_workspace(workspace_id, services, _PLAYED_POLICY, scripts_folder)
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


SAMPLES = ("tidewatch", "pagemill")


def add_sample(registry: WorkspaceRegistry, folder: Path, name: str) -> WorkspaceRecord:
    """Copy a sample project under `folder` unless it is there, and list it.

    In the copy the demo model asks before it changes or runs something, to show how that looks, and one
    answer may let its whole script run. A folder that was there before is nobody's copy: each call in it is
    asked about. Raises HelixError when the copy cannot be made.
    """
    path = folder / name
    copied = not os.path.lexists(path)
    try:
        if copied:
            folder.mkdir(parents=True, exist_ok=True)
            copy_project(resources_dir() / "demo" / name, path)
    except OSError as error:
        raise HelixError(
            text("The sample project couldn't be copied."),
            system_reason(error),
            text("Free up space in {folder}, or check its permissions.", folder=str(folder)),
        ) from error
    existing = registry.find_by_path(path)
    record = registry.add(path, demo=True, trusted=copied)
    if existing is None:
        record = registry.change(record.id, demo_calls="once" if copied else "ask", model=DEMO_LABEL)
    return record


def copy_project(source: Path, place: Path) -> None:
    """Copy a folder; it is there as a whole or not at all, also when the app ends half-way."""
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as staging:
        copy = Path(staging) / place.name
        # What tools leave in a checkout's folder is no part of the sample.
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        for path in (copy, *copy.rglob("*")):  # the program may lie where nothing may be written
            path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))
        copy.rename(place)
