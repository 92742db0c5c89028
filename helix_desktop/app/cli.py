"""The command line: the window by default, and what works without one."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, get_args

from helix_desktop.app.find_grammar import add_find_verbs
from helix_desktop.app.keep_grammar import add_keep_verbs
from helix_desktop.app.targets import OPEN, with_command
from helix_desktop.context.errors import (
    ArchiveUnusable,
    DataDirUnusable,
    DigestAmbiguous,
    DigestUnknown,
    HelixError,
    InputUnusable,
    RecordingUnusable,
    SettingsDamaged,
    StoreLocked,
    WorkspaceMissing,
    WorkspaceUntrusted,
)
from helix_desktop.context.tool import Mode

USAGE, FAILED, LOCKED, INTERRUPTED = 2, 1, 3, 130  # exit codes
SAMPLE_PYTHON = "sample-python"
LEAST_WINDOW = 1_000  # tokens: less does not hold the tools' descriptions
MOST_JOBS = 64
HIGHEST_PORT = 65_535
_GIVEN = (
    InputUnusable,
    DataDirUnusable,
    SettingsDamaged,
    WorkspaceMissing,
    WorkspaceUntrusted,
    RecordingUnusable,
    ArchiveUnusable,
    DigestUnknown,
    DigestAmbiguous,
)
"""What is wrong with what was given, on the command line or in a file that a person wrote."""

log = logging.getLogger(__name__)


class _Version(argparse.Action):
    """Says which build this is; reads that only when it is asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Exit with 0. Raises HelixError."""
        from helix_desktop.config.build import this_build

        sys.stdout.write(f"{this_build().text}\n")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        sys.stderr.write(f"helix-desktop: {message} (see helix-desktop --help)\n")
        raise SystemExit(USAGE)


def _folder(text: str) -> Path:
    if not text.strip():  # Path("") is the current folder, which an unset variable of a script does not mean
        raise argparse.ArgumentTypeError("no folder is named")
    return Path(text)


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it says nothing")
    return text


def _tokens(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_WINDOW:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least {LEAST_WINDOW} tokens")
    return int(text)


def _budget(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens: 200000, for example")
    return int(text)


def _money(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of US dollars: 2.50, for example")
    return amount


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_JOBS}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 0 to {HIGHEST_PORT}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to 1")
    return share


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    return _grammar()[0]


def _grammar() -> tuple[argparse.ArgumentParser, argparse._SubParsersAction[_Parser]]:
    """The grammar, and its commands."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--data-dir",
        type=_folder,
        default=argparse.SUPPRESS,
        metavar="DIR",
        help="where Helix Desktop keeps its data",
    )
    root = _Parser(
        prog="helix-desktop",
        description="An agent's context, managed and in sight. Instead of a command, TARGET is an exported "
        "workspace (FILE.helix) or a link (helix:…), shown in the window.",
        parents=[common],
    )
    root.add_argument("--version", action=_Version, nargs=0, help="say which build this is")
    root.add_argument("--workspace", type=_folder, metavar="PATH", help="open this folder in the window")
    root.add_argument("--demo", action="store_true", help="open the guided sample in the window")
    commands = root.add_subparsers(dest="command", metavar="COMMAND | TARGET")
    # Not listed, having no help text. Nothing may follow a target: a program that opens a link for a person
    # may let it end in words of its own, and another data directory would bring another's trust along.
    opening = commands.add_parser(OPEN, prog="helix-desktop")
    opening.add_argument("target", metavar="TARGET")
    _add_run(commands, common)
    _add_cache(commands, common)
    _add_timeline(commands, common)
    _add_backup(commands, common)
    _add_move(commands, common)
    _add_replay(commands, common)
    _add_mcp(commands, common)
    terms = commands.add_parser("licences", parents=[common], help="what is shipped, and under which terms")
    terms.add_argument("--texts", action="store_true", help="with the texts in full")
    terms.add_argument("--json", action="store_true", help="one JSON document")
    checking = commands.add_parser("self-check", parents=[common], help="prove this installation")
    checking.add_argument("--json", action="store_true", help="one JSON document")
    checking.add_argument(
        "--keyring", action="store_true", help="keep a made-up secret in the keychain, and remove it again"
    )
    checking.add_argument("--paint-only", action="store_true", help=argparse.SUPPRESS)  # how it calls itself
    for name, text in (
        ("demo", "run the guided demo without a display"),
        ("screenshots", "picture every screen"),
    ):
        made = commands.add_parser(name, parents=[common], help=text)
        made.add_argument("--out", type=_folder, required=True, metavar="DIR", help="where the pictures go")
    return root, commands


