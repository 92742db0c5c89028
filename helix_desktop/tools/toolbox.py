"""The agent's tools of one workspace, behind one door: told, asked about, run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from helix_desktop.context.errors import ToolError
from helix_desktop.context.message import ToolCall, ToolSpec
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments, parse, schema
from helix_desktop.tools.base import Tool
from helix_desktop.tools.edit import EditFile, EditFileArguments, WriteFile, WriteFileArguments
from helix_desktop.tools.environment import clean
from helix_desktop.tools.files import ListDirectory, ListDirectoryArguments, ReadFile, ReadFileArguments
from helix_desktop.tools.jail import Jail
from helix_desktop.tools.jail_paths import PathJail
from helix_desktop.tools.jail_posix import DescriptorJail
from helix_desktop.tools.paths import startup_files
from helix_desktop.tools.recall import Cache, Count, RecallArguments, RecallCachedContent
from helix_desktop.tools.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.search import SearchText, SearchTextArguments
from helix_desktop.tools.search_cache import SearchCacheArguments, SearchCachedContent
from helix_desktop.tools.shell import RunCommand, RunCommandArguments

Args = TypeVar("Args", bound=Arguments)


@dataclass(frozen=True)
class _Slot(Generic[Args]):
    """A tool under its name, with the type of its arguments."""

    name: str
    kind: type[Args]
    tool: Tool[Args]

    async def ask(self, call: ToolCall) -> ApprovalAsk | None:
        """The tool's question for this call."""
        return await self.tool.ask(call.id, parse(self.name, call.arguments, self.kind))

    async def run(self, call: ToolCall, told: Progress) -> ToolResult:
        """The tool's answer to this call."""
        return await self.tool.run(call.id, parse(self.name, call.arguments, self.kind), told)


class Toolbox:
    """The tools of the workspace at `root`.

    `descriptions` holds one Markdown file per tool; `count` counts tokens of texts; `protected` paths are
    neither read nor written (the program's own data). Files that the system obeys unasked, such as
    `.git/hooks`, are never written. `environ` (the process's own by default) is what commands inherit,
    cleaned of secrets.
    """

    def __init__(
        self,
        root: Path,
        store: Cache,
        descriptions: Path,
        count: Count,
        protected: tuple[Path, ...] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environment = clean(os.environ if environ is None else environ)
        jail = open_jail(root, protected)
        ripgrep = Ripgrep(find_ripgrep(), environment)
        slots = (
            _Slot("read_file", ReadFileArguments, ReadFile(jail)),
            _Slot("list_directory", ListDirectoryArguments, ListDirectory(jail)),
            _Slot("search_text", SearchTextArguments, SearchText(jail, ripgrep)),
            _Slot("write_file", WriteFileArguments, WriteFile(jail)),
            _Slot("edit_file", EditFileArguments, EditFile(jail)),
            _Slot("run_command", RunCommandArguments, RunCommand(root.resolve(), environment)),
            _Slot("recall_cached_content", RecallArguments, RecallCachedContent(store, count, ripgrep)),
            _Slot("search_cached_content", SearchCacheArguments, SearchCachedContent(store, count)),
        )
        self._slots: dict[str, _Slot[Any]] = {slot.name: slot for slot in slots}
        self._specs = tuple(_spec(slot.name, slot.kind, descriptions) for slot in slots)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order."""
        return self._specs

    async def approval(self, call: ToolCall) -> ApprovalAsk | None:
        """The question a call raises before it may run; None when it needs no approval.

        Raises ToolError when the call is refused whatever the person says.
        """
        return await self._slot(call).ask(call)

    async def run(self, call: ToolCall, told: Progress = unheard) -> ToolResult:
        """Run a call; `told` hears its output while it runs. Raises ToolError with what the agent is told.

        Cancelling ends what was started; with the message STOPPED, what there is so far may be the answer.
        """
        return await self._slot(call).run(call, told)

    def _slot(self, call: ToolCall) -> _Slot[Any]:
        try:
            return self._slots[call.name]
        except KeyError:
            names = ", ".join(self._slots)
            raise ToolError(f"There is no tool {call.name[:80]!r}.", fix=f"The tools are: {names}.") from None


def open_jail(root: Path, protected: tuple[Path, ...] = ()) -> Jail:
    """The strictest jail that this system offers for a workspace folder."""
    unwritable = startup_files(Path.home())
    if os.open in os.supports_dir_fd and os.scandir in os.supports_fd:
        return DescriptorJail(root, protected, unwritable)
    return PathJail(root, protected, unwritable)


def _spec(name: str, kind: type[Arguments], folder: Path) -> ToolSpec:
    told, said = describe((folder / f"{name}.md").read_text(encoding="utf-8"))
    return ToolSpec(name, told, schema(kind, said))


def describe(text: str) -> tuple[str, dict[str, str]]:
    """A tool's description file: what it says of the tool, and of each argument (lines `- name: text`)."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line[2:].partition(": ") for line in lines if line.startswith("- ") and ": " in line]
    told = " ".join(line for line in lines if line and not line.startswith("- "))
    return told, {name: said for name, _, said in pairs}
