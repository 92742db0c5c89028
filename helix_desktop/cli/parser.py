"""The grammar of all commands: their arguments and help."""

from __future__ import annotations

import argparse
from typing import TypeAlias, get_args

from helix_desktop.app.exit_codes import USAGE
from helix_desktop.cli import argument_types
from helix_desktop.cli.cache_parser import add_cleanup_commands, add_find_commands
from helix_desktop.domain.tools import PermissionMode

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The type of the object that commands are added to; argparse has no public name for it."""


_KEYS_HELP = (
    "Keys: a provider's key comes from the keychain, else from an environment variable: OPENAI_API_KEY, "
    "ANTHROPIC_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, GEMINI_API_KEY, GROQ_API_KEY, MISTRAL_API_KEY, "
    "TOGETHER_API_KEY or XAI_API_KEY for the provider of that name, HELIX_NAME_KEY for any other (a provider "
    "my-server reads HELIX_MY_SERVER_KEY). With --base-url, a provider that is neither set up nor one of "
    "these also reads OPENAI_API_KEY; a line on standard error says which variable went to which host."
)


def add_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add all commands; `common` holds the options that each of them has."""
    _add_run(commands, common)
    _add_cache(commands, common)
    _add_timeline(commands, common)
    _add_backup(commands, common)
    _add_move(commands, common)
    _add_replay(commands, common)
    _add_mcp(commands, common)
    _add_installation(commands, common)
    _add_demo(commands, common)


def _add_run(commands: Commands, common: argparse.ArgumentParser) -> None:
    run = commands.add_parser(
        "run",
        parents=[common],
        help="one turn, events as JSON lines with --json",
        description="Run one turn. In a folder that nobody has trusted yet, by --trust or in the window, it "
        f"is refused with exit code {USAGE}: what lies there could act on this computer.",
        epilog=_KEYS_HELP,
    )
    _add_workspace(run)
    run.add_argument(
        "--message",
        type=argument_types.non_empty_text,
        required=True,
        metavar="TEXT",
        help="what to say to the agent",
    )
    run.add_argument("--model", default="", metavar="PROVIDER/NAME", help="the model that answers")
    run.add_argument(
        "--base-url", default="", metavar="URL", help="a server that speaks OpenAI Chat Completions"
    )
    run.add_argument(
        "--window", type=argument_types.window_tokens, default=0, metavar="TOKENS", help="the model's window"
    )
    run.add_argument("--session", default="", metavar="ID", help="go on with this session, or `last`")
    run.add_argument(
        "--budget-tokens",
        type=argument_types.token_budget,
        metavar="N",
        help="tokens the session may spend; 0: any",
    )
    run.add_argument(
        "--budget-usd", type=argument_types.usd, metavar="X", help="US dollars it may spend; 0: any"
    )
    run.add_argument(
        "--patience",
        type=argument_types.seconds,
        metavar="SECONDS",
        help="how long to wait for a model server that does not answer (default: 10 minutes)",
    )
    run.add_argument(
        "--mode",
        choices=get_args(PermissionMode),
        default="",
        help="how freely the agent acts (default: the session's)",
    )
    run.add_argument("--trust", action="store_true", help="trust the folder from now on")
    run.add_argument(
        "--yes", action="store_true", help="approve what would be asked; else only rules and the mode do"
    )
    run.add_argument("--json", action="store_true", help="print every event as a JSON line")


def _add_workspace(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--workspace", type=argument_types.path, required=True, metavar="PATH", help="the project folder"
    )


def _add_cache(commands: Commands, common: argparse.ArgumentParser) -> None:
    cache = commands.add_parser("cache", help="the cached outputs of a workspace")
    verbs = cache.add_subparsers(
        dest="verb",
        metavar="list|search|show|verify|repair|export|import|gc|trash|restore|forget",
        required=True,
    )

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        _add_workspace(verb)
        verb.add_argument("--json", action="store_true", help="one JSON document")
        return verb

    for name, text in (
        ("show", "write the exact bytes"),
        ("verify", "compare with SHA-256"),
        ("export", "write sessions and contents to one file"),
        ("import", "add what a file holds; nothing is overwritten"),
        ("repair", "check everything, and mend what is wrong"),
    ):
        verb = add(name, text)
        helps = {"export": "a file that ends in .helix; the ending may be left out", "import": "such a file"}
        if name in helps:
            verb.add_argument("file", type=argument_types.path, metavar="FILE", help=helps[name])
        if name == "show":
            verb.add_argument("sha", metavar="SHA", help="a SHA-256, or its first digits")
        if name == "verify":
            verb.add_argument("sha", metavar="SHA", nargs="?", default="", help="one entry; all without it")
    add_find_commands(add)
    add_cleanup_commands(add)


