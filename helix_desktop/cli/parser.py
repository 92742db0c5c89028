"""The grammar of all commands: their arguments and help."""

from __future__ import annotations

import argparse
from typing import TypeAlias, get_args

from helix_desktop.app.exit_codes import USAGE
from helix_desktop.cli import argument_types
from helix_desktop.cli.cache.parser import add_cleanup_commands, add_find_commands
from helix_desktop.cli.changes.parser import VERBS, add_changes_commands
from helix_desktop.cli.demo_parser import add_demo_commands
from helix_desktop.domain.effort import EFFORT_LEVELS
from helix_desktop.domain.store.archive_report import SUFFIX
from helix_desktop.domain.tools import PermissionMode
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the object that commands are added to; argparse has no public name for it."""

_KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY"),
)
_PROFILES = ("balanced", "lean", "classic", "plain", "off")
_EXAM_REQUESTS = 10  # 8 calls, one refused, then the answer
_SERVED_TOOLS = ("recall_cached_content", "search_cached_content", "list_cached_content")
_MESSAGE = '{"role": "system|user|assistant|tool", "content": TEXT}'
_CALLS = '"tool_calls": [{"id", "name", "arguments"}]'
_CALL_ID, _NAME = '"tool_call_id"', '"name"'


def add_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add all commands; `common` holds the options that each of them has."""
    _add_run(commands, common)
    _add_slash_commands(commands, common)
    _add_sessions(commands, common)
    _add_cache(commands, common)
    _add_changes(commands, common)
    _add_timeline(commands, common)
    _add_backup(commands, common)
    _add_move(commands, common)
    _add_replay(commands, common)
    _add_exam(commands, common)
    _add_mcp(commands, common)
    _add_installation(commands, common)
    add_demo_commands(lambda name, text: commands.add_parser(name, parents=[common], help=text))


def _add_run(commands: Commands, common: argparse.ArgumentParser) -> None:
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
        epilog=_keys_text(),
    )
    _add_workspace(run)
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
    _add_model(run)
    session = run.add_mutually_exclusive_group()
    session.add_argument(
        "--session",
        default="",
        metavar="ID",
        help=tr("session to continue ({last} = the newest)", last="last"),
    )
    session.add_argument(
        "--from-handover",
        default="",
        metavar="ID[:EVENT]",
        help=tr(
            "start a new session with the handover of this one as it would be now, or with the handover of "
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
    _add_patience(run)
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
        help=tr("read no instructions: neither yours nor AGENTS.md and CLAUDE.md"),
    )
    run.add_argument("--trust", action="store_true", help=tr("trust the folder from now on"))
    run.add_argument("--yes", action="store_true", help=tr("approve all requests"))


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", default="", metavar="PROVIDER/NAME", help=tr("model to use"))
    command.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help=tr("address of a server with the OpenAI Chat Completions API"),
    )
    command.add_argument(
        "--window",
        type=argument_types.window_tokens,
        default=0,
        metavar="TOKENS",
        help=tr("size of the model's context window"),
    )


def _add_patience(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--patience",
        type=argument_types.seconds,
        metavar="SECONDS",
        help=tr("how long to wait for a model server that doesn't answer (default: 10 minutes)"),
    )


def _keys_text() -> str:
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


def _add_workspace(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--workspace",
        type=argument_types.path,
        required=True,
        metavar="PATH",
        help=tr("project folder"),
    )


def _add_slash_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    listing = commands.add_parser(
        "commands",
        parents=[common],
        help=tr("list the slash commands and prompt files"),
        description=tr(
            "List the commands that can be typed as the first word of a message: built-in ones and those of "
            "prompt files. {run} expands prompt files too; built-in commands work in the window only.",
            run="run --message /NAME",
        ),
    )
    listing.add_argument(
        "--workspace",
        type=argument_types.path,
        metavar="PATH",
        help=tr("also list the prompt files of this project folder"),
    )
    _add_json(listing)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help=tr("print one JSON document"))


