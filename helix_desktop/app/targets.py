"""What a start is to show: a folder, the sample, an exported workspace, or what a link leads to. No Qt here.

Between processes a wish is one line of text: the path of a folder, empty for the last one, or one of the
prefixes here with what follows it.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from helix_desktop.context.archive import SUFFIX
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.link import LONGEST, is_link
from helix_desktop.context.signs import first_hidden, revealed_name

SAMPLE_WISH = "sample:"
"""Asks for the guided sample."""
FILE_WISH = "import:"
"""Before the path of an exported workspace."""
OPEN = "open-target"
"""The command that stands for "no command but a target"; it is put in, never typed."""
_WITH_VALUE = ("--data-dir", "--workspace")
_FILE_URI = "file:"


def with_command(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """The words of a command line, with the command OPEN put before a target that stands where one would.

    argparse knows commands by name only. Raises InputUnusable for a word that is neither.
    """
    at = _first_plain(words)
    if at == len(words) or words[at] in commands:
        return list(words)
    if not is_target(words[at]):
        known = ", ".join(one for one in commands if one != OPEN)
        raise InputUnusable(
            f"'{revealed_name(words[at])}' is no command, no workspace file ({SUFFIX}), no link (helix:).",
            fix=f"Commands: {known}.",
        )
    return [*words[:at], OPEN, *words[at:]]


def _first_plain(words: Sequence[str]) -> int:
    """Where the first word stands that is neither an option nor an option's value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return at + 1
        takes = "=" not in words[at] and any(
            len(words[at]) > len("--") and option.startswith(words[at]) for option in _WITH_VALUE
        )
        at += 2 if takes else 1
    return min(at, len(words))


def is_target(word: str) -> bool:
    """Whether a word claims to be a link, a file's address, or an exported workspace."""
    return is_link(word) or word.lower().startswith(_FILE_URI) or word.lower().endswith(SUFFIX)


def wish_of(word: str) -> str:
    """The wish of a link, an address `file:`, or a path. Raises InputUnusable."""
    if first_hidden(word) or not word.isprintable():
        raise InputUnusable(
            f"{revealed_name(word[:LONGEST])} holds signs that cannot be seen.",
            "What is read must be what is opened.",
            "Rename the file, or copy the link again.",
        )
    if is_link(word):  # what it leads to is looked at in the window, where a person sees the answer
        return word[: LONGEST + 1]
    path = _readable(_path(word) if word.lower().startswith(_FILE_URI) else Path(word))
    if path.suffix.lower() != SUFFIX:
        raise InputUnusable(f"{path} is no exported workspace.", f"Its name does not end in {SUFFIX}.")
    try:
        found = path.is_file()
    except OSError:  # a name that is too long, for one
        found = False
    if not found:
        raise InputUnusable(f"{path} is not a file.", "It was moved or deleted, or is a folder.")
    return FILE_WISH + str(path)


def _readable(path: Path) -> Path:
    """The whole path, which a wish hands over in one line. Raises InputUnusable."""
    whole = path.absolute()
    if first_hidden(str(whole)) or any(sign in str(whole) for sign in "\n\r\t"):
        raise InputUnusable(f"{revealed_name(str(whole))} holds signs that cannot be seen.", fix="Rename it.")
    return whole


def _path(uri: str) -> Path:
    """The path of an address `file:`, as desktop environments hand it over. Raises InputUnusable."""
    from urllib.parse import urlsplit  # they load more than a start without an address needs
    from urllib.request import url2pathname

    try:
        parts = urlsplit(uri)
        if parts.netloc.lower() not in {"", "localhost"} or parts.query or parts.fragment:
            raise ValueError(uri)
        return Path(url2pathname(parts.path))
    except ValueError:
        raise InputUnusable(
            f"{uri[:LONGEST]} is no file of this machine.", "", "Give the path of a file."
        ) from None


def wish(given: argparse.Namespace) -> str:
    """What a command line wishes to see. Raises InputUnusable when it wishes for two things."""
    named = [
        *([SAMPLE_WISH] if given.demo else []),
        *([str(_readable(given.workspace))] if given.workspace else []),
        *([wish_of(given.target)] if getattr(given, "target", "") else []),
    ]
    if len(named) > 1:
        raise InputUnusable(
            "One thing can be opened at a time.", fix="Leave --demo, --workspace or TARGET out."
        )
    return named[0] if named else ""