def _add_timeline(commands: Commands, common: argparse.ArgumentParser) -> None:
    timeline = commands.add_parser("timeline", parents=[common], help="handovers and sweeps of a workspace")
    _add_workspace(timeline)
    timeline.add_argument("--json", action="store_true", help="one JSON document")


def _add_backup(commands: Commands, common: argparse.ArgumentParser) -> None:
    backup = commands.add_parser("backup", parents=[common], help="write every workspace to a file")
    backup.add_argument("folder", type=argument_types.path, metavar="FOLDER", help="where the files go")
    backup.add_argument(
        "--workspace", type=argument_types.path, metavar="PATH", help="this project folder alone"
    )
    backup.add_argument("--json", action="store_true", help="one JSON document")


def _add_move(commands: Commands, common: argparse.ArgumentParser) -> None:
    move = commands.add_parser("move-data", parents=[common], help="keep everything in another folder")
    move.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help="an empty folder, or a new one"
    )
    move.add_argument("--remove-old", action="store_true", help="remove the old copy at the end")
    move.add_argument("--json", action="store_true", help="one JSON document")
    move.add_argument("--window", action="store_true", help=argparse.SUPPRESS)  # how the window calls it


def _add_mcp(commands: Commands, common: argparse.ArgumentParser) -> None:
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help="serve a workspace's cache to other programs (Model Context Protocol)",
        description="Serves recall_cached_content, search_cached_content and list_cached_content: over "
        "standard input and output, or with --http to programs of this machine that hold the token. The "
        "workspace can be open in the window meanwhile.",
    )
    _add_workspace(mcp)
    mcp.add_argument("--http", action="store_true", help="over HTTP on the loopback address")
    mcp.add_argument(
        "--port", type=argument_types.port, default=0, metavar="N", help="with --http; by default a free one"
    )


def _add_replay(commands: Commands, common: argparse.ArgumentParser) -> None:
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help="what a policy would have made of recorded sessions",
        description="A recording is a file of JSON lines, plain or gzip, one message each: "
        '{"role": "system|user|assistant|tool", "content": TEXT}, an assistant\'s with "tool_calls": '
        '[{"id", "name", "arguments"}], a tool\'s with "tool_call_id" and "name".',
    )
    replay.add_argument(
        "files", nargs="+", type=argument_types.path, metavar="FILE", help="recordings, or folders of them"
    )
    replay.add_argument(
        "--policy",
        default="balanced",
        metavar="NAME",
        help="balanced, lean, classic, plain, off, or a TOML file",
    )
    replay.add_argument(
        "--window",
        type=argument_types.window_tokens,
        default=128_000,
        metavar="TOKENS",
        help="the model's window",
    )
    replay.add_argument("--recalls", action="store_true", help="put in recalls that an agent would make")
    replay.add_argument(
        "--recall-rate",
        type=argument_types.fraction,
        default=None,
        metavar="SHARE",
        help="recalls besides those of files read again, as a share of the model calls",
    )
    replay.add_argument(
        "--reach-every",
        type=argument_types.count,
        default=0,
        metavar="N",
        help="fetch all outputs at each Nth model call, not at the last alone",
    )
    replay.add_argument("--jobs", type=argument_types.jobs, default=1, metavar="N", help="processes at work")
    replay.add_argument("--json", action="store_true", help="one JSON document with the figures of each file")


def _add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    licences = commands.add_parser(
        "licences", parents=[common], help="what is shipped, and under which terms"
    )
    licences.add_argument("--texts", action="store_true", help="with the texts in full")
    licences.add_argument("--json", action="store_true", help="one JSON document")
    self_check = commands.add_parser("self-check", parents=[common], help="prove this installation")
    self_check.add_argument("--json", action="store_true", help="one JSON document")
    self_check.add_argument(
        "--keyring", action="store_true", help="keep a made-up secret in the keychain, and remove it again"
    )
    self_check.add_argument(
        "--paint-only", action="store_true", help=argparse.SUPPRESS
    )  # how it calls itself


def _add_demo(commands: Commands, common: argparse.ArgumentParser) -> None:
    for name, text in (
        ("demo", "run the guided demo without a display"),
        ("screenshots", "picture every screen"),
    ):
        command = commands.add_parser(name, parents=[common], help=text)
        command.add_argument(
            "--out", type=argument_types.path, required=True, metavar="DIR", help="where the pictures go"
        )