def _add_run(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    run = commands.add_parser(
        "run",
        parents=[common],
        help="one turn, events as JSON lines with --json",
        description="Run one turn. In a folder that nobody has trusted yet, by --trust or in the window, it "
        f"is refused with exit code {USAGE}: what lies there could act on this computer.",
    )
    run.add_argument("--workspace", type=_folder, required=True, metavar="PATH", help="the project folder")
    run.add_argument("--message", type=_words, required=True, metavar="TEXT", help="what to say to the agent")
    run.add_argument("--model", default="", metavar="PROVIDER/NAME", help="the model that answers")
    run.add_argument(
        "--base-url", default="", metavar="URL", help="a server that speaks OpenAI Chat Completions"
    )
    run.add_argument("--window", type=_tokens, default=0, metavar="TOKENS", help="the model's window")
    run.add_argument("--session", default="", metavar="ID", help="go on with this session, or `last`")
    run.add_argument(
        "--budget-tokens", type=_budget, metavar="N", help="tokens the session may spend; 0: any"
    )
    run.add_argument("--budget-usd", type=_money, metavar="X", help="US dollars it may spend; 0: any")
    run.add_argument(
        "--mode",
        choices=get_args(Mode),
        default="",
        help="how freely the agent acts (default: the session's)",
    )
    run.add_argument("--trust", action="store_true", help="trust the folder from now on")
    run.add_argument(
        "--yes", action="store_true", help="approve what would be asked; else only rules and the mode do"
    )
    run.add_argument("--json", action="store_true", help="print every event as a JSON line")


def _add_cache(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    cache = commands.add_parser("cache", help="the cached outputs of a workspace")
    verbs = cache.add_subparsers(
        dest="verb",
        metavar="list|search|show|verify|repair|export|import|gc|trash|restore|forget",
        required=True,
    )

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        verb.add_argument(
            "--workspace", type=_folder, required=True, metavar="PATH", help="the project folder"
        )
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
            verb.add_argument("file", type=_folder, metavar="FILE", help=helps[name])
        if name == "show":
            verb.add_argument("sha", metavar="SHA", help="a SHA-256, or its first digits")
        if name == "verify":
            verb.add_argument("sha", metavar="SHA", nargs="?", default="", help="one entry; all without it")
    add_find_verbs(add)
    add_keep_verbs(add)


def _add_timeline(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    timeline = commands.add_parser("timeline", parents=[common], help="handovers and sweeps of a workspace")
    timeline.add_argument(
        "--workspace", type=_folder, required=True, metavar="PATH", help="the project folder"
    )
    timeline.add_argument("--json", action="store_true", help="one JSON document")


def _add_backup(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    backup = commands.add_parser("backup", parents=[common], help="write every workspace to a file")
    backup.add_argument("folder", type=_folder, metavar="FOLDER", help="where the files go")
    backup.add_argument("--workspace", type=_folder, metavar="PATH", help="this project folder alone")
    backup.add_argument("--json", action="store_true", help="one JSON document")


def _add_move(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    move = commands.add_parser("move-data", parents=[common], help="keep everything in another folder")
    move.add_argument("folder", type=_folder, metavar="FOLDER", help="an empty folder, or a new one")
    move.add_argument("--remove-old", action="store_true", help="remove the old copy at the end")
    move.add_argument("--json", action="store_true", help="one JSON document")
    move.add_argument("--window", action="store_true", help=argparse.SUPPRESS)  # how the window calls it


def _add_mcp(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help="serve a workspace's cache to other programs (Model Context Protocol)",
        description="Serves recall_cached_content, search_cached_content and list_cached_content: over "
        "standard input and output, or with --http to programs of this machine that hold the token. The "
        "workspace can be open in the window meanwhile.",
    )
    mcp.add_argument("--workspace", type=_folder, required=True, metavar="PATH", help="the project folder")
    mcp.add_argument("--http", action="store_true", help="over HTTP on the loopback address")
    mcp.add_argument("--port", type=_port, default=0, metavar="N", help="with --http; by default a free one")


def _add_replay(commands: argparse._SubParsersAction[_Parser], common: _Parser) -> None:
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help="what a policy would have made of recorded sessions",
        description="A recording is a file of JSON lines, plain or gzip, one message each: "
        '{"role": "system|user|assistant|tool", "content": TEXT}, an assistant\'s with "tool_calls": '
        '[{"id", "name", "arguments"}], a tool\'s with "tool_call_id" and "name".',
    )
    replay.add_argument(
        "files", nargs="+", type=_folder, metavar="FILE", help="recordings, or folders of them"
    )
    replay.add_argument(
        "--policy",
        default="balanced",
        metavar="NAME",
        help="balanced, lean, classic, plain, off, or a TOML file",
    )
    replay.add_argument(
        "--window", type=_tokens, default=128_000, metavar="TOKENS", help="the model's window"
    )
    replay.add_argument("--recalls", action="store_true", help="put in recalls that an agent would make")
    replay.add_argument(
        "--recall-rate",
        type=_share,
        default=None,
        metavar="SHARE",
        help="recalls besides those of files read again, as a share of the model calls",
    )
    replay.add_argument(
        "--reach-every",
        type=_count,
        default=0,
        metavar="N",
        help="fetch all outputs at each Nth model call, not at the last alone",
    )
    replay.add_argument("--jobs", type=_jobs, default=1, metavar="N", help="processes at work")
    replay.add_argument("--json", action="store_true", help="one JSON document with the figures of each file")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. Errors become one line, never a traceback."""
    _stand_in_for_closed_streams()
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == [SAMPLE_PYTHON]:  # not for people, and its options are those of Python
        return _be_python(words[1:])
    given = argparse.Namespace()
    try:
        if not all(_is_text(word) for word in words):
            raise InputUnusable("An argument is no UTF-8 text.", fix="Give names and texts as UTF-8.")
        grammar, commands = _grammar()
        given = grammar.parse_args(with_command(words, commands.choices))
        code = _command(given)(given)
        sys.stdout.flush()
    except HelixError as error:
        _say(str(error))
        return LOCKED if isinstance(error, StoreLocked) else USAGE if isinstance(error, _GIVEN) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        _forget_output()
        if not isinstance(error, BrokenPipeError):  # a reader that has gone needs no words
            _say(f"{error}.")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defence: it is logged, and said in one line
        place = _keep_for_repair(given, error)
        _say(f"Helix Desktop made a mistake: {type(error).__name__}: {error}. The log is in {place}.")
        return FAILED
    return code


def _be_python(words: Sequence[str]) -> int:
    from helix_desktop.app.sample_python import run_python

    return run_python(words)


def _say(text: str) -> None:
    sys.stderr.write(f"helix-desktop: {' '.join(text.split())}\n")


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8 come as lone surrogates
        return False
    return True


def _stand_in_for_closed_streams() -> None:
    """Put something in the place of closed standard streams: else a database's file gets their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open as long as the process
            setattr(sys, name, nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names and outputs hold signs that a terminal may not
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _keep_for_repair(given: argparse.Namespace, error: Exception) -> Path:
    """Write an error that nobody foresaw to the log; the log's folder."""
    from helix_desktop.app.crash import close_log, open_log
    from helix_desktop.config.paths import DataDir

    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    with contextlib.suppress(HelixError, OSError):
        data.ensure()
        handler = open_log(data.logs_dir)
        log.error("a command failed", exc_info=error)
        close_log(handler)
    return data.logs_dir


def _forget_output() -> None:
    """Let what is still buffered for standard output go nowhere, so that the exit is quiet."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(given: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The command's code, imported only when it runs: the window must not wait for the others."""
    match given.command:
        case "run" | "cache" | "timeline" | "backup":
            return _on_workspaces(f"{given.command} {getattr(given, 'verb', '')}".rstrip())
        case "replay" | "mcp":
            return _beside_the_window(given.command)
        case "move-data":
            return _moved(given.window)
        case "self-check" | "licences":
            return _on_itself(given.command)
        case "demo" | "screenshots":
            return _pictured(given.command)
    from helix_desktop.app.main import show_window

    return show_window


def _on_itself(command: str) -> Callable[[argparse.Namespace], int]:
    if command == "licences":
        from helix_desktop.app.licensing import licences

        return licences
    from helix_desktop.app.self_check import self_check

    return self_check


def _on_workspaces(command: str) -> Callable[[argparse.Namespace], int]:
    from helix_desktop.app import carrying, headless

    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "run": headless.run_turn,
        "timeline": headless.timeline,
        "cache export": carrying.export,
        "cache import": carrying.take_in,
        "backup": carrying.backup,
    }
    return commands.get(command, headless.cache)


def _beside_the_window(command: str) -> Callable[[argparse.Namespace], int]:
    if command == "mcp":
        from helix_desktop.app.cache_serving import serve_cache

        return serve_cache
    from helix_desktop.app.replaying import replay

    return replay


def _moved(in_window: bool) -> Callable[[argparse.Namespace], int]:
    if in_window:
        from helix_desktop.app.moving_window import move_in_window

        return move_in_window
    from helix_desktop.app.moving import move_data

    return move_data


def _pictured(command: str) -> Callable[[argparse.Namespace], int]:
    from helix_desktop.app.guided import demo, screenshots

    return demo if command == "demo" else screenshots
