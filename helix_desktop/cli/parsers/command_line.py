"""The parser of the command line, and what is put right before it parses: argparse has no targets."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from helix_desktop.cli import argument_types
from helix_desktop.domain.choices import ARCHIVE_SUFFIX, FILE_SCHEME
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.exit_codes import USAGE
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:
    from helix_desktop.cli.parsers.all_commands import Commands

tr = Translator("Command line")
text = TextContext("Start")

OPEN_COMMAND = "open-target"
"""The command for "no command but a target"; it is inserted, never typed."""
_OPTIONS_WITH_VALUE = ("--data-dir", "--workspace")
_OPTIONS = (*_OPTIONS_WITH_VALUE, "--demo", "--version", "--help")

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
    command = argv[index]
    behind = list(argv[index + 1 :])
    if command not in _COMMAND_GROUPS:
        return [*staying, command, *moved, *behind]
    verb_index = first_positional(behind)
    of_group, moved_of_group = _split(behind[:verb_index])
    if verb_index == len(behind):  # the missing verb is the error, and not an option that the group lacks
        return [*staying, command, *of_group]
    verb = behind[verb_index]
    arguments = behind[verb_index + 1 :]
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


def is_for_window(argv: Sequence[str]) -> bool:
    """Return True for options of the window alone, without a target."""
    is_all_options = first_positional(argv) == len(argv)
    return is_all_options and all(word in _MOVED_OPTIONS for word in argv if word.startswith("-"))


def with_open_command(argv: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the arguments, with the command OPEN inserted before a target in the place of a command.

    argparse knows commands by name only. Raises InvalidInput for a word that is neither.
    """
    index = first_positional(argv)
    if index == len(argv) or argv[index] in commands:
        return list(argv)
    if index and _is_unknown_option(argv[index - 1]):  # what follows it may be its value
        raise InvalidInput(
            text("Unknown option: {option}.", option=escape_hidden_name(argv[index - 1])),
            fix=text("See {command}.", command="helix-desktop --help"),
        )
    if not _is_target(argv[index]):
        command_names = ", ".join(name for name in commands if name != OPEN_COMMAND)
        raise InvalidInput(
            text("Unknown command or file: '{argument}'.", argument=escape_hidden_name(argv[index])),
            text(
                "It must be a command, a folder or an exported workspace ({suffix}).",
                suffix=ARCHIVE_SUFFIX,
            ),
            text("Commands: {commands}.", commands=command_names),
        )
    return [*argv[:index], OPEN_COMMAND, *argv[index:]]


def first_positional(argv: Sequence[str]) -> int:
    index = 0
    while index < len(argv) and argv[index].startswith("-"):
        if argv[index] == "--":
            return index + 1
        index += 2 if has_separate_value(argv[index]) else 1
    return min(index, len(argv))


def _is_unknown_option(argument: str) -> bool:
    return argument.startswith("--") and argument != "--" and not is_option(argument, _OPTIONS)


def has_separate_value(argument: str) -> bool:
    return "=" not in argument and is_option(argument, _OPTIONS_WITH_VALUE)


def is_option(argument: str, options: Collection[str]) -> bool:
    """Return True if an argument is one of these options, perhaps abbreviated or with its value."""
    name = argument.partition("=")[0]
    return len(name) > len("--") and any(option.startswith(name) for option in options)


def _is_target(argument: str) -> bool:
    """Return True if an argument is a folder, or looks like a `file:` URL or an exported workspace."""
    lowered = argument.lower()
    if lowered.startswith(FILE_SCHEME) or lowered.endswith(ARCHIVE_SUFFIX):
        return True
    return os.path.isdir(argument)


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


class _Version(argparse.Action):
    """Prints the build, which is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from helix_desktop.config.build_info import current_build

        sys.stdout.write(f"{current_build().text}\n")
        parser.exit()


class WrongArguments(SystemExit):
    """The arguments are wrong, and that has been said; `what` in the words of the parser."""

    def __init__(self, what: str) -> None:
        super().__init__(USAGE)
        self.what = verbatim(what)


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        print_error(tr("{error} (see {command})", error=message, command=f"{self.prog} --help"))
        raise WrongArguments(message)


def build_parser() -> argparse.ArgumentParser:
    return build_command_parsers()[0]


def build_command_parsers(*, with_all_commands: bool = True) -> tuple[argparse.ArgumentParser, Commands]:
    """Return the parser and its commands; a window that opens waits for them, and needs none."""
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
            "opens. Instead of a command, TARGET can be a folder or an exported workspace ({file}).",
            file="FILE.helix",
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
    # Not listed, having no help text. Nothing may follow a target: a program that opens a file for a user
    # may let it end in words of its own, and another data directory would bring another's trust along.
    opening = commands.add_parser(OPEN_COMMAND, prog="helix-desktop")
    opening.add_argument("target", metavar="TARGET")
    if with_all_commands:
        from helix_desktop.cli.parsers.all_commands import add_commands

        add_commands(commands, common)
    return root, commands


def print_error(text: str) -> None:
    sys.stderr.write(f"helix-desktop: {' '.join(text.split())}\n")
