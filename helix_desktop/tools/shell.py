"""Running commands in the workspace, each asked for in its exact words, held back by a sandbox."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.permission import command_offers
from helix_desktop.context.signs import first_hidden
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.grants import Granted
from helix_desktop.tools.jail import Jail
from helix_desktop.tools.process import Launch, Ran, run_process
from helix_desktop.tools.ran import said
from helix_desktop.tools.sandbox import NoSandbox, Sandbox, holds, told
from helix_desktop.tools.sandboxes import Sandboxes
from helix_desktop.tools.scratch import Scratch

_DEFAULT_S, _MOST_S = 120, 1_800
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")


class RunCommandArguments(Arguments, frozen=True):
    """What run_command takes; `folder` is where it runs, `network` asks for a way out of the sandbox."""

    command: str
    folder: str = ""
    timeout_s: Annotated[int, msgspec.Meta(ge=1, le=_MOST_S)] = _DEFAULT_S
    network: bool = False


@dataclass(frozen=True)
class Ground:
    """Where commands run: the workspace's folder, what holds them back, and where they put files aside."""

    root: Path
    jail: Jail
    sandboxes: Sandboxes
    granted: Granted
    scratch: Scratch


class RunCommand:
    """Runs a command by the system's shell, in a folder of the workspace."""

    def __init__(self, ground: Ground, environment: Mapping[str, str]) -> None:
        self._ground, self._environment = ground, environment

    async def ask(self, call_id: str, given: RunCommandArguments) -> ApprovalAsk:
        """May exactly this command run? Raises ToolError for a command that hides what it is."""
        _check(given.command)
        _check(given.folder or ".")
        check_lines(given.command)
        sandbox, network = await self._walls(given)
        cell = await asyncio.to_thread(self._ground.sandboxes.cell, self._ground.root, self._ground.root)
        confined = holds(sandbox.kind, cell, network)
        subject = given.command
        if given.folder.strip("./") and not confined:
            subject = f"{into(given.folder)} && {subject}"
        if network and sandbox.kind != "none":
            subject = f"{subject}  # with network"
        where = f" in {given.folder}" if given.folder.strip("./") else " in the workspace"
        summary = f"Run a command{where}. {told(sandbox.kind, network, cell.holds_home)}"
        offers = command_offers(subject, confined)
        return ApprovalAsk(
            *(call_id, "run_command", subject, summary, given.command, offers[0]),
            kind="command",
            confined=confined,
            offers=offers,
        )

    async def run(self, call_id: str, given: RunCommandArguments, told: Progress = unheard) -> ToolResult:
        """Run it to its end. Raises ToolError when it cannot be started."""
        _check(given.command)
        check_lines(given.command)
        if await asyncio.to_thread(os.path.realpath, self._ground.root) != str(self._ground.root):
            raise ToolError(
                "The command was not started.",
                "The workspace's folder was replaced by a link to another place.",
                "Tell the person; nothing can be run here until the folder is back.",
            )
        sandbox, network = await self._walls(given)
        held = self._launched(given, sandbox, network)
        try:
            launch, aside = await asyncio.to_thread(held.__enter__)
            try:
                ran = await run_process(launch, given.timeout_s, told=told, aside=aside)
            finally:
                await asyncio.to_thread(held.__exit__, None, None, None)
        except OSError as error:
            raise ToolError("The command could not be started.", f"{error.strerror}.") from error
        return self._result(given, ran, sandbox, network, aside)

    async def _walls(self, given: RunCommandArguments) -> tuple[Sandbox, bool]:
        """The sandbox that holds now, and whether the network is open in it."""
        grants = self._ground.granted()
        if not grants.sandbox:
            return NoSandbox(), True
        sandbox = await self._ground.sandboxes.best()
        return sandbox, grants.network or given.network or sandbox.kind == "none"

    @contextmanager
    def _launched(
        self, given: RunCommandArguments, sandbox: Sandbox, network: bool
    ) -> Iterator[tuple[Launch, Path]]:
        """How to start it, good inside the block, and a file for output that is too large; blocks."""
        ground = self._ground
        with ground.jail.place(given.folder or ".") as place:
            if place.name:
                raise ToolError(f"{given.folder} is a file.", fix="folder names a folder to run in.")
            command = given.command if os.name == "nt" else [_shell(), "-c", given.command]
            launch = Launch(command, place.cwd, self._environment, guarded=True)
            cell = ground.sandboxes.cell(ground.root, ground.scratch.folder())
            with sandbox.within(launch, cell, network) as confined:
                yield confined, ground.scratch.new_file()

    def _result(
        self, given: RunCommandArguments, ran: Ran, sandbox: Sandbox, network: bool, aside: Path
    ) -> ToolResult:
        seen = Path("/tmp", aside.name) if sandbox.kind == "bubblewrap" else aside
        walls = (
            "not sandboxed" if sandbox.kind == "none" else "sandboxed" if network else "sandboxed, no network"
        )
        head = said(ran, given.timeout_s, walls, str(seen)).encode()
        return ToolResult(head + ran.output, ran.exit_code == 0, ran.exit_code, given.command)


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


def check_lines(command: str, windows: bool = os.name == "nt") -> None:
    """Refuse what cmd.exe would cut off without a word: it runs the first line of a command."""
    if windows and "\n" in command.strip():
        raise ToolError(
            "The command was refused: it has several lines.",
            "Commands are run by cmd.exe, which would run the first line only.",
            "Join them with &&, or write them into a .cmd or .ps1 file and run that.",
        )


def into(folder: str, windows: bool = os.name == "nt") -> str:
    """The words by which the system's shell goes into a folder."""
    return f'cd /d "{folder}"' if windows else f"cd {shlex.quote(folder)}"


def _shell() -> str:
    return next((shell for shell in _SHELLS if Path(shell).exists()), "/bin/sh")
