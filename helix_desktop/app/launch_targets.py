"""Parse what a start is to show: a folder, the sample, an exported workspace, or a link. No Qt here.

Between processes a launch target is one line of text: the path of a folder, empty for the last one, or one
of the prefixes here with what follows it.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.store.archive_report import SUFFIX
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden
from helix_desktop.services.links import MAX_LENGTH, is_link

SAMPLE_TARGET = "sample:"
"""The launch target of the guided sample."""
IMPORT_PREFIX = "import:"
"""The prefix of a launch target that is an exported workspace."""
OPEN_COMMAND = "open-target"
"""The command for "no command but a target"; it is inserted, never typed."""
_OPTIONS_WITH_VALUE = ("--data-dir", "--workspace")
_FILE_SCHEME = "file:"


def with_open_command(argv: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the arguments, with the command OPEN inserted before a target in the place of a command.

    argparse knows commands by name only. Raises InvalidInput for a word that is neither.
    """
    index = _first_positional(argv)
    if index == len(argv) or argv[index] in commands:
        return list(argv)
    if not is_target(argv[index]):
        command_names = ", ".join(name for name in commands if name != OPEN_COMMAND)
        raise InvalidInput(
            f"'{escape_hidden_name(argv[index])}' is no command, no workspace file ({SUFFIX}), "
            "no link (helix:).",
            fix=f"Commands: {command_names}.",
        )
    return [*argv[:index], OPEN_COMMAND, *argv[index:]]


def _first_positional(argv: Sequence[str]) -> int:
    """Return the index of the first argument that is neither an option nor an option's value."""
    index = 0
    while index < len(argv) and argv[index].startswith("-"):
        if argv[index] == "--":
            return index + 1
        takes_value = "=" not in argv[index] and any(
            len(argv[index]) > len("--") and option.startswith(argv[index]) for option in _OPTIONS_WITH_VALUE
        )
        index += 2 if takes_value else 1
    return min(index, len(argv))


def is_target(text: str) -> bool:
    """Return True if an argument looks like a link, a `file:` URL, or an exported workspace."""
    return is_link(text) or text.lower().startswith(_FILE_SCHEME) or text.lower().endswith(SUFFIX)


def parse_target(text: str) -> str:
    """Return the launch target of a link, a `file:` URL, or a path. Raises InvalidInput."""
    if first_hidden(text) or not text.isprintable():
        raise InvalidInput(
            f"{escape_hidden_name(text[:MAX_LENGTH])} holds signs that cannot be seen.",
            "What is read must be what is opened.",
            "Rename the file, or copy the link again.",
        )
    if is_link(text):  # what it leads to is looked at in the window, where a person sees the answer
        return text[: MAX_LENGTH + 1]
    path = _absolute_path(_path_from_uri(text) if text.lower().startswith(_FILE_SCHEME) else Path(text))
    if path.suffix.lower() != SUFFIX:
        raise InvalidInput(f"{path} is no exported workspace.", f"Its name does not end in {SUFFIX}.")
    try:
        is_file = path.is_file()
    except OSError:  # a name that is too long, for one
        is_file = False
    if not is_file:
        raise InvalidInput(f"{path} is not a file.", "It was moved or deleted, or is a folder.")
    return IMPORT_PREFIX + str(path)


def _absolute_path(path: Path) -> Path:
    """Return the absolute path; it must fit in one line. Raises InvalidInput."""
    absolute = path.absolute()
    if first_hidden(str(absolute)) or any(sign in str(absolute) for sign in "\n\r\t"):
        raise InvalidInput(
            f"{escape_hidden_name(str(absolute))} holds signs that cannot be seen.", fix="Rename it."
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
            f"{uri[:MAX_LENGTH]} is no file of this machine.", "", "Give the path of a file."
        ) from None


def launch_target(args: argparse.Namespace) -> str:
    """Return the launch target of a command line. Raises InvalidInput if there are two."""
    targets = [
        *([SAMPLE_TARGET] if args.demo else []),
        *([str(_absolute_path(args.workspace))] if args.workspace else []),
        *([parse_target(args.target)] if getattr(args, "target", "") else []),
    ]
    if len(targets) > 1:
        raise InvalidInput(
            "One thing can be opened at a time.", fix="Leave --demo, --workspace or TARGET out."
        )
    return targets[0] if targets else ""
