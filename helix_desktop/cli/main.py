"""The command line: the window by default, and what works without one; which function runs a command."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NoReturn

from helix_desktop.app.exit_codes import FAILED, INTERRUPTED, LOCKED, USAGE
from helix_desktop.app.launch_targets import (
    OPEN_COMMAND,
    first_positional,
    has_separate_value,
    is_option,
    with_open_command,
)
from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.all_commands import add_commands
from helix_desktop.cli.parsers.options import Commands
from helix_desktop.config.languages import LANGUAGE_VARIABLE, catalog_codes, find_catalog, unknown_language
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import (
    DataDirUnavailable,
    DigestAmbiguous,
    DigestUnknown,
    HelixError,
    InvalidArchive,
    InvalidInput,
    InvalidRecording,
    ModelNotChosen,
    SettingsDamaged,
    StoreLocked,
    WorkspaceMissing,
    WorkspaceUntrusted,
)
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, use_language

log = logging.getLogger(__name__)

tr = Translator("Command line")


def translate_argparse() -> None:
    """Let argparse speak the user's language: it looks its words up with a function of its module."""
    words = _words()
    vars(argparse).update(_=lambda message: words.get(message, message))


def _words() -> dict[str | None, str]:
    """Return argparse's texts as it looks them up, each with what to show; facts are its own placeholders."""
    return {
        "usage: ": tr("usage: "),
        "options": tr("options"),
        "positional arguments": tr("positional arguments"),
        "show this help message and exit": tr("show this help and exit"),
        "argument %(argument_name)s: %(message)s": tr(
            "argument {name}: {problem}", name="%(argument_name)s", problem="%(message)s"
        ),
        "ambiguous option: %(option)s could match %(matches)s": tr(
            "ambiguous option: {option} could match {matches}", option="%(option)s", matches="%(matches)s"
        ),
        "not allowed with argument %s": tr("can't be used with {argument}", argument="%s"),
        "expected one argument": tr("expected one argument"),
        "expected at least one argument": tr("expected at least one argument"),
        "ignored explicit argument %r": tr("takes no value (got {value})", value="%r"),
        "invalid choice: %(value)r (choose from %(choices)s)": tr(
            "invalid choice: {value} (choose from {choices})", value="%(value)r", choices="%(choices)s"
        ),
        "invalid %(type)s value: %(value)r": tr("invalid value: {value}", value="%(value)r"),
        "the following arguments are required: %s": tr(
            "the following arguments are required: {arguments}", arguments="%s"
        ),
        "unrecognized arguments: %s": tr("unrecognized arguments: {arguments}", arguments="%s"),
    }


Command = Callable[[argparse.Namespace], int]
"""Run a command with its parsed arguments; return the exit code."""


def resolve_command(args: argparse.Namespace) -> Command:
    """Return the function of a command, imported only now: the window must not wait for the others."""
    match args.command:
        case (
            "run"
            | "cache"
            | "changes"
            | "commands"
            | "timeline"
            | "backup"
            | "sessions"
            | "branch"
            | "import"
            | "search"
        ):
            return _workspace_command(f"{args.command} {getattr(args, 'verb', '')}".rstrip())
        case "replay" | "mcp":
            return _standalone_command(args.command)
        case "move-data":
            return _move_command(args.window)
        case "self-check" | "licenses" | "licences":
            return _installation_command(args.command)
        case "demo":
            return _demo_command()
    return _window_command()


def _window_command() -> Command:
    from helix_desktop.app.plain_startup_error import remove_import_hook

    remove_import_hook()
    from helix_desktop.app.main import show_window

    return show_window


def _installation_command(command: str) -> Command:
    if command != "self-check":
        from helix_desktop.cli.commands import licenses

        return licenses
    from helix_desktop.diagnostics.self_check import self_check

    return self_check


def _workspace_command(command: str) -> Command:
    from helix_desktop.cli import backup, commands, foreign_import, run, search, sessions
    from helix_desktop.cli.cache_command import cache

    if command.startswith("changes "):
        from helix_desktop.cli.changes_command import changes

        return changes
    functions: dict[str, Command] = {
        "run": run.run_turn,
        "commands": commands.list_commands,
        "timeline": sessions.timeline,
        "sessions": sessions.list_sessions,
        "branch": sessions.branch,
        "cache export": backup.export,
        "cache import": backup.import_file,
        "backup": backup.backup,
        "import": foreign_import.import_sessions,
        "search": search.search,
    }
    return functions.get(command, cache)


