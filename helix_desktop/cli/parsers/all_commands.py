"""The grammar of all commands, and the options that several of them have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from helix_desktop.cli import argument_types as types
from helix_desktop.domain.choices import (
    AGENT_NAMES,
    ARCHIVE_SUFFIX,
    EFFORT_LEVELS,
    MAX_RECALL_CONTEXT,
    MAX_RECALL_TOKENS,
    MIN_RECALL_TOKENS,
    SHARED_SUFFIXES,
    PermissionMode,
    RevertChoice,
    SortColumn,
)
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.system.exit_codes import USAGE
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the object that commands are added to; argparse has no public name for it."""
Arguments: TypeAlias = "argparse._ActionsContainer"
"""A command, or a group of its options that exclude each other."""

_KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY"),
)


def add_flag(command: Arguments, option: str, text: str) -> None:
    command.add_argument(option, action="store_true", help=text)


def add_value(
    command: Arguments,
    name: str,
    metavar: str,
    text: str,
    parse: Callable[[str], object],
    default: object = None,
) -> None:
    command.add_argument(name, type=parse, default=default, metavar=metavar, help=text)


def add_text(command: Arguments, option: str, metavar: str, text: str) -> None:
    """Add an option whose text must not be blank, and is empty without it."""
    command.add_argument(option, action=types.NonEmptyText, default="", metavar=metavar, help=text)


def add_workspace(command: argparse.ArgumentParser, text: str = "") -> None:
    """Add `--workspace`; without a text of its own a command requires it."""
    command.add_argument(
        "--workspace",
        action=types.SinglePath,
        type=types.path,
        required=not text,
        metavar="PATH",
        help=text or tr("project folder"),
    )


def add_json(command: argparse.ArgumentParser) -> None:
    add_flag(command, "--json", tr("print one JSON document"))


def add_model(command: argparse.ArgumentParser) -> None:
    """Add which model to use, at which address, with which window."""
    add_text(command, "--model", "PROVIDER/NAME", tr("model to use"))
    add_text(command, "--base-url", "URL", tr("address of a server with the OpenAI Chat Completions API"))
    add_window(command, default=0)


def add_window(command: argparse.ArgumentParser, default: int) -> None:
    add_value(
        command,
        "--window",
        "TOKENS",
        tr("size of the model's context window"),
        types.window_tokens,
        default=default,
    )


def add_policy(command: argparse.ArgumentParser) -> None:
    add_value(
        command,
        "--policy",
        "NAME",
        tr("TOML file, or a profile: balanced, lean (Spend least), classic (Keep most), plain, off"),
        types.non_empty_text,
        default="balanced",
    )


def add_patience(command: argparse.ArgumentParser) -> None:
    add_value(
        command,
        "--patience",
        "SECONDS",
        tr("how long to wait for a model server that doesn't answer (default: 10 minutes)"),
        types.seconds,
    )


def keys_text() -> str:
    return tr(
        "API keys: the key of a provider comes from the keychain, otherwise from an environment variable. "
        "{variables} belong to the provider of that name. Any other provider reads {pattern}: "
        "{provider} reads {variable}. With {base_url}, a provider that isn't set up and isn't one of these "
        "also reads {openai}. A line on standard error shows which variable went to which host.",
        variables=_KEY_VARIABLES,
        pattern="HELIX_NAME_KEY",
        provider="my-server",
        variable="HELIX_MY_SERVER_KEY",
        base_url="--base-url",
        openai="OPENAI_API_KEY",
    )


AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Add a command by name and help, with `--workspace` and `--json`."""

_SEARCH_LIMIT = 20
_LIST_LIMIT = 200


def add_demo(commands: Commands) -> None:
    """Add the demo, which has data of its own."""
    demo = commands.add_parser("demo", help=tr("run the guided demo without a display"))
    demo.add_argument("--out", type=types.path, required=True, metavar="DIR", help=tr("output directory"))


def add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    licenses = commands.add_parser(
        "licenses",
        aliases=["licences"],
        parents=[common],
        help=tr("list bundled components and their licenses"),
    )
    add_flag(licenses, "--texts", tr("include the license texts"))
    add_json(licenses)
    check = commands.add_parser("self-check", parents=[common], help=tr("check this installation"))
    add_json(check)
    add_flag(check, "--keyring", tr("store and delete a key in the keychain"))
    add_value(check, "--bundle", "FILE", tr("save a zip for a report"), types.path)
    add_flag(check, "--with-names", tr("keep your names in the bundle"))
    check.add_argument("--paint-only", action="store_true", help=argparse.SUPPRESS)  # how it calls itself


_MESSAGE = '{"role": "system|user|assistant|tool", "content": TEXT}'
_CALLS = '"tool_calls": [{"id", "name", "arguments"}]'
_CALL_ID = '"tool_call_id"'
_NAME = '"name"'


def add_replay(commands: Commands, common: argparse.ArgumentParser) -> None:
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help=tr("measure what a policy does with recorded sessions"),
        description=tr(
            "A recording is a file of JSON lines, plain or gzip, with one message per line: {message}. "
            "Assistant messages can have {calls}. Tool messages have {call_id} and {name}. Session files of "
            "other agents are replayed too, folders with some, exported sessions ({suffix}), and standard "
            "input ({dash}).",
            message=_MESSAGE,
            calls=_CALLS,
            call_id=_CALL_ID,
            name=_NAME,
            suffix=ARCHIVE_SUFFIX,
            dash="-",
        ),
    )
    replay.add_argument("files", nargs="+", type=types.path, metavar="FILE", help=tr("recordings, sessions"))
    add_policy(replay)
    add_value(
        replay,
        "--window",
        "TOKENS",
        tr("size of the context window (default: that of a session's model, else 128k)"),
        types.window_tokens,
        default=0,
    )
    add_json(replay)


def add_run(commands: Commands, common: argparse.ArgumentParser) -> None:
    run = commands.add_parser(
        "run",
        parents=[common],
        help=tr("run one turn without the window"),
        description=tr(
            "Run one turn. It fails with exit code {code} in a folder that isn't trusted: files there could "
            "act on this computer. Trust a folder with {trust} or in the window.",
            trust="--trust",
            code=str(USAGE),
        ),
        epilog=keys_text(),
    )
    add_workspace(run)
    run.add_argument(
        "--message",
        type=types.non_empty_text,
        required=True,
        metavar="TEXT",
        help=tr("message to send; {sign} reads it from standard input", sign="-"),
    )
    run.add_argument(
        "--attach",
        type=types.attached_file,
        action="append",
        default=[],
        metavar="FILE[:LINES]",
        help=tr(
            "file to send with the message: text, code, a PDF or an image; {example} sends lines of it, and "
            "{mention} in the message does the same for a file of the workspace",
            example="app.py:10-40",
            mention="@app.py:10-40",
        ),
    )
    add_model(run)
    session = run.add_mutually_exclusive_group()
    add_text(session, "--session", "ID", tr("session to continue ({last} = the newest)", last="last"))
    add_text(
        session,
        "--from-handover",
        "ID[:EVENT]",
        tr(
            "start a new session with the handover summary of this one as it would be now, or with that "
            "of an event ({last} = the newest session)",
            last="last",
        ),
    )
    _add_run_limits(run)
    add_flag(run, "--json", tr("print every event as a JSON line"))


def _add_run_limits(run: argparse.ArgumentParser) -> None:
    add_value(
        run, "--budget-tokens", "N", tr("token budget of the session (0 = unlimited)"), types.token_budget
    )
    add_value(run, "--budget-usd", "X", tr("budget of the session in US dollars (0 = unlimited)"), types.usd)
    add_patience(run)
    run.add_argument(
        "--effort",
        choices=("default", *EFFORT_LEVELS),
        default="",
        metavar="LEVEL",
        help=tr(
            "reasoning effort of the session: {levels} (default: the session's)",
            levels=", ".join(("default", *EFFORT_LEVELS)),
        ),
    )
    run.add_argument(
        "--mode",
        choices=get_args(PermissionMode),
        default="",
        help=tr("permission mode (default: the session's)"),
    )
    instructions = run.add_mutually_exclusive_group()
    add_value(
        instructions, "--instructions", "FILE", tr("also tell the agent the instructions in FILE"), types.path
    )
    add_flag(
        instructions,
        "--no-instructions",
        tr("read no instructions and list no skills: neither yours nor those of the workspace"),
    )
    add_flag(run, "--trust", tr("trust the folder from now on"))
    add_flag(run, "--yes", tr("approve all requests"))
    add_flag(
        run,
        "--allow-git",
        tr(
            "let commands commit from now on where the git folder of the checkout is outside of the workspace"
        ),
    )


def add_slash_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    listing = commands.add_parser(
        "commands",
        parents=[common],
        help=tr("list the slash commands, prompt files and skills"),
        description=tr(
            "List the commands that can be typed as the first word of a message: built-in ones, prompt files "
            "and skills. {run} takes prompt files and skills too; built-in commands work in the window only.",
            run="run --message /NAME",
        ),
    )
    add_workspace(listing, tr("also list the prompt files and skills of this project folder"))
    add_json(listing)


def add_sessions(commands: Commands, common: argparse.ArgumentParser) -> None:
    sessions = commands.add_parser(
        "sessions", parents=[common], help=tr("list sessions, each branch below its parent")
    )
    add_flag(sessions, "--archived", tr("also list archived sessions"))
    add_flag(sessions, "--versions", tr("list each version made by an edit or a retry"))
    branch = commands.add_parser(
        "branch",
        parents=[common],
        help=tr("branch a session: continue it from an earlier point"),
        description=tr(
            "Create a session that begins with the events of another one up to a point. Nothing is copied, "
            "and the other session stays as it is. Continue the branch with {run}.",
            run="run --session ID",
        ),
    )
    add_value(
        branch,
        "session",
        "SESSION",
        tr("session to branch ({last} = the newest)", last="last"),
        types.non_empty_text,
    )
    add_value(
        branch,
        "--at",
        "EVENT",
        tr("last event that the branch shares, such as {event} (default: all)", event="e39"),
        types.event_number,
        default=0,
    )
    branch.add_argument("--title", default="", metavar="TEXT", help=tr("title of the branch"))
    for command in (sessions, branch):
        add_workspace(command)
        add_json(command)


def add_open(commands: Commands, common: argparse.ArgumentParser) -> None:
    opening = commands.add_parser(
        "open",
        parents=[common],
        help=tr("open a session in the window"),
        description=tr("Open a session of any workspace in the window: in the one that runs, if one does."),
    )
    add_value(
        opening,
        "session",
        "SESSION",
        tr("its ID, or the beginning of it, as {command} prints it", command="sessions"),
        types.session_id,
    )


def add_search(commands: Commands, common: argparse.ArgumentParser) -> None:
    searching = commands.add_parser(
        "search",
        parents=[common],
        help=tr("search messages, outputs, handover summaries and file names of all workspaces"),
        description=tr(
            "Print where all words occur, by session, the newest first. “cache show” prints an output."
        ),
    )
    searching.add_argument(
        "query",
        metavar="WORDS",
        help=tr("words to find, in upper or lower case; {quotes} for a phrase", quotes='"…"'),
    )
    add_workspace(searching, tr("search only this project folder"))
    kinds = ("message", "output", "handover", "file")
    searching.add_argument(
        "--kind",
        action="append",
        choices=kinds,
        metavar="KIND",
        help=tr("only these: {kinds}; can be repeated", kinds=kinds),
    )
    add_value(
        searching, "--since", "TIME", tr("only within this time, such as 12h, 7d or 4w"), types.duration_ms
    )
    add_value(
        searching,
        "--limit",
        "N",
        tr("maximum number of sessions (default: {limit})", limit=50),
        types.positive_count,
        default=50,
    )
    add_flag(searching, "--wait", tr("wait until everything is indexed, and search large outputs too"))
    add_json(searching)


def add_timeline(commands: Commands, common: argparse.ArgumentParser) -> None:
    timeline = commands.add_parser(
        "timeline",
        parents=[common],
        help=tr("list what was cached, compacted, pinned, left out or undone"),
    )
    add_workspace(timeline)
    add_flag(timeline, "--versions", tr("list each version made by an edit or a retry"))
    add_json(timeline)


def add_cache(commands: Commands, common: argparse.ArgumentParser) -> None:
    cache = commands.add_parser("cache", help=tr("work with the cached outputs of a workspace"))
    add = _verbs_of(cache, common)
    add_find_commands(add)
    show = add("show", tr("write the exact bytes of an entry"))
    add_value(show, "sha", "SHA", tr("SHA-256, or its first digits"), types.non_empty_text)
    verify = add("verify", tr("check everything, or one entry, without changing it"))
    verify.add_argument(
        "sha",
        type=types.non_empty_text,
        metavar="SHA",
        nargs="?",
        help=tr("entry to check (default: everything)"),
    )
    add("repair", tr("check everything and repair damage"))
    export = add("export", tr("write sessions and cached outputs to one file"))
    add_value(
        export,
        "file",
        "FILE",
        tr(
            "file to write; {suffix} is added if missing. With {option}, a name that ends in {endings} gets "
            "a document for others, without keys",
            suffix=ARCHIVE_SUFFIX,
            option="--session",
            endings=", ".join(SHARED_SUFFIXES),
        ),
        types.path,
    )
    add_text(
        export,
        "--session",
        "ID",
        tr("only this session, with its subagents and its outputs ({last} = the newest)", last="last"),
    )
    add_flag(export, "--force", tr("overwrite FILE if it exists"))
    importing = add("import", tr("add what a file contains; nothing is overwritten"))
    add_value(importing, "file", "FILE", tr("exported file ({suffix})", suffix=ARCHIVE_SUFFIX), types.path)
    add_cleanup_commands(add)


def add_find_commands(add_command: AddCommand) -> None:
    """Add `cache list`, `cache search` and `cache recall`."""
    listed = add_command("list", tr("list entries, newest first"))
    _add_filters(listed)
    columns = get_args(SortColumn)
    listed.add_argument(
        "--sort",
        choices=columns,
        default="created",
        metavar="COLUMN",
        help=tr("column to sort by, largest first: {columns}", columns=columns),
    )
    add_flag(listed, "--reverse", tr("reverse order"))
    add_value(
        listed,
        "--limit",
        "N",
        tr("maximum number of results (default: {limit})", limit=_LIST_LIMIT),
        types.positive_count,
        default=_LIST_LIMIT,
    )
    add_text(
        listed,
        "--after",
        "SHA",
        tr("continue after this entry, the last one of a list with the same options"),
    )
    search = add_command("search", tr("find entries and handover summaries that contain all words"))
    search.add_argument(
        "query",
        metavar="QUERY",
        help=tr("words to find, in upper or lower case; {quotes} for a phrase", quotes='"…"'),
    )
    _add_filters(search)
    add_value(
        search,
        "--limit",
        "N",
        tr("maximum number of results (default: {limit})", limit=_SEARCH_LIMIT),
        types.positive_count,
        default=_SEARCH_LIMIT,
    )
    add_flag(
        search, "--agent", tr("print what the agent of the session in {option} gets", option="--from-session")
    )
    _add_recall(add_command)


def _add_recall(add_command: AddCommand) -> None:
    recall = add_command("recall", tr("print what the agent gets when it recalls"))
    recall.add_argument(
        "handle",
        metavar="HANDLE",
        help=tr("SHA-256, or its first digits; or entry numbers such as {entries}", entries="e39-e45"),
    )
    add_text(recall, "--from-session", "ID", tr("the session whose agent recalls"))
    recall.add_argument("--pattern", default="", metavar="REGEX", help=tr("only lines that match"))
    add_value(recall, "--start-line", "N", tr("first line, from 1"), types.positive_count)
    add_value(recall, "--end-line", "N", tr("last line"), types.positive_count)
    tokens = types.number_between(MIN_RECALL_TOKENS, MAX_RECALL_TOKENS)
    add_value(recall, "--max-tokens", "N", tr("maximum number of tokens"), tokens)
    lines = types.number_between(0, MAX_RECALL_CONTEXT)
    add_value(recall, "--context", "N", tr("number of lines around each match"), lines)


def _add_filters(command: argparse.ArgumentParser) -> None:
    add_text(command, "--tool", "NAME", tr("only outputs of this tool"))
    add_text(command, "--path", "TEXT", tr("only targets that contain this text"))
    add_text(command, "--from-session", "ID", tr("only entries that this session saved first"))
    add_value(command, "--prefix", "HEX", tr("only digests with this prefix"), types.hash_prefix)
    smallest = tr("minimum size, such as 100KB or 2MB")
    largest = tr("maximum size, such as 100KB or 2MB")
    add_value(command, "--min-size", "SIZE", smallest, types.byte_count, default=0)
    add_value(command, "--max-size", "SIZE", largest, types.byte_count)
    newer = tr("only entries saved within this time, such as 12h, 7d or 4w")
    older = tr("only entries saved longer ago than this, such as 12h, 7d or 4w")
    add_value(command, "--newer", "TIME", newer, types.duration_ms)
    add_value(command, "--older", "TIME", older, types.duration_ms)
    add_flag(command, "--unused", tr("only entries that were never recalled"))
    add_flag(command, "--orphan", tr("only unreferenced entries"))
    add_flag(command, "--pinned", tr("only pinned entries"))


def _add_trash_ids(command: argparse.ArgumentParser, count: Literal["*", "+"]) -> None:
    command.add_argument(
        "ids",
        type=types.non_empty_text,
        nargs=count,
        metavar="ID",
        help=tr("SHA-256 or session ID, or its first digits"),
    )


def add_cleanup_commands(add_command: AddCommand) -> None:
    """Add `cache gc`, `trash`, `restore`, `delete` and `forget`."""
    gc = add_command("gc", tr("move unreferenced entries to the trash"))
    add_flag(gc, "--dry-run", tr("show what would be moved, and why the rest stays"))
    add_value(
        gc, "--quota", "SIZE", tr("stop when the cache is down to this size"), types.byte_count, default=0
    )
    add_value(
        gc, "--older-than", "TIME", tr("only entries not used for this long"), types.duration_ms, default=0
    )
    trash = add_command("trash", tr("list the trash"))
    add_flag(trash, "--empty", tr("permanently delete everything in the trash"))
    restore = add_command("restore", tr("restore entries and sessions from the trash"))
    _add_trash_ids(restore, "*")
    add_flag(restore, "--all", tr("restore everything"))
    delete = add_command(
        "delete", tr("permanently delete items of the trash (dry run without {yes})", yes="--yes")
    )
    _add_trash_ids(delete, "+")
    add_flag(delete, "--yes", tr("delete them; this can't be undone"))
    forget = add_command("forget", tr("permanently remove a secret (dry run without {yes})", yes="--yes"))
    forget.add_argument(
        "sha",
        type=types.non_empty_text,
        nargs="*",
        metavar="SHA",
        help=tr("digests of outputs to redact"),
    )
    add_flag(forget, "--stdin", tr("also remove the text on standard input, wherever it occurs"))
    add_flag(forget, "--yes", tr("remove it; this can't be undone"))
    add_flag(forget, "--lift", tr("allow removed outputs to be saved again instead"))


def _verbs_of(command: argparse.ArgumentParser, common: argparse.ArgumentParser) -> AddCommand:
    """Return what adds a verb to a command; its usage and errors list those that were added."""
    verbs = command.add_subparsers(dest="verb", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        add_workspace(verb)
        add_json(verb)
        verbs.metavar = "|".join(verbs.choices)
        return verb

    return add


def add_mcp(commands: Commands, common: argparse.ArgumentParser) -> None:
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help=tr("share a workspace's cache over MCP (Model Context Protocol)"),
        description=tr(
            "Offer the tools {tools} over standard input and output. With {http}, programs on this computer "
            "that have the token can use them. The workspace can stay open in the window.",
            tools=CACHE_TOOLS,
            http="--http",
        ),
    )
    add_workspace(mcp)
    add_flag(mcp, "--http", tr("use HTTP on the loopback address"))
    add_value(
        mcp,
        "--port",
        "N",
        tr("port for {http} (default: any free one)", http="--http"),
        types.port,
        default=0,
    )


def add_changes(commands: Commands, common: argparse.ArgumentParser) -> None:
    changes = commands.add_parser(
        "changes",
        help=tr("list, compare, revert and redo changes to files"),
        description=tr(
            "Work with what the agent and its commands changed in the files of a workspace, which can stay "
            "open in the window."
        ),
    )
    add_command = _verbs_of(changes, common)
    listed = add_command(
        "list", tr("list what was changed, by turn and step, and what was taken back after commands")
    )
    _add_selection(listed)
    diff = add_command("diff", tr("print changes as a patch that git can apply"))
    _add_selection(diff)
    add_flag(diff, "--head", tr("everything that differs from the last git commit, whoever changed it"))
    revert = add_command("revert", tr("revert changes of a file, step, turn or session"))
    _add_selection(revert)
    _add_outcome(revert)
    redo = add_command(
        "redo", tr("undo a revert (default: the last one), or restore what was taken back after a command")
    )
    _add_session(redo)
    _add_step(redo)
    _add_outcome(redo)
    accept = add_command("accept", tr("mark changes as reviewed"))
    _add_session(accept)
    _add_files(accept)


def _add_selection(command: argparse.ArgumentParser) -> None:
    _add_session(command)
    add_value(
        command, "--turn", "N", tr("only the turn of this message of yours, from 1"), types.positive_count
    )
    _add_step(command)
    _add_files(command)


def _add_session(command: argparse.ArgumentParser) -> None:
    add_text(command, "--session", "ID", tr("session (default: {last}, the newest)", last="last"))


def _add_step(command: argparse.ArgumentParser) -> None:
    add_text(command, "--step", "ID", tr("only the step with this ID, or its first digits"))


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--file",
        type=types.non_empty_text,
        action="append",
        default=[],
        metavar="PATH",
        help=tr("only this file, by its path in the workspace; can be repeated"),
    )


def _add_outcome(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on-conflict",
        choices=get_args(RevertChoice),
        default=None,
        help=tr(
            "what becomes of files that were changed since: {keep} leaves them as they are, {restore} "
            "overwrites them, {merge} merges both (default: change nothing)",
            keep="present",
            restore="former",
            merge="merged",
        ),
    )
    add_flag(command, "--dry-run", tr("only print what would be done"))


def add_backup(commands: Commands, common: argparse.ArgumentParser) -> None:
    backup = commands.add_parser(
        "backup", parents=[common], help=tr("back up every workspace to its own file")
    )
    add_value(backup, "folder", "FOLDER", tr("folder for the backup files"), types.path)
    add_workspace(backup, tr("back up only this project folder"))
    add_json(backup)


def add_import(commands: Commands, common: argparse.ArgumentParser) -> None:
    importing = commands.add_parser(
        "import",
        parents=[common],
        help=tr("import sessions of other agents, or an exported file"),
        description=tr(
            "Import sessions of {agents}. Without paths, the folders are searched in which these agents keep "
            "their sessions; nothing is changed there. Importing again adds what is new.",
            agents=tuple(AGENT_NAMES.values()),
        ),
    )
    importing.add_argument(
        "paths",
        nargs="*",
        type=types.path,
        metavar="PATH",
        help=tr(
            "session file, folder of sessions, or exported file ({suffix}); {sign} reads a session from "
            "standard input",
            suffix=ARCHIVE_SUFFIX,
            sign="-",
        ),
    )
    add_flag(importing, "--list", tr("only list what is found"))
    add_flag(importing, "--all", tr("import all that is found"))
    importing.add_argument(
        "--agent",
        action="append",
        choices=tuple(AGENT_NAMES),
        default=[],
        metavar="AGENT",
        help=tr("only sessions of this agent: {agents}; can be repeated", agents=", ".join(AGENT_NAMES)),
    )
    add_workspace(importing, tr("project folder to import into"))
    add_json(importing)


def add_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add all commands; `common` holds the options that each of them has."""
    add_run(commands, common)
    add_slash_commands(commands, common)
    add_sessions(commands, common)
    add_open(commands, common)
    add_search(commands, common)
    add_cache(commands, common)
    add_changes(commands, common)
    add_timeline(commands, common)
    add_backup(commands, common)
    add_import(commands, common)
    add_replay(commands, common)
    add_mcp(commands, common)
    add_installation(commands, common)
    add_demo(commands)
