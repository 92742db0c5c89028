"""The grammar of all commands."""

from __future__ import annotations

import argparse
from typing import get_args

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.cache import AddCommand, add_cleanup_commands, add_find_commands
from helix_desktop.cli.parsers.changes import add_changes_commands
from helix_desktop.cli.parsers.options import (
    Commands,
    add_json,
    add_model,
    add_patience,
    add_policy,
    add_window,
    add_workspace,
    keys_text,
)
from helix_desktop.domain.choices import (
    AGENT_NAMES,
    ARCHIVE_SUFFIX,
    EFFORT_LEVELS,
    SHARED_SUFFIXES,
    PermissionMode,
)
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.system.exit_codes import USAGE
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_demo(commands: Commands, common: argparse.ArgumentParser) -> None:
    demo = commands.add_parser("demo", parents=[common], help=tr("run the guided demo without a display"))
    demo.add_argument(
        "--out", type=argument_types.path, required=True, metavar="DIR", help=tr("output directory")
    )


def add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `licenses` and `self-check`."""
    licenses = commands.add_parser(
        "licenses",
        aliases=["licences"],
        parents=[common],
        help=tr("list bundled components and their licenses"),
    )
    licenses.add_argument("--texts", action="store_true", help=tr("include the license texts"))
    add_json(licenses)
    check = commands.add_parser("self-check", parents=[common], help=tr("check this installation"))
    add_json(check)
    check.add_argument("--keyring", action="store_true", help=tr("store and delete a key in the keychain"))
    check.add_argument(
        "--bundle", type=argument_types.path, metavar="FILE", help=tr("save a zip for a report")
    )
    check.add_argument("--with-names", action="store_true", help=tr("keep your names in the bundle"))
    check.add_argument("--paint-only", action="store_true", help=argparse.SUPPRESS)  # how it calls itself


_MESSAGE = '{"role": "system|user|assistant|tool", "content": TEXT}'
_CALLS = '"tool_calls": [{"id", "name", "arguments"}]'
_CALL_ID, _NAME = '"tool_call_id"', '"name"'


def add_replay(commands: Commands, common: argparse.ArgumentParser) -> None:
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help=tr("measure what a policy does with recorded sessions"),
        description=tr(
            "A recording is a file of JSON lines, plain or gzip, with one message per line: {message}. "
            "Assistant messages can have {calls}. Tool messages have {call_id} and {name}. Session files of "
            "other agents are replayed too, and folders with some.",
            message=_MESSAGE,
            calls=_CALLS,
            call_id=_CALL_ID,
            name=_NAME,
        ),
    )
    replay.add_argument(
        "files", nargs="+", type=argument_types.path, metavar="FILE", help=tr("recordings, sessions")
    )
    add_policy(replay)
    add_window(replay, default=128_000)
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
        type=argument_types.non_empty_text,
        required=True,
        metavar="TEXT",
        help=tr("message to send"),
    )
    run.add_argument(
        "--attach",
        type=argument_types.attached_file,
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
    session.add_argument(
        "--session",
        action=argument_types.NonEmptyText,
        default="",
        metavar="ID",
        help=tr("session to continue ({last} = the newest)", last="last"),
    )
    session.add_argument(
        "--from-handover",
        action=argument_types.NonEmptyText,
        default="",
        metavar="ID[:EVENT]",
        help=tr(
            "start a new session with the summary of this one as it would be now, or with the summary of "
            "an event ({last} = the newest session)",
            last="last",
        ),
    )
    _add_run_limits(run)
    run.add_argument("--json", action="store_true", help=tr("print every event as a JSON line"))


def _add_run_limits(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--budget-tokens",
        type=argument_types.token_budget,
        metavar="N",
        help=tr("token budget of the session (0 = unlimited)"),
    )
    run.add_argument(
        "--budget-usd",
        type=argument_types.usd,
        metavar="X",
        help=tr("budget of the session in US dollars (0 = unlimited)"),
    )
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
    instructions.add_argument(
        "--instructions",
        type=argument_types.path,
        metavar="FILE",
        help=tr("also tell the agent the instructions in FILE"),
    )
    instructions.add_argument(
        "--no-instructions",
        action="store_true",
        help=tr("read no instructions and list no skills: neither yours nor those of the workspace"),
    )
    run.add_argument("--trust", action="store_true", help=tr("trust the folder from now on"))
    run.add_argument("--yes", action="store_true", help=tr("approve all requests"))


def add_slash_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `commands`."""
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
    listing.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("also list the prompt files and skills of this project folder"),
    )
    add_json(listing)