def _standalone_command(command: str) -> Command:
    if command == "mcp":
        from helix_desktop.cli.mcp_serve import serve_cache

        return serve_cache
    from helix_desktop.cli.replay import replay

    return replay


def _move_command(in_window: bool) -> Command:
    if in_window:
        from helix_desktop.app.data_move_window import move_in_window

        return move_in_window
    from helix_desktop.cli.commands import move_data

    return move_data


def _demo_command() -> Command:
    from helix_desktop.app.plain_startup_error import remove_import_hook

    remove_import_hook()
    from helix_desktop.demo.run_demo import demo

    return demo


text = TextContext("Command line")

SAMPLE_PYTHON = "sample-python"
_USAGE_ERRORS = (
    InvalidInput,
    ModelNotChosen,
    DataDirUnavailable,
    SettingsDamaged,
    WorkspaceMissing,
    WorkspaceUntrusted,
    InvalidRecording,
    InvalidArchive,
    DigestUnknown,
    DigestAmbiguous,
)
"""Errors in the input: on the command line, or in a file that the user wrote."""

_COMMAND_GROUPS = ("cache", "changes")
_MOVED_OPTIONS = ("--data-dir", "--workspace", "--demo")
_END_OF_OPTIONS = "--"


def move_leading_options(argv: Sequence[str]) -> list[str]:
    """Return the arguments with the options before a command, or before its verb, moved behind it.

    Options before a target stay where they are: nothing may follow one. A `--` before either is left out.
    """
    index = first_positional(argv)
    staying, moved = _split(argv[:index])
    if index == len(argv) or argv[index] == OPEN_COMMAND:
        return [*(word for word in argv[:index] if word != _END_OF_OPTIONS), *argv[index:]]
    command, behind = argv[index], list(argv[index + 1 :])
    if command not in _COMMAND_GROUPS:
        return [*staying, command, *moved, *behind]
    verb_index = first_positional(behind)
    of_group, moved_of_group = _split(behind[:verb_index])
    if verb_index == len(behind):  # the missing verb is the error, and not an option that the group lacks
        return [*staying, command, *of_group]
    verb, arguments = behind[verb_index], behind[verb_index + 1 :]
    return [*staying, command, *of_group, verb, *moved, *moved_of_group, *arguments]


