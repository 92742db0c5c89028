"""Parse what a start is to show: a folder, the sample, an exported workspace, or a session. No Qt here.

Between processes a launch target is one line of text: the path of a folder, empty for the last one, or one
of the prefixes here with what follows it.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from helix_desktop.domain.choices import ARCHIVE_SUFFIX, FILE_SCHEME
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name, first_hidden

text = TextContext("Start")

SAMPLE_TARGET = "sample:"
"""The launch target of the guided sample."""
IMPORT_PREFIX = "import:"
"""The prefix of a launch target that is an exported workspace."""
SESSION_PREFIX = "session:"
"""The prefix of a launch target that is a session, by the beginning of its id."""
_SHOWN_CHARS = 400  # of a target that can't be opened


def parse_target(argument: str) -> str:
    """Return the launch target of a path or a `file:` URL. Raises InvalidInput."""
    if first_hidden(argument) or not argument.isprintable():
        raise InvalidInput(
            text("{target} contains hidden characters.", target=escape_hidden_name(argument[:_SHOWN_CHARS])),
            text("They could make it open something other than it shows."),
            text("Rename it."),
        )
    path = _absolute_path(
        _path_from_uri(argument) if argument.lower().startswith(FILE_SCHEME) else Path(argument)
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
            text("{url} doesn't point to a file on this computer.", url=uri[:_SHOWN_CHARS]),
            fix=text("Use the path of a file."),
        ) from None


def is_folder_target(target: str) -> bool:
    return bool(target) and target != SAMPLE_TARGET and not is_from_outside(target)


def is_from_outside(target: str) -> bool:
    """Return True if a launch target is an exported workspace or a session."""
    return target.startswith((IMPORT_PREFIX, SESSION_PREFIX))


def launch_target(args: argparse.Namespace) -> str:
    """Return the launch target of a command line. Raises InvalidInput if there are two."""
    targets = [
        *([SAMPLE_TARGET] if args.demo else []),
        *([str(_absolute_path(args.workspace))] if args.workspace else []),
        *([parse_target(args.target)] if getattr(args, "target", "") else []),
        *([SESSION_PREFIX + args.session] if getattr(args, "session", "") else []),
    ]
    if len(targets) > 1:
        raise InvalidInput(
            text("Only one thing can be opened at a time."),
            fix=text("Use only one of --demo, --workspace and TARGET."),
        )
    return targets[0] if targets else ""
