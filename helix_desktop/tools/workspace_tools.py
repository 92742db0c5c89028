"""Which tools there are: a workspace's, with `ask_user` and the todo list, and those on its cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.question import ASK_USER, MAX_OPTIONS, NO_USER, Question, QuestionOption
from helix_desktop.domain.store import ContentReader
from helix_desktop.domain.todo import TODO, TodoItem, changes_text, list_text, parse_items, progress_text
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import CountTokens, OutputCallback, ToolResult, ignore_output
from helix_desktop.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.system.folders import BY_DESCRIPTOR
from helix_desktop.system.home import find_home
from helix_desktop.tools.cache.origins import CallingSession
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.cache.search_tools import ListCachedContent, SearchCachedContent
from helix_desktop.tools.fetch_url import Fetcher, FetchUrl, Resolve
from helix_desktop.tools.files.edit import EditFile, MultiEdit, WriteFile
from helix_desktop.tools.files.find import FindFiles, SearchText
from helix_desktop.tools.files.jail import Jail, startup_files
from helix_desktop.tools.files.jail_posix import PosixJail
from helix_desktop.tools.files.jail_windows import WindowsJail
from helix_desktop.tools.files.read import reading_tools
from helix_desktop.tools.files.skills import SkillJail
from helix_desktop.tools.process import Ripgrep, find_ripgrep
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.git_config import is_run_by_git
from helix_desktop.tools.shell.reading_access import ReadingAccess
from helix_desktop.tools.shell.run_command import CommandContext, CurrentReadingLines, RunCommand
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider, no_sandbox_provider
from helix_desktop.tools.shell.scratch import ScratchDir
from helix_desktop.tools.tool import (
    CurrentGrants,
    Tool,
    ToolGrants,
    ToolRegistry,
    UnguardedTool,
    clean_environment,
    spec_of,
)

_MAX_QUESTION = 2_000  # characters
_MAX_LABEL = 120  # characters
_MAX_DESCRIPTION = 400  # characters


class AskUserArguments(Arguments, frozen=True):
    question: str
    options: Annotated[
        tuple[QuestionOption, ...], msgspec.Meta(extra_json_schema={"maxItems": MAX_OPTIONS})
    ] = ()
    multiple: bool = False


class AskUser(Tool[AskUserArguments]):
    """Has the user asked before it runs: their reply is its output. It runs only where no user is there."""

    name = ASK_USER
    arguments_type = AskUserArguments

    async def approval_request(self, call_id: str, args: AskUserArguments) -> Question:
        """Return the question. Raises ToolError if the user could not read it as a question with answers."""
        question = args.question.strip()
        if not question or len(question) > _MAX_QUESTION:
            raise ToolError(
                "The question is empty or too long.",
                f"It may have {_MAX_QUESTION} characters (got {len(question)}).",
                "Ask in a few sentences; explain in your message before the call.",
            )
        _require_options(args.options)
        return Question(call_id, question, args.options, args.multiple and len(args.options) > 1)

    async def run(
        self, call_id: str, args: AskUserArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        return ToolResult(NO_USER.encode(), target=" ".join(args.question.split()))


def _require_options(options: tuple[QuestionOption, ...]) -> None:
    if len(options) > MAX_OPTIONS:
        raise ToolError(
            f"A question has at most {MAX_OPTIONS} options.",
            f"This one has {len(options)}.",
            "Offer those that differ most; the user can always answer in other words.",
        )
    labels = [option.label.strip() for option in options]
    if any(not label or len(label) > _MAX_LABEL for label in labels):
        raise ToolError(
            "The label of an option is empty or too long.",
            f"It may have {_MAX_LABEL} characters.",
            "Name each in a few words; say what it means in its description.",
        )
    if any(len(option.description) > _MAX_DESCRIPTION for option in options):
        raise ToolError(
            "The description of an option is too long.",
            f"It may have {_MAX_DESCRIPTION} characters.",
            "Explain at length in your message before the call.",
        )
    if len({label.casefold() for label in labels}) < len(labels):
        raise ToolError("Two options have the same label.", fix="Give each another one.")


_MAX_ITEMS = 50
_MAX_LENGTH = 300  # characters of one item


class TodoArguments(Arguments, frozen=True):
    items: Annotated[tuple[TodoItem, ...], msgspec.Meta(min_length=1, max_length=_MAX_ITEMS)]


class Todo(UnguardedTool[TodoArguments]):
    """Takes the current list: whole in the window when it is new, one line when little changed."""

    name = TODO
    arguments_type = TodoArguments

    def __init__(self, session: CallingSession | None = None) -> None:
        """Without the session that calls, each list is new."""
        self._session = session

    async def run(
        self, call_id: str, args: TodoArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return what changed. Raises ToolError for an empty or too long item, and two in progress."""
        for item in args.items:
            if not item.content.strip() or len(item.content) > _MAX_LENGTH:
                raise ToolError("An item is empty or over 300 characters.", fix="Say each in a few words.")
        if sum(item.status == "in_progress" for item in args.items) > 1:
            raise ToolError("More than one item is in progress.", fix="Begin the next when one is done.")
        previous = self._previous_items(call_id)
        text = changes_text(previous, args.items) if previous else ""
        return ToolResult(
            f"{text or list_text(args.items)}\n".encode(), target=f"{progress_text(args.items)} done"
        )

    def _previous_items(self, call_id: str) -> Sequence[TodoItem]:
        """Return the session's list of before; empty if there is none."""
        refused = {call_id}
        for item in reversed(self._session.transcript.messages.items if self._session is not None else ()):
            match item.event:
                case ToolAnswered(call_id=answered, ok=False):
                    refused.add(answered)
                case AssistantSpoke(calls=calls):
                    for call in reversed(calls):
                        if call.name == TODO and call.id not in refused:
                            return parse_items(call.arguments)
        return ()


_CACHE_TOOLS: tuple[type[Tool[Any]], ...] = (RecallCachedContent, SearchCachedContent, ListCachedContent)


class ToolSetup(msgspec.Struct, frozen=True):
    """What a workspace's tools are made with; `descriptions` holds one Markdown file per tool.

    `protected` paths are neither read nor written (the program's own data). `environ` (the process's own by
    default) is what commands inherit, cleaned of secrets. Without `web` there is no fetch tool. `guard` is
    the workspace's (a new one by default). `reading_lines` returns the list of reading programs (see
    `permissions.reading_programs`).
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
        *reading_tools(jail, ripgrep),
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
    return ToolRegistry([*tools, *cache_tools], setup.descriptions)


def create_session_tools(
    contents: ContentReader, descriptions: Path, count_tokens: CountTokens, session: CallingSession | None
) -> ToolRegistry:
    """Return those tools of a workspace that know the session whose agent calls them."""
    ripgrep = Ripgrep(find_ripgrep(), clean_environment(os.environ))
    cache_tools = _create_cache_tools(contents, count_tokens, ripgrep, session)
    return ToolRegistry([Todo(session), *cache_tools], descriptions)


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
    """Return the strictest jail that this system offers for a workspace folder, with the user's skills."""
    jail_type = PosixJail if BY_DESCRIPTOR else WindowsJail
    home = find_home()
    jail = jail_type(root, protected, startup_files(home))
    if home == root:  # then the user's skills are the workspace's
        return jail
    return SkillJail(jail, home, lambda folder: jail_type(folder, protected))
