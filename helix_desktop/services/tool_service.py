"""The tools of a workspace, with the grants that the user gave them."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from helix_desktop.agent.ports import AutoRunStore, FileReader, FileVersionChecker, LineSearch
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.domain.file_history.diff import PatchFile
from helix_desktop.domain.store import ContentReader
from helix_desktop.domain.tools import AutoRunChange, CountTokens
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.permissions.home_folder import DEFAULT_HOME_NAMES
from helix_desktop.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.providers.http import fetch_page
from helix_desktop.services.instructions import INSTRUCTIONS_FILE
from helix_desktop.services.message_files import FileIndex
from helix_desktop.services.samples import with_sample_python
from helix_desktop.tools.cache.origins import CallingSession
from helix_desktop.tools.cache.recall import RegexLineSearch
from helix_desktop.tools.environment import WorkspaceEnvironment
from helix_desktop.tools.fetch_url import HttpReply
from helix_desktop.tools.files.attach import JailedFileReader
from helix_desktop.tools.files.file_versions import JailedFileVersionChecker
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.outer_git import allowed_git, find_outer_git
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.shell.sandbox_scope import (
    NoSandbox,
    Sandbox,
    confines,
    describe_sandbox,
    describe_unreached,
)
from helix_desktop.tools.shell.scratch import temporary_base
from helix_desktop.tools.tool import ToolGrants, ToolRegistry, clean_environment
from helix_desktop.tools.workspace_tools import (
    ToolSetup,
    create_session_tools,
    create_workspace_tools,
    open_jail,
)
from helix_desktop.workspaces.registry import Grant, WorkspaceRegistry

text = TextContext("Services")

NO_SANDBOX_ADVICE = (
    text("Install bubblewrap to sandbox commands.")
    if sys.platform == "linux"
    else text("No sandbox is available on this system.")
)

SAVED_CHANGES_FOLDER = "taken-out"
"""The folder in a workspace's data that holds the changes of commands that were taken out."""


class WebFetcher:
    async def get(self, url: str, address: str, max_bytes: int) -> HttpReply:
        """Fetch a page from the machine at a numeric address. Raises OSError."""
        page = await fetch_page(url, address, max_bytes)
        return HttpReply(page.status, dict(page.headers), page.body, page.is_complete)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the numeric addresses of a host. Raises OSError."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in infos))


class _GuardStore:
    def __init__(self, guard: AutoRunGuard) -> None:
        self._guard = guard

    async def put(self, change_id: str, *, restore: bool) -> None:
        await asyncio.to_thread(self._guard.put, change_id, restore=restore)

    async def settle(self, change_ids: Sequence[str], allowed_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self._guard.settle, change_ids, allowed_ids)

    async def outcomes(self, change_ids: Sequence[str]) -> Mapping[str, bool]:
        return await asyncio.to_thread(self._guard.saved_changes.outcomes, change_ids)

    async def auto_run_changes(self) -> tuple[AutoRunChange, ...]:
        return await asyncio.to_thread(self._guard.auto_run_changes)

    async def patch(self, change_id: str) -> PatchFile:
        return await asyncio.to_thread(self._guard.patch, change_id)

    async def unreported(self) -> tuple[AutoRunChange, ...]:
        return await asyncio.to_thread(self._guard.recover)


