"""Running commands in the workspace, each asked for in its exact words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.permission import command_offers
from helix_desktop.context.signs import first_hidden
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.process import Launch, Ran, run_process

_DEFAULT_S, _MOST_S = 120, 1_800
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


class RunCommandArguments(Arguments, frozen=True):
    """What run_command takes."""

    command: str
    timeout_s: Annotated[int, msgspec.Meta(ge=1, le=_MOST_S)] = _DEFAULT_S


class RunCommand:
    """Runs a command by the system's shell, in the workspace's top folder."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root, self._environment = root, environment

    async def ask(self, call_id: str, given: RunCommandArguments) -> ApprovalAsk:
        """May exactly this command run? Raises ToolError for a command that hides what it is."""
        _check(given.command)
        command, offers = given.command, command_offers(given.command, confined=False)
        return ApprovalAsk(
            *(call_id, "run_command", command, "Run a command in the workspace", command, offers[0]),
            kind="command",
            offers=offers,
        )

    async def run(self, call_id: str, given: RunCommandArguments, told: Progress = unheard) -> ToolResult:
        """Run it to its end. Raises ToolError when it cannot be started."""
        _check(given.command)
        if await asyncio.to_thread(os.path.realpath, self._root) != str(self._root):
            raise ToolError(
                "The command was not started.",
                "The workspace's folder was replaced by a link to another place.",
                "Tell the person; nothing can be run here until the folder is back.",
            )
        command = given.command if os.name == "nt" else [_shell(), "-c", given.command]
        try:
            ran = await run_process(
                Launch(command, str(self._root), self._environment, guarded=True), given.timeout_s
            )
        except OSError as error:
            raise ToolError("The command could not be started.", f"{error.strerror}.") from error
        said = _said(ran, given.timeout_s).encode()
        return ToolResult(said + ran.output, ran.exit_code == 0, ran.exit_code, given.command)


def _check(command: str) -> None:
    if not command.strip():
        raise ToolError("command is empty.")
    hidden = first_hidden(command)  # it would make the command look like another one to who approves it
    if hidden:
        raise ToolError(
            f"The command was refused: it holds the invisible sign U+{ord(hidden):04X}.",
            "A person could not see what they approve.",
            "Write it without, or as an escape in quotes.",
        )


def _shell() -> str:
    return next((shell for shell in _SHELLS if Path(shell).exists()), "/bin/sh")


def _said(ran: Ran, timeout_s: int) -> str:
    if ran.exit_code is None:
        head = f"no exit code: ended with all it had started after {timeout_s} s, its time limit"
    elif ran.exit_code < 0:
        head = f"exit code {ran.exit_code} (ended by signal {-ran.exit_code})"
    else:
        head = f"exit code {ran.exit_code}"
    left = "\n(processes it left in the background were ended)" if ran.left_behind else ""
    cut = f"\n({ran.dropped:,} bytes in the middle of the output were dropped)" if ran.dropped else ""
    return f"{head}{left}{cut}\n" + ("" if ran.output else "(no output)\n")
