"""The interface of tools: registry, errors, a workspace's grants."""

from __future__ import annotations

import errno
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic

import msgspec

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.errors import InvalidInput, StoreError, ToolError, UnknownTool
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tool_arguments import Args, Arguments, parse, schema
from helix_desktop.domain.tools import AllowedCall, ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_undecodable

_WHY = {
    errno.ENOENT: "There is no such file or folder.",
    errno.ENOTDIR: "A part of the path is a file, not a folder.",
    errno.EISDIR: "It is a folder, not a file.",
    errno.EACCES: "The system does not permit it.",
    errno.EPERM: "The system does not permit it.",
    errno.EROFS: "The disk is read-only.",
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "The disk quota is used up.",
    errno.ELOOP: "It changed into a link while it was being opened.",
    errno.ENAMETOOLONG: "The name is too long for this disk.",
    errno.EILSEQ: "This disk cannot hold such a name.",
}


class PathRefused(ToolError):
    """A path leads, or might lead, out of the workspace, or to what no tool may read."""


def path_refused(path: str, why: str) -> PathRefused:
    """Return the error for a path that leads, or might lead, out of the workspace."""
    return PathRefused(
        f"'{escape_undecodable(path)}' was refused: {why}",
        fix="Use a path inside the workspace, relative to its top folder, such as src/main.py.",
    )


@contextmanager
def os_errors_as_tool_errors(action: str, path: str) -> Iterator[None]:
    """Turn an OSError of the block into the ToolError "Cannot <action> <path>"."""
    try:
        yield
    except OSError as error:
        why = _WHY.get(error.errno or 0, f"{error.strerror or error}.")
        fix = "List the folder above it to see what is there." if error.errno == errno.ENOENT else ""
        name = escape_undecodable(path) or "the workspace"
        raise ToolError(f"Cannot {action} {name}.", why, fix) from error


@contextmanager
def store_errors_as_tool_errors() -> Iterator[None]:
    """Turn an error of the store in the block into a ToolError with the same texts."""
    try:
        yield
    except (StoreError, InvalidInput) as error:
        raise ToolError(error.what, error.why, error.fix) from error


class ToolGrants(msgspec.Struct, frozen=True):
    """What tools may do: `sandbox`: commands run in a sandbox if the system has one; `network`: with network.

    `fetch`: there is a tool that fetches web pages; each host needs approval. `git_folders`: git folders
    outside of the workspace, links resolved, in which git may write what ordinary work changes.
    """

    sandbox: bool = True
    network: bool = False
    fetch: bool = False
    git_folders: tuple[str, ...] = ()


CurrentGrants = Callable[[], ToolGrants]
"""Returns the grants that hold now: the user may change them at any time."""


_SECRET = re.compile(
    r"(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|BEARER)|_KEY$|_PAT$|_PWD$"
    r"|^(AUTH|AUTHORIZATION|DATABASE_URL)$",
    re.IGNORECASE,
)
# What a frozen program or this window sets for itself would break other programs.
_OWN_VARIABLES = re.compile(
    r"LD_LIBRARY_PATH|LD_PRELOAD|DYLD_.*|QT_.*|QML.*|_MEIPASS.*|_PYI_.*|PYTHONHOME|HELIX_.*"
)
_ORIGINAL = "_ORIG"
_NON_INTERACTIVE = {
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PYTHONIOENCODING": "utf-8",
    "TERM": "dumb",
}


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` without secrets and our own variables, set for non-interactive use.

    Where PyInstaller saved the user's value (NAME_ORIG), that is restored.
    """
    cleaned = {
        name: value
        for name, value in environ.items()
        if not _SECRET.search(name) and not _OWN_VARIABLES.fullmatch(name)
    }
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        original = environ.get(name + _ORIGINAL)
        cleaned.pop(name + _ORIGINAL, None)
        if original:
            cleaned[name] = original
    return cleaned | _NON_INTERACTIVE


class Tool(ABC, Generic[Args]):
    """One thing the agent can do, under a name, with arguments of one type."""

    name: ClassVar[str]
    arguments_type: ClassVar[type[Arguments]]

    def __init_subclass__(cls) -> None:
        """Raise TypeError for a tool without a description: its calls would be read as another agent's."""
        super().__init_subclass__()
        if "name" in cls.__dict__ and cls.name not in BUILTIN_TOOLS:
            raise TypeError(f"{cls.name} is not described in domain/builtin_tools.py")

    @property
    def is_offered(self) -> bool:
        return True

    @abstractmethod
    async def approval_request(self, call_id: str, args: Args) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None when that is nothing. Raises ToolError."""

    @abstractmethod
    async def run(self, call_id: str, args: Args, on_output: OutputCallback) -> ToolResult:
        """Run the call; `on_output` gets the output while it arrives. Raises ToolError."""

    async def run_reading(self, call_id: str, args: Args, on_output: OutputCallback) -> ToolResult:
        """Run a call that was allowed because it only reads, so that it can't do more. Raises ToolError."""
        raise ToolError(f"{self.name} was not run: it can't be held to reading.")


class UnguardedTool(Tool[Args]):
    """A tool that changes nothing and needs no approval."""

    async def approval_request(self, call_id: str, args: Args) -> ApprovalRequest | None:
        return None


class ToolRegistry:
    """Tools by their names; `descriptions` holds one Markdown file per tool.

    Without tools it is that of a workspace whose folder is missing, and refuses every call.
    """

    def __init__(self, tools: Sequence[Tool[Any]] = (), descriptions: Path = Path()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs = {tool.name: spec_of(type(tool), descriptions) for tool in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, always in the same order."""
        return tuple(self._specs[name] for name, tool in self._tools.items() if tool.is_offered)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        tool = self._find(call)
        return await tool.approval_request(call.id, parse(tool.name, call.arguments, tool.arguments_type))

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        tool = self._find(call)
        arguments = parse(tool.name, call.arguments, tool.arguments_type)
        if isinstance(call, AllowedCall) and call.is_reading:
            return await tool.run_reading(call.id, arguments, on_output)
        return await tool.run(call.id, arguments, on_output)

    def _find(self, call: ToolCall) -> Tool[Any]:
        if not self._tools:
            raise ToolError("This workspace is open for reading only.", "Its folder is not there.")
        try:
            return self._tools[call.name]
        except KeyError:
            raise UnknownTool(call.name, self._tools) from None


@cache
def spec_of(tool: type[Tool[Any]], descriptions: Path) -> ToolSpec:
    description, argument_descriptions = parse_description(description_of(tool.name, descriptions))
    return ToolSpec(tool.name, description, schema(tool.arguments_type, argument_descriptions))


def description_of(name: str, folder: Path, windows: bool = os.name == "nt") -> str:
    """Return the text of a tool's description file; some tools have another one for Windows."""
    windows_path = folder / f"{name}-windows.md"
    path = windows_path if windows and windows_path.is_file() else folder / f"{name}.md"
    return path.read_text(encoding="utf-8")


def parse_description(text: str) -> tuple[str, dict[str, str]]:
    """Parse a description file into the tool's text and each argument's (lines `- name: text`)."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line[2:].partition(": ") for line in lines if line.startswith("- ") and ": " in line]
    description = " ".join(line for line in lines if line and not line.startswith("- "))
    return description, {name: argument_text for name, _, argument_text in pairs}