class ToolService:
    """Creates the tools of workspaces; a changed grant holds from the next call on."""

    def __init__(
        self,
        data_dir: DataDir,
        registry: WorkspaceRegistry,
        count_tokens: CountTokens,
        home_names: Callable[[], Sequence[str]] = lambda: DEFAULT_HOME_NAMES,
        reading_lines: Callable[[], Sequence[str]] = lambda: DEFAULT_LINES,
    ) -> None:
        """`home_names` are the files and folders of the home folder that commands see.

        `reading_lines` are the list of programs that only read.
        """
        self._reading_lines = reading_lines
        self._registry = registry
        self._count_tokens = count_tokens
        self._protected = (
            *(data_dir.settings_file, data_dir.workspaces_dir, data_dir.logs_dir),
            data_dir.root / INSTRUCTIONS_FILE,  # an agent does not write what every agent is told
        )
        hidden = (data_dir.root, temporary_base())
        self.sandboxes = SandboxProvider(hidden=hidden, home_names=home_names)
        self._toolsets: dict[str, Toolset] = {}
        self._file_indexes: dict[str, FileIndex] = {}
        self._guards: dict[str, AutoRunGuard] = {}

    def create_tools(self, workspace_id: str, root: Path, contents: ContentReader) -> ToolRegistry:
        setup = ToolSetup(
            resources_dir() / "prompts" / "tools",
            self._count_tokens,
            protected=self._protected,
            environ=with_sample_python(os.environ) if self._registry.get(workspace_id).demo else None,
            sandbox_provider=self.sandboxes,
            current_grants=lambda: self.grants(workspace_id),
            web=(WebFetcher(), resolve),
            guard=self.guard(workspace_id),
            reading_lines=self._reading_lines,
        )
        return create_workspace_tools(root, contents, setup)

    def guard(self, workspace_id: str) -> AutoRunGuard:
        """Return the guard of a workspace, the same for each call while the workspace is open."""
        if workspace_id not in self._guards:
            root = Path(self._registry.get(workspace_id).path)
            folder = self._registry.data_folder(workspace_id) / SAVED_CHANGES_FOLDER
            self._guards[workspace_id] = AutoRunGuard(
                root,
                self.sandboxes.home,
                folder,
                lambda: allowed_git(self._root(workspace_id), self.grants(workspace_id).git_folders),
            )
        return self._guards[workspace_id]

    def auto_run(self, workspace_id: str) -> AutoRunStore:
        """Return what holds what the calls of a workspace changed that other programs run."""
        return _GuardStore(self.guard(workspace_id))

    def open_jail(self, root: Path) -> Jail:
        return open_jail(root, self._protected)

    def create_file_checker(self, root: Path) -> FileVersionChecker:
        return JailedFileVersionChecker(self.open_jail(root))

    def create_file_reader(self, root: Path) -> FileReader:
        return JailedFileReader(self.open_jail(root))

    def create_line_search(self) -> LineSearch:
        return RegexLineSearch(_bundled_ripgrep())

    def file_index(self, workspace_id: str) -> FileIndex:
        """Return the index of a workspace's files, the same for each call while the workspace is open."""
        index = self._file_indexes.get(workspace_id)
        if index is None:
            root = Path(self._registry.get(workspace_id).path)
            index = self._file_indexes[workspace_id] = FileIndex(self.open_jail(root), _bundled_ripgrep())
        return index

    def environment(self, workspace_id: str, root: Path) -> WorkspaceEnvironment:
        environ = with_sample_python(os.environ) if self._registry.get(workspace_id).demo else os.environ
        return WorkspaceEnvironment(
            root.resolve(),
            self.open_jail(root),
            clean_environment(environ),
            self.sandboxes,
            lambda: self.grants(workspace_id),
            self.guard(workspace_id),
        )

    def create_session_tools(self, contents: ContentReader, session: CallingSession | None) -> ToolRegistry:
        """Return the tools of a workspace that know the session whose agent calls them, if any."""
        return create_session_tools(
            contents, resources_dir() / "prompts" / "tools", self._count_tokens, session
        )

    def register(self, workspace_id: str, toolset: Toolset) -> None:
        """Register the tools of an open workspace, so that they follow its grants."""
        self._toolsets[workspace_id] = toolset

    def unregister(self, workspace_id: str) -> None:
        """Unregister the tools of a closed workspace, and its index of files."""
        self._toolsets.pop(workspace_id, None)
        self._file_indexes.pop(workspace_id, None)
        self._guards.pop(workspace_id, None)

    async def set_grant(self, workspace_id: str, grant: Grant, allowed: bool) -> None:
        """Grant or revoke one access of a workspace's agent, from its next call on. Raises HelixError."""
        self._registry.change(workspace_id, **{grant: allowed})
        if workspace_id in self._toolsets:
            await self._toolsets[workspace_id].refresh()

    async def is_sandboxed(self, workspace_id: str) -> bool:
        """Return True if commands of a workspace stay in its folder and off the network."""
        sandbox, contains_home = await self._sandbox(workspace_id)
        return confines(sandbox.kind, contains_home, self.grants(workspace_id).network)

    async def sandbox_status(self, workspace_id: str) -> tuple[str, bool]:
        """Return a sentence on the sandbox of a workspace's commands, and whether there is one."""
        sandbox, contains_home = await self._sandbox(workspace_id)
        kind = sandbox.kind
        network = self.grants(workspace_id).network
        reach = sandbox.network_reach
        limits = describe_sandbox(kind, network, contains_home, reach)
        description = join_sentences(limits, describe_unreached(network, reach))
        missing = kind == "none" and self.grants(workspace_id).sandbox
        return (join_sentences(description, NO_SANDBOX_ADVICE) if missing else description), kind != "none"

    async def _sandbox(self, workspace_id: str) -> tuple[Sandbox, bool]:
        """Return the sandbox of a workspace's commands, and True if the home is in the workspace."""
        root = await asyncio.to_thread(Path(self._registry.get(workspace_id).path).resolve)
        sandbox = await self.sandboxes.detect() if self.grants(workspace_id).sandbox else NoSandbox()
        return sandbox, self.sandboxes.home.is_relative_to(root)

    def grants(self, workspace_id: str) -> ToolGrants:
        record = self._registry.get(workspace_id)
        return ToolGrants(record.sandbox, record.network, record.fetch, record.git_folders)

    async def git_folders_outside(self, workspace_id: str) -> tuple[str, ...]:
        """Return the git folders outside of a workspace that its checkout uses."""
        git = await asyncio.to_thread(find_outer_git, self._root(workspace_id))
        return git.paths if git is not None else ()

    async def allow_git(self, workspace_id: str) -> tuple[str, ...]:
        """Let commands change those git folders from their next call on; return them. Raises HelixError."""
        folders = await self.git_folders_outside(workspace_id)
        self._registry.change(workspace_id, git_folders=folders, git_asked=folders)
        return folders

    def forbid_git(self, workspace_id: str) -> None:
        """Let commands only read git folders outside of a workspace. Raises HelixError."""
        self._registry.change(workspace_id, git_folders=())

    async def git_folders_to_ask_about(self, workspace_id: str) -> tuple[str, ...]:
        """Return the git folders outside that the user was not asked about yet: each is returned once.

        Raises HelixError.
        """
        record = self._registry.get(workspace_id)
        folders = await self.git_folders_outside(workspace_id)
        if (
            not record.trusted
            or not record.sandbox
            or set(folders) <= {*record.git_folders, *record.git_asked}
        ):
            return ()
        self._registry.change(workspace_id, git_asked=folders)
        return folders

    def _root(self, workspace_id: str) -> Path:
        return Path(os.path.realpath(self._registry.get(workspace_id).path))


def _bundled_ripgrep() -> Ripgrep:
    return Ripgrep(find_ripgrep(), clean_environment(os.environ))