def _split(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options that stay before a command, and those that are moved, with their values."""
    staying: list[str] = []
    moved: list[str] = []
    words = iter(options)
    for word in words:
        if word == _END_OF_OPTIONS:
            continue
        group = moved if is_option(word, _MOVED_OPTIONS) else staying
        group.append(word)
        if has_separate_value(word):
            group.extend(islice(words, 1))
    return staying, moved


class _Version(argparse.Action):
    """Prints the build, which is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from helix_desktop.config.build_info import current_build

        sys.stdout.write(f"{current_build().text}\n")
        parser.exit()


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with 2."""
        _print_error(tr("{error} (see {command})", error=message, command=f"{self.prog} --help"))
        raise SystemExit(USAGE)


def build_parser() -> argparse.ArgumentParser:
    return _build_parser()[0]


def _build_parser() -> tuple[argparse.ArgumentParser, Commands]:
    translate_argparse()
    common = _Parser(add_help=False)
    common.add_argument(
        "--data-dir",
        action=argument_types.SinglePath,
        type=argument_types.path,
        default=argparse.SUPPRESS,
        metavar="DIR",
        help=tr("folder where Helix Desktop keeps its data"),
    )
    root: argparse.ArgumentParser = _Parser(
        prog="helix-desktop",
        description=tr(
            "Manage the context of an AI coding agent, and see what is in it. Without a command, the window "
            "opens. Instead of a command, TARGET can be a folder, an exported workspace ({file}) or a link "
            "({link}).",
            file="FILE.helix",
            link="helix:…",
        ),
        parents=[common],
    )
    root.add_argument("--version", action=_Version, nargs=0, help=tr("show the version and build"))
    root.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("project folder; without a command, the window opens it"),
    )
    root.add_argument("--demo", action="store_true", help=tr("open the guided sample in the window"))
    commands = root.add_subparsers(dest="command", metavar="COMMAND | TARGET")
    # Not listed, having no help text. Nothing may follow a target: a program that opens a link for a person
    # may let it end in words of its own, and another data directory would bring another's trust along.
    opening = commands.add_parser(OPEN_COMMAND, prog="helix-desktop")
    opening.add_argument("target", metavar="TARGET")
    add_commands(commands, common)
    return root, commands


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Errors become one line, never a traceback."""
    _replace_closed_streams()
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == [SAMPLE_PYTHON]:  # not for people, and its options are those of Python
        return _run_sample_python(arguments[1:])
    args = argparse.Namespace()
    try:
        _speak_the_users_language()
        if not all(_is_utf8(word) for word in arguments):
            raise InvalidInput(
                text("An argument isn't valid UTF-8."), fix=text("Use UTF-8 for names and texts.")
            )
        parser, commands = _build_parser()
        words = move_leading_options(with_open_command(arguments, commands.choices))
        args = parser.parse_args(words)
        code = resolve_command(args)(args)
        sys.stdout.flush()
    except HelixError as error:
        _print_error(error_text(error))
        return (
            LOCKED
            if isinstance(error, StoreLocked)
            else USAGE
            if isinstance(error, _USAGE_ERRORS)
            else FAILED
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        _discard_output()
        if not isinstance(error, BrokenPipeError):  # a reader that has gone needs no words
            _print_error(error_text(_system_error(error)))
            _show_failed_window(args, error, "")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defense: it is logged, and said in one line
        log_place = tr("The log is in {folder}.", folder=_log_unexpected_error(args, error))
        what = tr("Something went wrong ({error}).", error=f"{type(error).__name__}: {error}")
        _print_error(f"{what} {log_place}")
        _show_failed_window(args, error, log_place)
        return FAILED
    return code


def _system_error(error: OSError) -> HelixError:
    """Return what the system refused, in words; without a file it may be the output of the command."""
    if error.filename:
        fix = text("Check that it exists and that you may read and write it.")
        return HelixError(text("Couldn't use {file}.", file=error.filename), system_reason(error), fix)
    fix = text("Check the disk, and where the output goes.")
    return HelixError(text("Couldn't read or write."), system_reason(error), fix)


def _show_failed_window(args: argparse.Namespace, error: Exception, log_place: str) -> None:
    """Show an unexpected error of the window in a message box: who started it may see no terminal."""
    if getattr(args, "command", "") not in (None, OPEN_COMMAND):
        return
    from helix_desktop.app.plain_startup_error import (
        couldnt_start_text,
        damaged_installation_text,
        show_plain_startup_error,
    )

    what, fix = tr("Something went wrong, and Helix Desktop had to stop."), log_place
    if isinstance(error, ImportError):
        what, fix = couldnt_start_text(), f"{damaged_installation_text()} {log_place}"
    show_plain_startup_error(what, f"{type(error).__name__}: {error}", fix)


def _run_sample_python(argv: Sequence[str]) -> int:
    from helix_desktop.services.samples import run_sample_python

    return run_sample_python(argv)


def _speak_the_users_language() -> None:
    """Choose the language of this process; Qt is loaded for any but English. Raises HelixError."""
    folder = resources_dir() / "languages"
    catalog = find_catalog(os.environ, folder)
    if unknown := unknown_language(os.environ, folder):
        _print_error(
            tr(
                "Unknown language in {variable}: {code}. English is used. Helix Desktop has: {languages}.",
                variable=LANGUAGE_VARIABLE,
                code=unknown,
                languages=catalog_codes(folder),
            )
        )
    if catalog is not None:
        from helix_desktop.app.plain_startup_error import remove_import_hook

        remove_import_hook()
        from helix_desktop.app.qt_language import load_language

        use_language(load_language(catalog))


def _print_error(text: str) -> None:
    sys.stderr.write(f"helix-desktop: {' '.join(text.split())}\n")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8 come as lone surrogates
        return False
    return True


def _replace_closed_streams() -> None:
    """Replace closed standard streams, so that no other file gets their numbers; use UTF-8 on the others."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open as long as the process
            setattr(sys, name, nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # file names and outputs hold signs that a terminal may not
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _log_unexpected_error(args: argparse.Namespace, error: Exception) -> Path:
    """Log an unexpected error; return the folder of the log."""
    from helix_desktop.app.crash_log import close_log, open_log
    from helix_desktop.config.paths import DataDir

    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    with contextlib.suppress(HelixError, OSError):
        data.ensure()
        handler = open_log(data.logs_dir)
        log.error("a command failed", exc_info=error)
        close_log(handler)
    return data.logs_dir


def _discard_output() -> None:
    """Discard what is still buffered for standard output, so that the exit is quiet."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