def _add_cache(commands: Commands, common: argparse.ArgumentParser) -> None:
    cache = commands.add_parser("cache", help=tr("work with the cached outputs of a workspace"))
    verbs = cache.add_subparsers(
        dest="verb",
        metavar="list|search|recall|show|verify|repair|export|import|gc|trash|restore|forget",
        required=True,
    )

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        _add_workspace(verb)
        _add_json(verb)
        return verb

    show = add("show", tr("write the exact bytes of an entry"))
    show.add_argument("sha", metavar="SHA", help=tr("SHA-256, or its first digits"))
    verify = add("verify", tr("check everything, or one entry, without changing it"))
    verify.add_argument(
        "sha", metavar="SHA", nargs="?", default="", help=tr("entry to check (default: everything)")
    )
    export = add("export", tr("write sessions and cached outputs to one file"))
    export.add_argument(
        "file",
        type=argument_types.path,
        metavar="FILE",
        help=tr("file to write; {suffix} is added if missing", suffix=SUFFIX),
    )
    importing = add("import", tr("add what a file contains; nothing is overwritten"))
    importing.add_argument(
        "file", type=argument_types.path, metavar="FILE", help=tr("exported file ({suffix})", suffix=SUFFIX)
    )
    add("repair", tr("check everything and repair damage"))
    add_find_commands(add)
    add_cleanup_commands(add)


def _add_changes(commands: Commands, common: argparse.ArgumentParser) -> None:
    changes = commands.add_parser(
        "changes",
        help=tr("list, compare, take back and redo changes of files"),
        description=tr(
            "Work with what the agent and its commands changed in the files of a workspace, which can stay "
            "open in the window."
        ),
    )
    verbs = changes.add_subparsers(dest="verb", metavar=VERBS, required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        _add_workspace(verb)
        _add_json(verb)
        return verb

    add_changes_commands(add)


def _add_sessions(commands: Commands, common: argparse.ArgumentParser) -> None:
    sessions = commands.add_parser(
        "sessions", parents=[common], help=tr("list sessions, each branch below its parent")
    )
    sessions.add_argument("--archived", action="store_true", help=tr("also list archived sessions"))
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
        "session", metavar="SESSION", help=tr("session to branch ({last} = the newest)", last="last")
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
        _add_workspace(command)
        _add_json(command)


def _add_timeline(commands: Commands, common: argparse.ArgumentParser) -> None:
    timeline = commands.add_parser(
        "timeline",
        parents=[common],
        help=tr("list what was cached, noted, summarized, pinned or undone"),
    )
    _add_workspace(timeline)
    _add_json(timeline)


def _add_backup(commands: Commands, common: argparse.ArgumentParser) -> None:
    backup = commands.add_parser(
        "backup", parents=[common], help=tr("back up every workspace to its own file")
    )
    backup.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("folder for the backup files")
    )
    backup.add_argument(
        "--workspace",
        type=argument_types.path,
        metavar="PATH",
        help=tr("back up only this project folder"),
    )
    _add_json(backup)


def _add_move(commands: Commands, common: argparse.ArgumentParser) -> None:
    move = commands.add_parser("move-data", parents=[common], help=tr("move the data directory"))
    move.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("an empty folder, or a new one")
    )
    move.add_argument(
        "--remove-old", action="store_true", help=tr("delete the old copy after everything is verified")
    )
    _add_json(move)
    move.add_argument("--window", action="store_true", help=argparse.SUPPRESS)  # how the window calls it


def _add_mcp(commands: Commands, common: argparse.ArgumentParser) -> None:
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help=tr("share a workspace's cache over MCP (Model Context Protocol)"),
        description=tr(
            "Offer the tools {tools} over standard input and output. With {http}, programs on this computer "
            "that have the token can use them. The workspace can stay open in the window.",
            tools=_SERVED_TOOLS,
            http="--http",
        ),
    )
    _add_workspace(mcp)
    mcp.add_argument("--http", action="store_true", help=tr("use HTTP on the loopback address"))
    mcp.add_argument(
        "--port",
        type=argument_types.port,
        default=0,
        metavar="N",
        help=tr("port for {http} (default: any free one)", http="--http"),
    )


