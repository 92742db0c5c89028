"""Parse what a start is to show: a folder, the sample, an exported workspace, or a link. No Qt here.

Between processes a launch target is one line of text: the path of a folder, empty for the last one, or one
of the prefixes here with what follows it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from helix_desktop.domain.choices import ARCHIVE_SUFFIX
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden
from helix_desktop.services.links import MAX_LENGTH, is_link

text = TextContext("Start")

SAMPLE_TARGET = "sample:"
"""The launch target of the guided sample."""
IMPORT_PREFIX = "import:"
"""The prefix of a launch target that is an exported workspace."""
OPEN_COMMAND = "open-target"
"""The command for "no command but a target"; it is inserted, never typed."""
_OPTIONS_WITH_VALUE = ("--data-dir", "--workspace")
_OPTIONS = (*_OPTIONS_WITH_VALUE, "--demo", "--version", "--help")
_FILE_SCHEME = "file:"


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
                "It must be a command, a folder, an exported workspace ({suffix}) or a helix: link.",
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
    """Return True if an argument is a folder, or looks like a link, a `file:` URL or an exported one."""
    lowered = argument.lower()
    if is_link(argument) or lowered.startswith(_FILE_SCHEME) or lowered.endswith(ARCHIVE_SUFFIX):
        return True
    return os.path.isdir(argument)


def parse_target(argument: str) -> str:
    """Return the launch target of a link, a `file:` URL, or a path. Raises InvalidInput."""
    if first_hidden(argument) or not argument.isprintable():
        raise InvalidInput(
            text("{target} contains hidden characters.", target=escape_hidden_name(argument[:MAX_LENGTH])),
            text("They could make it open something other than it shows."),
            text("Rename the file, or copy the link again."),
        )
    if is_link(argument):  # what it leads to is looked at in the window, where the user sees the answer
        return argument[: MAX_LENGTH + 1]
    path = _absolute_path(
        _path_from_uri(argument) if argument.lower().startswith(_FILE_SCHEME) else Path(argument)
    )
    if path.suffix.lower() != ARCHIVE_SUFFIX:
        if os.path.isdir(path):
            return str(path)
        raise InvalidInput(
            text("{path} can't be imported.", path=str(path)),
            text("The name of an exported workspace must end in {suffix}.", suffix=ARCHIVE_SUFFIX),
            text("Choose such a file."),
        )
    try:
        is_file = path.is_file()
    except OSError:  # a name that is too long, for one
        is_file = False
    if not is_file:
        raise InvalidInput(
            text("File not found: {path}.", path=str(path)),
            text("It doesn't exist, or is a folder."),
            text("Check the path."),
        )
    return IMPORT_PREFIX + str(path)


def _absolute_path(path: Path) -> Path:
    """Return the absolute path; it must fit in one line. Raises InvalidInput."""
    absolute = path.absolute()
    if first_hidden(str(absolute)) or any(sign in str(absolute) for sign in "\n\r\t"):
        raise InvalidInput(
            text("{target} contains hidden characters.", target=escape_hidden_name(str(absolute))),
            fix=text("Rename it."),
        )
    return absolute


def _path_from_uri(uri: str) -> Path:
    """Return the path of a `file:` URL, as desktop environments pass it. Raises InvalidInput."""
    from urllib.parse import urlsplit  # they load more than a start without an address needs
    from urllib.request import url2pathname

    try:
        parts = urlsplit(uri)
        if parts.netloc.lower() not in {"", "localhost"} or parts.query or parts.fragment:
            raise ValueError(uri)
        return Path(url2pathname(parts.path))
    except ValueError:
        raise InvalidInput(
            text("{url} doesn't point to a file on this computer.", url=uri[:MAX_LENGTH]),
            fix=text("Use the path of a file."),
        ) from None


def is_folder_target(target: str) -> bool:
    return bool(target) and target != SAMPLE_TARGET and not is_from_outside(target)


def is_from_outside(target: str) -> bool:
    """Return True if a launch target is an exported workspace or a link."""
    return target.startswith(IMPORT_PREFIX) or is_link(target)


def launch_target(args: argparse.Namespace) -> str:
    """Return the launch target of a command line. Raises InvalidInput if there are two."""
    targets = [
        *([SAMPLE_TARGET] if args.demo else []),
        *([str(_absolute_path(args.workspace))] if args.workspace else []),
        *([parse_target(args.target)] if getattr(args, "target", "") else []),
    ]
    if len(targets) > 1:
        raise InvalidInput(
            text("Only one thing can be opened at a time."),
            fix=text("Use only one of --demo, --workspace and TARGET."),
        )
    return targets[0] if targets else ""
