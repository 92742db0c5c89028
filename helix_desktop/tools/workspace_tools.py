"""Which tools there are: those of a workspace's agent, and those on its cache alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.tools import CountTokens
from helix_desktop.tools.ask_user import AskUser
from helix_desktop.tools.cache.list import ListCachedContent
from helix_desktop.tools.cache.origins import CallingSession
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.cache.search import SearchCachedContent
from helix_desktop.tools.cache.show_output import ShowOutput
from helix_desktop.tools.files.edit import EditFile, MultiEdit, WriteFile
from helix_desktop.tools.files.find import FindFiles, SearchText
from helix_desktop.tools.files.jail import Jail, startup_files
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.files.jail_windows import WindowsJail
from helix_desktop.tools.files.read import ListDirectory, ReadFile
from helix_desktop.tools.grants import CurrentGrants, ToolGrants, clean_environment
from helix_desktop.tools.process.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.git_paths import is_run_by_git
from helix_desktop.tools.shell.reading_access import ReadingAccess
from helix_desktop.tools.shell.run_command import CommandContext, CurrentReadingLines, RunCommand
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.shell.scratch import ScratchDir
from helix_desktop.tools.todo import Todo
from helix_desktop.tools.tool import Tool, ToolRegistry, spec_of
from helix_desktop.tools.web.fetch_url import Fetcher, FetchUrl, Resolve

_CACHE_TOOLS: tuple[type[Tool[Any]], ...] = (RecallCachedContent, SearchCachedContent, ListCachedContent)


class ToolSetup(msgspec.Struct, frozen=True):
    """What a workspace's tools are made with; `descriptions` holds one Markdown file per tool.

    `protected` paths are neither read nor written (the program's own data). `environ` (the process's own by
    default) is what commands inherit, cleaned of secrets. Without `web` there is no fetch tool. `guard` is
    the workspace's (a new one by default). `reading_lines` returns the list of reading programs (see
    `domain.permissions.reading_programs`).
    """

    descriptions: Path
    count_tokens: CountTokens
    protected: tuple[Path, ...] = ()
    environ: Mapping[str, str] | None = None
    sandbox_provider: SandboxProvider = msgspec.field(default_factory=no_sandbox_provider)
    current_grants: CurrentGrants = ToolGrants
    web: tuple[Fetcher, Resolve] | None = None
    guard: AutoRunGuard | None = None
    reading_lines: CurrentReadingLines = lambda: DEFAULT_LINES


def create_workspace_tools(root: Path, contents: ContentReader, setup: ToolSetup) -> ToolRegistry:
    """Return the tools of the workspace at `root`.

    Files that the system obeys without asking, such as `.git/hooks`, are never written.
    """
    environment = clean_environment(os.environ if setup.environ is None else setup.environ)
    grants = setup.current_grants
    jail = open_jail(root, setup.protected)
    ripgrep = Ripgrep(find_ripgrep(), environment)

    def is_run(path: str) -> bool:
        return is_run_by_git(root / path, setup.sandbox_provider.home)

    guard = setup.guard or AutoRunGuard(root, setup.sandbox_provider.home)
    real_root = root.resolve()
    commands = CommandContext(
        real_root,
        jail,
        environment,
        setup.sandbox_provider,
        grants,
        ScratchDir(),
        guard,
        ReadingAccess(real_root, jail, environment, ripgrep),
        setup.reading_lines,
    )
    tools: list[Tool[Any]] = [
        ReadFile(jail, ripgrep),
        ListDirectory(jail),
        FindFiles(jail, ripgrep),
        SearchText(jail, ripgrep),
        WriteFile(jail, is_run),
        EditFile(jail, is_run),
        MultiEdit(jail, is_run),
        RunCommand(commands),
        Todo(),
        AskUser(),
    ]
    if setup.web:
        fetcher, resolve = setup.web
        tools.append(FetchUrl(fetcher, resolve, grants))
    cache_tools = _create_cache_tools(contents, setup.count_tokens, ripgrep)
    return ToolRegistry([*tools, *cache_tools, ShowOutput(contents)], setup.descriptions)


def create_session_tools(
    contents: ContentReader, descriptions: Path, count_tokens: CountTokens, session: CallingSession | None
) -> ToolRegistry:
    """Return those tools of a workspace that know the session whose agent calls them."""
    ripgrep = Ripgrep(find_ripgrep(), clean_environment(os.environ))
    cache_tools = _create_cache_tools(contents, count_tokens, ripgrep, session)
    return ToolRegistry([Todo(session), *cache_tools, ShowOutput(contents, session)], descriptions)


def create_cache_tools(
    contents: ContentReader,
    descriptions: Path,
    count_tokens: CountTokens,
    session: CallingSession | None = None,
) -> ToolRegistry:
    """Return the tools on a workspace's cache alone, for the agent of a session or for other programs."""
    ripgrep = Ripgrep(find_ripgrep(), clean_environment(os.environ))
    return ToolRegistry(_create_cache_tools(contents, count_tokens, ripgrep, session), descriptions)


def cache_tool_specs(descriptions: Path) -> tuple[ToolSpec, ...]:
    """Return the specs of the tools on a cache, as they are sent to a model."""
    return tuple(spec_of(tool, descriptions) for tool in _CACHE_TOOLS)


def _create_cache_tools(
    contents: ContentReader,
    count_tokens: CountTokens,
    ripgrep: Ripgrep,
    session: CallingSession | None = None,
) -> tuple[Tool[Any], ...]:
    return (
        RecallCachedContent(contents, count_tokens, ripgrep, session),
        SearchCachedContent(contents, count_tokens, session=session),
        ListCachedContent(contents, session),
    )


def open_jail(root: Path, protected: tuple[Path, ...] = ()) -> Jail:
    """Return the strictest jail that this system offers for a workspace folder."""
    unwritable = startup_files(Path.home())
    if os.open in os.supports_dir_fd and os.scandir in os.supports_fd:
        return PosixJail(root, protected, unwritable)
    return WindowsJail(root, protected, unwritable)