def _add_replay(commands: Commands, common: argparse.ArgumentParser) -> None:
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help=tr("measure what a policy does with recorded sessions"),
        description=tr(
            "A recording is a file of JSON lines, plain or gzip, with one message per line: {message}. "
            "Assistant messages can have {calls}. Tool messages have {call_id} and {name}.",
            message=_MESSAGE,
            calls=_CALLS,
            call_id=_CALL_ID,
            name=_NAME,
        ),
    )
    _add_recordings(replay)
    replay.add_argument(
        "--window",
        type=argument_types.window_tokens,
        default=128_000,
        metavar="TOKENS",
        help=tr("size of the model's context window"),
    )
    replay.add_argument("--recalls", action="store_true", help=tr("simulate recalls"))
    replay.add_argument(
        "--recall-rate",
        type=argument_types.fraction,
        default=None,
        metavar="SHARE",
        help=tr("share of model calls with a simulated recall, in addition to files that are read again"),
    )
    replay.add_argument(
        "--reach-every",
        type=argument_types.count,
        default=0,
        metavar="N",
        help=tr("recall every output at each Nth model call, not only at the last"),
    )
    replay.add_argument(
        "--jobs", type=argument_types.jobs, default=1, metavar="N", help=tr("number of processes")
    )
    replay.add_argument(
        "--json", action="store_true", help=tr("print one JSON document with the figures of each file")
    )


def _add_recordings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        nargs="+",
        type=argument_types.path,
        metavar="FILE",
        help=tr("recordings, or folders of recordings"),
    )
    command.add_argument(
        "--policy",
        default="balanced",
        metavar="NAME",
        help=tr("TOML file, or one of the profiles {profiles}", profiles=_PROFILES),
    )


def _add_exam(commands: Commands, common: argparse.ArgumentParser) -> None:
    exam = commands.add_parser(
        "exam",
        parents=[common],
        help=tr("ask a model about recorded sessions and score what it can recall"),
        description=tr(
            "Each question is asked three times: with the context that a policy leaves and the recall tools, "
            "with the same context alone, and with the whole history where it fits. Each time is a "
            "conversation of up to {requests} requests.",
            requests=_EXAM_REQUESTS,
        ),
        epilog=_keys_text(),
    )
    _add_recordings(exam)
    exam.add_argument(
        "--questions",
        type=argument_types.path,
        required=True,
        metavar="DIR",
        help=tr("folder with the questions and their keys"),
    )
    _add_model(exam)
    exam.add_argument(
        "--judge",
        default="",
        metavar="PROVIDER/NAME",
        help=tr("model that judges the answers too"),
    )
    exam.add_argument(
        "--limit",
        type=argument_types.count,
        default=0,
        metavar="N",
        help=tr("ask only N questions, in turn from each recording (0 = all)"),
    )
    _add_patience(exam)
    exam.add_argument("--json", action="store_true", help=tr("print one JSON document with every answer"))


def _add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    licenses = commands.add_parser(
        "licences", parents=[common], help=tr("list bundled components and their licenses")
    )
    licenses.add_argument("--texts", action="store_true", help=tr("include the license texts"))
    _add_json(licenses)
    check = commands.add_parser("self-check", parents=[common], help=tr("check this installation"))
    _add_json(check)
    check.add_argument("--keyring", action="store_true", help=tr("store and delete a key in the keychain"))
    check.add_argument(
        "--bundle", type=argument_types.path, metavar="FILE", help=tr("save a zip for a report")
    )
    check.add_argument("--with-names", action="store_true", help=tr("keep your names in the bundle"))
    check.add_argument("--paint-only", action="store_true", help=argparse.SUPPRESS)  # how it calls itself