def add_sessions(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `sessions` and `branch`."""
    sessions = commands.add_parser(
        "sessions", parents=[common], help=tr("list sessions, each branch below its parent")
    )
    sessions.add_argument("--archived", action="store_true", help=tr("also list archived sessions"))
    sessions.add_argument(
        "--versions", action="store_true", help=tr("list each version made by an edit or a retry")
    )
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
    branch.add_argument(
        "session",
        type=argument_types.non_empty_text,
        metavar="SESSION",
        help=tr("session to branch ({last} = the newest)", last="last"),
    )
    branch.add_argument(
        "--at",
        type=argument_types.event_number,
        default=0,
        metavar="EVENT",
        help=tr("last event that the branch shares, such as {event} (default: all)", event="e39"),
    )
    branch.add_argument("--title", default="", metavar="TEXT", help=tr("title of the branch"))
    for command in (sessions, branch):
        add_workspace(command)
        add_json(command)


def add_search(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `search`."""
    searching = commands.add_parser(
        "search",
        parents=[common],
        help=tr("search messages, outputs, summaries and file names of all workspaces"),
        description=tr(
            "Print where all words occur, by session, the newest first. “cache show” prints an output."
        ),
    )
    searching.add_argument(
        "query",
        metavar="WORDS",
        help=tr("words to find, in upper or lower case; {quotes} for a phrase", quotes='"…"'),
    )
    searching.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("search only this project folder"),
    )
    kinds = ("message", "output", "handover", "file")
    searching.add_argument(
        "--kind",
        action="append",
        choices=kinds,
        metavar="KIND",
        help=tr("only these: {kinds}; can be repeated", kinds=kinds),
    )
    searching.add_argument(
        "--since",
        type=argument_types.duration_ms,
        default=None,
        metavar="TIME",
        help=tr("only within this time, such as 12h, 7d or 4w"),
    )
    searching.add_argument(
        "--limit",
        type=argument_types.positive_count,
        default=50,
        metavar="N",
        help=tr("maximum number of sessions (default: {limit})", limit=50),
    )
    add_json(searching)


def add_timeline(commands: Commands, common: argparse.ArgumentParser) -> None:
    timeline = commands.add_parser(
        "timeline",
        parents=[common],
        help=tr("list what was cached, compacted, pinned, left out or undone"),
    )
    add_workspace(timeline)
    add_json(timeline)


def add_cache(commands: Commands, common: argparse.ArgumentParser) -> None:
    cache = commands.add_parser("cache", help=tr("work with the cached outputs of a workspace"))
    add = _verbs_of(cache, common)
    add_find_commands(add)
    show = add("show", tr("write the exact bytes of an entry"))
    show.add_argument(
        "sha", type=argument_types.non_empty_text, metavar="SHA", help=tr("SHA-256, or its first digits")
    )
    verify = add("verify", tr("check everything, or one entry, without changing it"))
    verify.add_argument(
        "sha",
        type=argument_types.non_empty_text,
        metavar="SHA",
        nargs="?",
        help=tr("entry to check (default: everything)"),
    )
    add("repair", tr("check everything and repair damage"))
    export = add("export", tr("write sessions and cached outputs to one file"))
    export.add_argument(
        "file",
        type=argument_types.path,
        metavar="FILE",
        help=tr(
            "file to write; {suffix} is added if missing. With {option}, a name that ends in {endings} gets "
            "a document for others, without keys",
            suffix=ARCHIVE_SUFFIX,
            option="--session",
            endings=", ".join(SHARED_SUFFIXES),
        ),
    )
    argument_types.add_text(
        export,
        "--session",
        "ID",
        tr("only this session, with its subagents and its outputs ({last} = the newest)", last="last"),
    )
    export.add_argument("--force", action="store_true", help=tr("overwrite FILE if it exists"))
    importing = add("import", tr("add what a file contains; nothing is overwritten"))
    importing.add_argument(
        "file",
        type=argument_types.path,
        metavar="FILE",
        help=tr("exported file ({suffix})", suffix=ARCHIVE_SUFFIX),
    )
    add_cleanup_commands(add)


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
    mcp.add_argument("--http", action="store_true", help=tr("use HTTP on the loopback address"))
    mcp.add_argument(
        "--port",
        type=argument_types.port,
        default=0,
        metavar="N",
        help=tr("port for {http} (default: any free one)", http="--http"),
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
    add_changes_commands(_verbs_of(changes, common))


def add_backup(commands: Commands, common: argparse.ArgumentParser) -> None:
    backup = commands.add_parser(
        "backup", parents=[common], help=tr("back up every workspace to its own file")
    )
    backup.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("folder for the backup files")
    )
    backup.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("back up only this project folder"),
    )
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
        type=argument_types.path,
        metavar="PATH",
        help=tr("session file, folder of sessions, or exported file ({suffix})", suffix=ARCHIVE_SUFFIX),
    )
    importing.add_argument("--list", action="store_true", help=tr("only list what is found"))
    importing.add_argument("--all", action="store_true", help=tr("import all that is found"))
    importing.add_argument(
        "--agent",
        choices=tuple(AGENT_NAMES),
        default="",
        metavar="AGENT",
        help=tr("only sessions of this agent: {agents}", agents=", ".join(AGENT_NAMES)),
    )
    importing.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("project folder to import into"),
    )
    add_json(importing)


def add_move(commands: Commands, common: argparse.ArgumentParser) -> None:
    move = commands.add_parser("move-data", parents=[common], help=tr("move the data directory"))
    move.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("an empty folder, or a new one")
    )
    move.add_argument(
        "--remove-old", action="store_true", help=tr("delete the old copy after everything is verified")
    )
    add_json(move)
    move.add_argument("--window", action="store_true", help=argparse.SUPPRESS)  # how the window calls it


def add_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add all commands; `common` holds the options that each of them has."""
    add_run(commands, common)
    add_slash_commands(commands, common)
    add_sessions(commands, common)
    add_search(commands, common)
    add_cache(commands, common)
    add_changes(commands, common)
    add_timeline(commands, common)
    add_backup(commands, common)
    add_import(commands, common)
    add_move(commands, common)
    add_replay(commands, common)
    add_mcp(commands, common)
    add_installation(commands, common)
    add_demo(commands, common)
