"""The registry of the agent's tools in one workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from helix_desktop.domain.messages import ToolSpec
from helix_desktop.tools.access import ToolAccess
from helix_desktop.tools.cache.port import Cache, CountTokens
from helix_desktop.tools.cache.registry import cache_tools
from helix_desktop.tools.files.edit import (
    EditFile,
    MultiEdit,
    MultiEditArguments,
    WriteFile,
    WriteFileArguments,
)
from helix_desktop.tools.files.find import FindFiles, FindFilesArguments
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.files.jail_windows import WindowsJail
from helix_desktop.tools.files.paths import startup_files
from helix_desktop.tools.files.read import ListDirectory, ListDirectoryArguments, ReadFile, ReadFileArguments
from helix_desktop.tools.files.replace import Edit
from helix_desktop.tools.files.search_text import SearchText, SearchTextArguments
from helix_desktop.tools.process.environment import clean_environment
from helix_desktop.tools.process.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.registry import RegisteredTool, ToolRegistry
from helix_desktop.tools.shell.run_command import CommandContext, RunCommand, RunCommandArguments
from helix_desktop.tools.shell.scratch import ScratchDir
from helix_desktop.tools.todo import Todo, TodoArguments
from helix_desktop.tools.web.fetch_url import NAME as FETCH
from helix_desktop.tools.web.fetch_url import FetchUrl, FetchUrlArguments


class WorkspaceTools(ToolRegistry):
    """The tools of the workspace at `root`.

    `descriptions` holds one Markdown file per tool; `count_tokens` counts tokens; `protected` paths are
    neither read nor written (the program's own data). Files that the system obeys unasked, such as
    `.git/hooks`, are never written. `environ` (the process's own by default) is what commands inherit,
    cleaned of secrets; `access` holds the sandbox (none by default) and the fetcher of pages.
    """

    def __init__(
        self,
        root: Path,
        store: Cache,
        descriptions: Path,
        count_tokens: CountTokens,
        protected: tuple[Path, ...] = (),
        environ: Mapping[str, str] | None = None,
        access: ToolAccess | None = None,
    ) -> None:
        access = access or ToolAccess()
        environment = clean_environment(os.environ if environ is None else environ)
        jail = open_jail(root, protected)
        command_context = CommandContext(
            root.resolve(), jail, access.sandbox_provider, access.current_grants, ScratchDir()
        )
        ripgrep = Ripgrep(find_ripgrep(), environment)
        tools = (
            RegisteredTool("read_file", ReadFileArguments, ReadFile(jail)),
            RegisteredTool("list_directory", ListDirectoryArguments, ListDirectory(jail)),
            RegisteredTool("find_files", FindFilesArguments, FindFiles(jail, ripgrep)),
            RegisteredTool("search_text", SearchTextArguments, SearchText(jail, ripgrep)),
            RegisteredTool("write_file", WriteFileArguments, WriteFile(jail)),
            RegisteredTool("edit_file", Edit, EditFile(jail)),
            RegisteredTool("multi_edit", MultiEditArguments, MultiEdit(jail)),
            RegisteredTool("run_command", RunCommandArguments, RunCommand(command_context, environment)),
            RegisteredTool("todo", TodoArguments, Todo()),
            *(
                (RegisteredTool(FETCH, FetchUrlArguments, FetchUrl(*access.web, access.current_grants)),)
                if access.web
                else ()
            ),
        )
        self._current_grants = access.current_grants
        super().__init__((*tools, *cache_tools(store, count_tokens, ripgrep)), descriptions)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, always in the same order; no fetch_url where it is off."""
        fetch = self._current_grants().fetch
        return tuple(spec for spec in super().specs if fetch or spec.name != FETCH)


def open_jail(root: Path, protected: tuple[Path, ...] = ()) -> Jail:
    """Return the strictest jail that this system offers for a workspace folder."""
    unwritable = startup_files(Path.home())
    if os.open in os.supports_dir_fd and os.scandir in os.supports_fd:
        return PosixJail(root, protected, unwritable)
    return WindowsJail(root, protected, unwritable)
