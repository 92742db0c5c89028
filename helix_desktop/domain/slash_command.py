"""Slash commands as they are typed: `/name arguments` at the beginning of a message."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

import msgspec

SLASH = "/"
FOLDER_MARK = ":"
"""Stands between a folder and a name: `.agents/commands/web/test.md` is `/web:test`."""
MAX_NAME = 64  # characters
_NEAR = 0.6  # how alike two names are, 0..1, before one is proposed for the other


class SlashInput(msgspec.Struct, frozen=True):
    """A typed command: its name without the slash, and the rest of the message."""

    name: str
    arguments: str = ""


def parse_slash_input(text: str) -> SlashInput | None:
    """Return the command that a message is; None for every other text, also if it begins with a path.

    A space before the slash makes it a message.
    """
    if not text.startswith(SLASH):
        return None
    words = text[len(SLASH) :].split(maxsplit=1)
    if not words or not text.startswith(words[0], len(SLASH)) or not is_command_name(words[0]):
        return None
    return SlashInput(words[0], words[1].rstrip() if words[1:] else "")


def is_command_name(name: str) -> bool:
    """Return True if a name can be typed: letters, digits, `-`, `_`; before it folders, each with `:`."""
    return 0 < len(name) <= MAX_NAME and all(_is_simple_name(part) for part in name.split(FOLDER_MARK))


def _is_simple_name(name: str) -> bool:
    return name[:1].isalnum() and all(
        char.isalnum() or char in "-_" or unicodedata.category(char).startswith("M") for char in name
    )


def command_key(name: str) -> str:
    """Return what two names have in common that are typed alike: case and composed letters do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def nearest_command(name: str, names: Iterable[str]) -> str:
    """Return which of these names was probably meant; empty if none is near."""
    by_key = {command_key(candidate): candidate for candidate in names}
    key = command_key(name)
    longer = [candidate for candidate in by_key if candidate.startswith(key)]
    near = longer if len(longer) == 1 else difflib.get_close_matches(key, by_key, 1, _NEAR)
    return by_key[near[0]] if near else ""
