"""run_command: runs shell commands in the workspace, each approved verbatim, in a sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import (
    ApprovalRequest,
    AutoRunChange,
    OutputCallback,
    ProtectedPath,
    ToolResult,
    ignore_output,
)
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden
from helix_desktop.permissions.data_loss import find_effects
from helix_desktop.permissions.reading_commands import asked_parts, split_command
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from helix_desktop.permissions.rules import (
    lasting_refusal,
    runs_project_code,
    suggest_command_rules,
)
from helix_desktop.tools.files.jail import IGNORE_FILE, Jail
from helix_desktop.tools.process import ProcessResult, ProcessSpec, held, run_process
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.outer_git import OuterGit, allowed_git, outer_git_note
from helix_desktop.tools.shell.reading_access import ReadingAccess
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_scope import (
    NoSandbox,
    Sandbox,
    SandboxScope,
    confines,
    describe_sandbox,
    describe_unreached,
)
from helix_desktop.tools.shell.scratch import ScratchDir
from helix_desktop.tools.tool import CurrentGrants, Tool

text = TextContext("Tools")

_SHELL_SIGNAL = 128  # a shell, and bubblewrap, end with this and the signal's number
_MAX_NAMED = 8
MAX_TIMEOUT_S = 1_800
_PATH = re.compile(r"""(?<![\w.~/:])(?:~|\.\.)?/[^\s:'"`,;()<>\[\]{}|*?\\\0]+""")
_SEARCHED_BYTES = 64 * 1024  # at the end of an output
_MAX_PATHS = 200


def describe_result(
    result: ProcessResult, timeout_s: int, sandbox_note: str, spill_path: str, hidden: Sequence[str] = ()
) -> str:
    """Return the header of an output, one line; `spill_path` is the file with all of it.

    `hidden` are the paths in it that are there, but not for sandboxed commands. A colon at its end says that
    the lines below it count from 1 (`heads_numbered_lines`).
    """
    notes = "; ".join([sandbox_note, *_left(result), *_cut(result, spill_path), *_hidden(hidden)])
    header = f"{_end(result, timeout_s)} ({' '.join(notes.split())})"
    return f"{header}:\n" if result.output else f"{header}\n(no output)\n"


def _end(result: ProcessResult, timeout_s: int) -> str:
    if result.ending == "late":
        more = f"timeout_s can be up to {MAX_TIMEOUT_S}"
        return f"no exit code: its time limit of {timeout_s} s ended it and all it had started; {more}"
    if result.ending == "stopped":
        return "no exit code: the user stopped it and all it had started; this is its output until then"
    if result.ending == "cut off":
        return "no exit code: its turn ended, and all it had started with it; this is its output until then"
    code = result.exit_code or 0
    if code < 0:
        return f"exit code {code}, ended by {_signal(-code)}"
    if code > _SHELL_SIGNAL and _signal(code - _SHELL_SIGNAL):
        return f"exit code {code}, as after {_signal(code - _SHELL_SIGNAL)}"
    return f"exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _left(result: ProcessResult) -> list[str]:
    if not result.orphan_names:
        return []
    more = (
        f" and {len(result.orphan_names) - _MAX_NAMED} more" if len(result.orphan_names) > _MAX_NAMED else ""
    )
    return [f"left in the background, and ended: {', '.join(result.orphan_names[:_MAX_NAMED])}{more}"]


def paths_in(output: bytes, folder: str, home: str) -> Iterator[str]:
    """Yield the absolute paths that an output names, those below `~` and `..` completed; at most 200."""
    text = output[-_SEARCHED_BYTES:].decode(errors="surrogateescape")
    for name in dict.fromkeys(islice((match[0] for match in _PATH.finditer(text)), _MAX_PATHS)):
        path = home + name[1:] if name.startswith("~") else name
        yield os.path.normpath(os.path.join(folder, path.rstrip(".")))


def _hidden(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    names = ", ".join(escape_hidden_name(path) for path in paths[:_MAX_NAMED])
    advice = "the user can show more of the home folder in Settings > Permissions"
    return [f"hidden by the sandbox: {names}{more}; {advice}"]


def _cut(result: ProcessResult, spill_path: str) -> list[str]:
    if not result.dropped_bytes:
        return []
    cut = f"{result.dropped_bytes:,} bytes in the middle of the output are not shown"
    if not result.spilled_bytes:
        return [f"{cut}, and could not be kept"]
    part = "all" if result.is_spill_complete else f"the first {result.spilled_bytes:,} bytes"
    return [f"{cut}; {part} of it is in {spill_path} until this workspace is closed"]


_DEFAULT_S = 120
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
_MAX_LINKS = 100  # paths of one command that are looked at

CurrentReadingLines = Callable[[], Sequence[str]]
"""Returns the list of reading programs that holds now: the user may change it at any time."""


class RunCommandArguments(Arguments, frozen=True):
    command: str
    folder: str = ""
    timeout_s: Annotated[int, msgspec.Meta(ge=1, le=MAX_TIMEOUT_S)] = _DEFAULT_S
    network: bool = False


class CommandContext(msgspec.Struct, frozen=True):
    """The context of commands: the folder, environment, sandbox, grants, scratch folder and guard.

    `reading_lines` returns the list of reading programs that holds now; empty: all commands are asked about.
    """

    root: Path
    jail: Jail
    environment: Mapping[str, str]
    sandbox_provider: SandboxProvider
    current_grants: CurrentGrants
    scratch: ScratchDir
    guard: AutoRunGuard
    reading: ReadingAccess
    reading_lines: CurrentReadingLines

    @property
    def contains_home(self) -> bool:
        return self.sandbox_provider.home.is_relative_to(self.root)

    def allowed_git(self) -> OuterGit | None:
        """Return the git folders outside of the workspace that the user allowed to be changed. Blocks."""
        return allowed_git(self.root, self.current_grants().git_folders)


class RunCommand(Tool[RunCommandArguments]):
    name = "run_command"
    arguments_type = RunCommandArguments

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def approval_request(self, call_id: str, args: RunCommandArguments) -> ApprovalRequest:
        """Return the approval request of this command. Raises ToolError if it has invisible characters."""
        _check_visible(args.command)
        _check_visible(args.folder or ".")
        refuse_multiline(args.command)
        sandbox, network = await self._active_sandbox(args)
        contains_home = self._context.contains_home
        is_reading = await self._hidden_from_reading(args, sandbox) is not None
        network = network and not is_reading
        confined = confines(sandbox.kind, contains_home, network)
        subject = args.command
        root = str(self._context.root)
        has_folder = bool(args.folder.strip("./"))
        if has_folder and not confined:
            subject = f"{cd_command(args.folder)} && {subject}"
        if network and sandbox.kind != "none":
            subject = f"{subject}  # with network"
        summary = (
            text("Run a command in {folder}.", folder=args.folder)
            if has_folder
            else text("Run a command in the workspace.")
        )
        effect = join_sentences(
            *((text("In {folder}.", folder=args.folder),) if has_folder else ()),
            text("Sandboxed: it can only read the workspace; no network.")
            if is_reading
            else describe_sandbox(sandbox.kind, network, contains_home, sandbox.network_reach),
        )
        details = (
            text("It can also write to a temporary folder.")
            if sandbox.kind != "none" and (is_reading or contains_home)
            else "",
            describe_unreached(network, sandbox.network_reach),
            self._ignore_sentence(),
        )
        in_folder = f"{cd_command(args.folder)} && {subject}" if has_folder and confined else subject
        parts = await self._asked_parts(args) if confined and not is_reading else ()
        offers = suggest_command_rules(subject, confined, exact=in_folder, root=root, asked_parts=parts)
        links: tuple[tuple[str, str], ...] = ()
        protected: tuple[ProtectedPath, ...] = ()
        if not is_reading:
            links = await asyncio.to_thread(_links, root, args.folder, args.command)
            lines = self._context.reading_lines()
            reading = self._context.reading
            protected = await reading.protected_paths(args.command, args.folder, lines)
        asks_for_network = network and sandbox.kind != "none" and not self._context.current_grants().network
        refusal = await asyncio.to_thread(lasting_refusal, args.command, asks_for_network)
        return ApprovalRequest(
            call_id,
            self.name,
            subject,
            summary,
            args.command,
            offers[0],
            kind="command",
            confined=confined,
            suggested_rules=offers,
            folder=args.folder,
            root=root,
            is_sandboxed=sandbox.kind != "none",
            has_network=network,
            links=links,
            is_reading=is_reading,
            asked_parts=parts,
            protected_paths=protected,
            effect=effect,
            effect_details=() if is_reading else tuple(filter(None, details)),
            lasting_refusal=refusal,
        )

    async def _hidden_from_reading(
        self, args: RunCommandArguments, sandbox: Sandbox
    ) -> tuple[Path, ...] | None:
        """Return what is hidden from a command that only reads; None if it is to be asked about.

        That needs a sandbox, and a workspace without the keys of a home.
        """
        context = self._context
        if sandbox.kind == "none" or context.contains_home or args.network:
            return None
        return await context.reading.hidden_paths(args.command, args.folder, context.reading_lines())

    async def _asked_parts(self, args: RunCommandArguments) -> tuple[str, ...]:
        """Return the parts of the command for which rules are enough: the others would run without asking.

        They run as these do, with the workspace to write. So what the user put on the list does not count;
        git, which runs what the repository configures, only beside what runs code of the project anyway; and
        no search from which something would have to be hidden.
        """
        context = self._context
        root = str(self._context.root)
        lines = tuple(line for line in context.reading_lines() if line in DEFAULT_LINES)
        found = asked_parts(args.command, args.folder, root, find_programs(lines))
        if context.contains_home or found is None:
            return ()
        parts, others = found
        if others and await context.reading.hidden_paths(others, args.folder, lines) != ():
            return ()
        has_git = any(simple.words[0].text == "git" for simple in split_command(others) or ())
        return () if has_git and not any(runs_project_code(part, root) for part in parts) else parts

    def _ignore_sentence(self) -> str:
        """Return what holds of a command where an ignore file says what tools may not read."""
        if not self._context.jail.limits.ignore_file.exists:
            return ""
        return text("It can read what {file} excludes: commands can't be held to it.", file=IGNORE_FILE)

    async def run(
        self, call_id: str, args: RunCommandArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Run it to its end. Raises ToolError when it cannot be started."""
        await self._check(args)
        sandbox, network = await self._active_sandbox(args)
        return await self._run(args, sandbox, network, None, on_output)

    async def run_reading(
        self, call_id: str, args: RunCommandArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Run it with the workspace to read only, and without network. Raises ToolError."""
        await self._check(args)
        context = self._context
        sandbox, _ = await self._active_sandbox(args)
        hidden = await self._hidden_from_reading(args, sandbox)
        if hidden is None:
            raise ToolError(
                "The command was not run: it may do more than read by now.",
                "A file, or the user's list of reading commands, has changed meanwhile.",
                "Call it again: the user is asked then.",
            )
        await asyncio.to_thread(context.guard.wait)
        return await self._run(args, sandbox, False, hidden, on_output)

    async def _check(self, args: RunCommandArguments) -> None:
        _check_visible(args.command)
        refuse_multiline(args.command)
        if await asyncio.to_thread(os.path.realpath, self._context.root) != str(self._context.root):
            raise ToolError(
                "The command was not started.",
                "The workspace's folder was replaced by a link to another place.",
                "Tell the user; nothing can be run here until the folder is back.",
            )

    async def _run(
        self,
        args: RunCommandArguments,
        sandbox: Sandbox,
        network: bool,
        hidden: tuple[Path, ...] | None,
        on_output: OutputCallback,
    ) -> ToolResult:
        """Run a command; one that only reads sees nothing of `hidden`, and changes nothing."""
        try:
            async with held(self._prepared(args, sandbox, network, hidden)) as (spec, scope, spill_path):
                guarded: AbstractAsyncContextManager[Sequence[AutoRunChange]] = (
                    self._guarded(sandbox, scope) if hidden is None else nullcontext(())
                )
                async with guarded as changes:
                    result = await run_process(
                        spec, args.timeout_s, on_output=on_output, spill_path=spill_path
                    )
        except OSError as error:
            raise ToolError("The command could not be started.", f"{error.strerror}.") from error
        unseen: tuple[str, ...] = ()
        if result.exit_code and sandbox.kind != "none":
            folder = os.path.join(self._context.root, args.folder)
            unseen = await asyncio.to_thread(_hidden_paths, result.output, folder, scope)
        access = "not sandboxed"
        if hidden is not None:
            access = "sandboxed to read only, no network"
        elif sandbox.kind != "none":
            access = "sandboxed" if network else "sandboxed, no network"
        shown_path = Path("/tmp", spill_path.name) if sandbox.kind == "bubblewrap" else spill_path
        git_note = ""
        if sandbox.kind != "none" and scope.outer_git is None:
            git_note = await asyncio.to_thread(
                outer_git_note, self._context.root, result.output, sandbox.kind
            )
        notes = (access, *filter(None, (git_note,)))
        head = describe_result(result, args.timeout_s, "; ".join(notes), str(shown_path), unseen)
        return ToolResult(
            head.encode(errors="surrogateescape") + result.output,
            result.exit_code == 0,
            result.exit_code,
            args.command,
            auto_run=tuple(changes),
        )

    @asynccontextmanager
    async def _guarded(self, sandbox: Sandbox, scope: SandboxScope) -> AsyncIterator[list[AutoRunChange]]:
        """Run a command inside; yield what then holds what it changed that runs by itself.

        What is not sandboxed could change anything anywhere: the user allowed just that, and nothing of it is
        taken out.
        """
        changes: list[AutoRunChange] = []
        guard = self._context.guard
        is_confined = sandbox.kind != "none"
        before = await asyncio.to_thread(guard.begin, is_confined, scope.unreadable)
        is_over = False
        try:
            yield changes
            is_over = True
        finally:
            ending = asyncio.get_running_loop().run_in_executor(None, guard.end, before, is_confined)
            while not ending.done():
                try:
                    await asyncio.wait([ending])
                except asyncio.CancelledError:  # nothing else may run before it is done
                    is_over = False
            changes += ending.result()
            if not is_over:
                await asyncio.shield(asyncio.to_thread(guard.report_later, changes))

    async def _active_sandbox(self, args: RunCommandArguments) -> tuple[Sandbox, bool]:
        """Return the active sandbox, and whether the network is open in it."""
        grants = self._context.current_grants()
        if not grants.sandbox:
            return NoSandbox(), True
        sandbox = await self._context.sandbox_provider.detect()
        return sandbox, grants.network or args.network or sandbox.kind == "none"

    @contextmanager
    def _prepared(
        self,
        args: RunCommandArguments,
        sandbox: Sandbox,
        network: bool,
        hidden: tuple[Path, ...] | None,
    ) -> Iterator[tuple[ProcessSpec, SandboxScope, Path]]:
        """Yield the process to start, valid inside the block, and a file for too large output; blocks."""
        context = self._context
        with context.jail.hold_folder(args.folder or ".") as folder:
            if folder.file_name:
                raise ToolError(f"{args.folder} is a file.", fix="folder names a folder to run in.")
            command = args.command if os.name == "nt" else [shell_path(), "-c", args.command]
            environment = context.environment if hidden is None else context.reading.environment
            spec = ProcessSpec(command, folder.cwd, environment, is_guarded=True)
            scratch = context.scratch
            scope = context.sandbox_provider.scope_for(
                context.root, scratch.folder(), scratch.private_folder()
            )
            if sandbox.kind == "bubblewrap":
                git = context.allowed_git()
                # Git would take what it doesn't see of a checkout for deleted, and commit that.
                if git is not None and not scope.hides(git.top):
                    scope = replace(scope, outer_git=git)
            if hidden is not None:
                scope = replace(scope, is_read_only=True, hidden=(*scope.hidden, *hidden))
            with sandbox.wrap(spec, scope, network) as confined:
                yield confined, scope, context.scratch.new_file()


def _check_visible(command: str) -> None:
    if not command.strip():
        raise ToolError("command is empty.")
    hidden = first_hidden(command)  # it would make the command look like another one in the approval
    if hidden:
        raise ToolError(
            f"The command was refused: it holds the invisible sign U+{ord(hidden):04X}.",
            "The user could not see what they approve.",
            "Write it without, or as an escape in quotes.",
        )


def _links(root: str, folder: str, command: str) -> tuple[tuple[str, str], ...]:
    """Return the paths that a command writes through links, and where in the workspace these lead."""
    paths = find_effects(command, None, folder, root).changed[:_MAX_LINKS]
    real_paths = (
        (path, os.path.relpath(os.path.realpath(os.path.join(root, path)), root))
        for path in paths
        if "\0" not in path
    )
    return tuple((path, real) for path, real in real_paths if path != real and not real.startswith(".."))


def _hidden_paths(output: bytes, folder: str, scope: SandboxScope) -> tuple[str, ...]:
    """Return the paths in an output that are there, but hidden from sandboxed commands; blocks."""
    paths = paths_in(output, folder, str(scope.home))
    found = (path for path in paths if os.path.lexists(path) and scope.hides(Path(os.path.realpath(path))))
    return tuple(dict.fromkeys(found))


def refuse_multiline(command: str, windows: bool = os.name == "nt") -> None:
    """Raise ToolError for several lines on Windows: cmd.exe silently runs only the first."""
    if windows and "\n" in command.strip():
        raise ToolError(
            "The command was refused: it has several lines.",
            "Commands are run by cmd.exe, which would run the first line only.",
            "Join them with &&, or write them into a .cmd or .ps1 file and run that.",
        )


def cd_command(folder: str, windows: bool = os.name == "nt") -> str:
    return f'cd /d "{folder}"' if windows else f"cd {shlex.quote(folder)}"


def shell_path() -> str:
    if os.name == "nt":
        return "cmd.exe"
    return next((shell for shell in _SHELLS if Path(shell).exists()), "/bin/sh")
