"""Runs the window by default, and what works without one: which function runs a command, and its errors."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from helix_desktop.cli.parsers.command_line import (
    OPEN_COMMAND,
    WrongArguments,
    build_command_parsers,
    is_for_window,
    move_leading_options,
    print_error,
    with_open_command,
)
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
from helix_desktop.domain.translatable_text import OptionalText, TextContext, system_reason
from helix_desktop.system.exit_codes import FAILED, INTERRUPTED, LOCKED, READER_GONE, USAGE
from helix_desktop.words.translation import Translator, error_text, use_language

log = logging.getLogger(__name__)

tr = Translator("Command line")
text = TextContext("Command line")

Command = Callable[[argparse.Namespace], int]
"""Run a command with its parsed arguments; return the exit code."""


def resolve_command(args: argparse.Namespace) -> Command:
    """Return the function of a command, imported only now: the window must not wait for the others."""
    match args.command:
        case "run":
            from helix_desktop.cli.run import run_turn

            return run_turn
        case "cache":
            from helix_desktop.cli import backup
            from helix_desktop.cli.cache_command import cache

            others: dict[str, Command] = {"export": backup.export, "import": backup.import_file}
            return others.get(args.verb, cache)
        case "changes":
            from helix_desktop.cli.changes_command import changes

            return changes
        case "backup" | "import":
            from helix_desktop.cli import backup

            return backup.backup if args.command == "backup" else backup.import_sessions
        case "timeline" | "sessions" | "branch" as command:
            from helix_desktop.cli import sessions

            return {
                "timeline": sessions.timeline,
                "sessions": sessions.list_sessions,
                "branch": sessions.branch,
            }[command]
        case "search":
            from helix_desktop.cli.search import search

            return search
        case "commands" | "licenses" | "licences":
            from helix_desktop.cli import commands

            return commands.list_commands if args.command == "commands" else commands.licenses
        case "replay":
            from helix_desktop.cli.replay import replay

            return replay
        case "mcp":
            from helix_desktop.cli.mcp_serve import serve_cache

            return serve_cache
        case "self-check":
            from helix_desktop.diagnostics.self_check import self_check

            return self_check
    from helix_desktop.app.plain_startup_error import remove_import_hook

    remove_import_hook()
    if args.command == "demo":
        from helix_desktop.demo.run_without_display import demo

        return demo
    from helix_desktop.app.main import show_window

    return show_window


SAMPLE_PYTHON = "sample-python"
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's 700 cost a quarter of the time in which a log of 300,000 events is read."""
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. Errors become one line, never a traceback."""
    _replace_closed_streams()
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == [SAMPLE_PYTHON]:  # not for people, and its options are those of Python
        from helix_desktop.services.samples import run_sample_python

        return run_sample_python(arguments[1:])
    args = argparse.Namespace()
    is_json = "--json" in arguments
    try:
        _speak_the_users_language()
        if not all(_is_utf8(word) for word in arguments):
            raise InvalidInput(
                text("An argument isn't valid UTF-8."), fix=text("Use UTF-8 for names and texts.")
            )
        parser, commands = build_command_parsers(with_all_commands=not is_for_window(arguments))
        words = move_leading_options(with_open_command(arguments, commands.choices))
        args = parser.parse_args(words)
        command = resolve_command(args)
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()  # off since `start`, while modules were loaded
        code = command(args)
        sys.stdout.flush()
    except WrongArguments as mistake:
        if is_json:
            _print_json_error(mistake.what, code=USAGE)
        raise
    except HelixError as error:
        print_error(error_text(error))
        code = _exit_code(error)
        if is_json:
            _print_json_error(error.what, error.why, error.fix, code=code)
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # a reader that has gone needs no words
        _discard_output()
        return READER_GONE
    except OSError as error:
        _discard_output()
        print_error(error_text(_system_error(error)))
        _show_failed_window(args, error, "")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defense: it is logged, and said in one line
        log_place = tr("The log is in {folder}.", folder=_log_unexpected_error(args, error))
        what = tr("Something went wrong ({error}).", error=f"{type(error).__name__}: {error}")
        print_error(f"{what} {log_place}")
        _show_failed_window(args, error, log_place)
        return FAILED
    return code


def _exit_code(error: HelixError) -> int:
    if isinstance(error, StoreLocked):
        return LOCKED
    return USAGE if isinstance(error, _USAGE_ERRORS) else FAILED


def _print_json_error(*texts: OptionalText, code: int) -> None:
    from helix_desktop.cli.output import print_json_error

    with contextlib.suppress(OSError):
        print_json_error(*texts, code=code)
        sys.stdout.flush()


def _system_error(error: OSError) -> HelixError:
    """Return what the system refused, in words; without a file it may be the output of the command."""
    if error.filename:
        fix = text("Check that it exists and that you may read and write it.")
        return HelixError(text("Couldn't use {file}.", file=error.filename), system_reason(error), fix)
    fix = text("Check the disk, and where the output goes.")
    return HelixError(text("Couldn't read or write."), system_reason(error), fix)


def _show_failed_window(args: argparse.Namespace, error: Exception, log_place: str) -> None:
    """Show an unexpected error of the window in a message box: who started it may see no terminal."""
    if getattr(args, "command", "") not in (None, "open", OPEN_COMMAND):
        return
    from helix_desktop.app.plain_startup_error import (
        couldnt_start_text,
        damaged_installation_text,
        show_plain_startup_error,
    )

    what = tr("Something went wrong, and Helix Desktop had to stop.")
    fix = log_place
    if isinstance(error, ImportError):
        what = couldnt_start_text()
        fix = f"{damaged_installation_text()} {log_place}"
    show_plain_startup_error(what, f"{type(error).__name__}: {error}", fix)


def _speak_the_users_language() -> None:
    """Choose the language of this process; Qt is loaded for any but English. Raises HelixError."""
    folder = resources_dir() / "languages"
    catalog = find_catalog(os.environ, folder)
    if unknown := unknown_language(os.environ, folder):
        print_error(
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
    from helix_desktop.config.log_file import close_log, open_log
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
