"""The command line: the window by default, and what works without one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from helix_desktop import __version__
from helix_desktop.context.errors import HelixError

USAGE, FAILED, LOCKED = 2, 1, 3  # exit codes


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        sys.stderr.write(f"helix-desktop: {message} (see helix-desktop --help)\n")
        raise SystemExit(USAGE)


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--data-dir",
        type=Path,
        default=argparse.SUPPRESS,
        metavar="DIR",
        help="where Helix Desktop keeps its data",
    )
    root = _Parser(
        prog="helix-desktop", description="An agent's context, managed and in sight.", parents=[common]
    )
    root.add_argument("--version", action="version", version=f"Helix Desktop {__version__}")
    root.add_argument("--workspace", type=Path, metavar="PATH", help="open this folder in the window")
    root.add_argument("--demo", action="store_true", help="open the guided sample in the window")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands, common)
    _add_cache(commands, common)
    _add_timeline(commands, common)
    commands.add_parser("self-check", parents=[common], help="prove this installation")
    for name, text in (
        ("demo", "run the guided demo without a display"),
        ("screenshots", "picture every screen"),
    ):
        made = commands.add_parser(name, parents=[common], help=text)
        made.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the pictures go")
    return root


def _add_run(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    run = commands.add_parser("run", parents=[common], help="one turn, events as JSON lines with --json")
    run.add_argument("--workspace", type=Path, required=True, metavar="PATH", help="the project folder")
    run.add_argument("--message", required=True, metavar="TEXT", help="what to say to the agent")
    run.add_argument("--model", default="", metavar="PROVIDER/NAME", help="the model that answers")
    run.add_argument(
        "--base-url", default="", metavar="URL", help="a server that speaks OpenAI Chat Completions"
    )
    run.add_argument("--window", type=int, default=0, metavar="TOKENS", help="the model's window")
    run.add_argument("--session", default="", metavar="ID", help="go on with this session, or `last`")
    run.add_argument("--yes", action="store_true", help="approve every call; without it they are denied")
    run.add_argument("--json", action="store_true", help="print every event as a JSON line")


def _add_cache(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    cache = commands.add_parser("cache", help="the cached outputs of a workspace")
    verbs = cache.add_subparsers(dest="verb", metavar="list|show|verify", required=True)
    for name, text in (
        ("list", "newest first"),
        ("show", "write the exact bytes"),
        ("verify", "compare with SHA-256"),
    ):
        verb = verbs.add_parser(name, parents=[common], help=text)
        verb.add_argument("--workspace", type=Path, required=True, metavar="PATH", help="the project folder")
        verb.add_argument("--json", action="store_true", help="one JSON document")
        if name == "show":
            verb.add_argument("sha", metavar="SHA", help="a SHA-256, or its first digits")
        if name == "verify":
            verb.add_argument("sha", metavar="SHA", nargs="?", default="", help="one entry; all without it")


def _add_timeline(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    timeline = commands.add_parser("timeline", parents=[common], help="handovers and sweeps of a workspace")
    timeline.add_argument("--workspace", type=Path, required=True, metavar="PATH", help="the project folder")
    timeline.add_argument("--json", action="store_true", help="one JSON document")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. Errors become one line, never a traceback."""
    given = parser().parse_args(argv)
    try:
        return _command(given)(given)
    except HelixError as error:
        sys.stderr.write(f"helix-desktop: {error}\n")
        return LOCKED if hasattr(error, "owner_pid") else FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone; nothing more can be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _command(given: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The command's code, imported only when it runs: the window must not wait for the others."""
    match given.command:
        case "run":
            from helix_desktop.app.headless import run_turn

            return run_turn
        case "cache":
            from helix_desktop.app.headless import cache

            return cache
        case "timeline":
            from helix_desktop.app.headless import timeline

            return timeline
        case "self-check":
            from helix_desktop.app.self_check import self_check

            return self_check
        case "demo" | "screenshots":
            return _pictured(given.command)
    from helix_desktop.app.main import show_window

    return show_window


def _pictured(command: str) -> Callable[[argparse.Namespace], int]:
    from helix_desktop.app.guided import demo, screenshots

    return demo if command == "demo" else screenshots
