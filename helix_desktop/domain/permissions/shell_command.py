"""Parse simple shell commands only: plain words, and nothing that a shell would act on."""

from __future__ import annotations

import re

from helix_desktop.domain.permissions.possible_match import Match, match_anywhere
from helix_desktop.domain.permissions.shell_names import OTHER_RUNNERS, SHELLS, WRAPPERS
from helix_desktop.domain.tools import ANY

_SPACES = re.compile(r"[ \t]+")
_PLAIN = re.compile(
    r"(?:[\w%+,\-./:=@^]|(?<=[^\W_])~)+"
)  # ~ is a home folder at a word's start, and behind = or :
_LONGEST = 4_000  # characters of a command for which a pattern is offered
_QUOTED_DANGER = frozenset('$`\\!"')
_RUNNERS = SHELLS | WRAPPERS | OTHER_RUNNERS


def parse_simple_command(command: str) -> tuple[str, ...] | None:
    """Return the words of a command that is one program with its arguments; None if it may be more.

    Operators, expansions, redirections, globs, escapes, comments and line breaks are never plain.
    """
    words: list[str] = []
    word: list[str] = []
    index = 0
    while index < len(command):
        char = command[index]
        if char in "'\"":
            closing = command.find(char, index + 1)
            inside = command[index + 1 : closing]
            if closing < 0 or not _is_quotable(inside, char):
                return None
            word.append(inside)
            index = closing + 1
        elif spaces := _SPACES.match(command, index):
            words += ["".join(word)] if word else []
            word, index = [], spaces.end()
        elif plain := _PLAIN.match(command, index):
            word.append(plain[0])
            index = plain.end()
        else:
            return None
    return tuple([*words, "".join(word)] if word else words) or None


def _is_quotable(inside: str, quote: str) -> bool:
    if not inside.isprintable():
        return False
    return quote == "'" or not _QUOTED_DANGER & set(inside)


def certainly_matches(pattern: str, command: str) -> bool:
    """Return True if a command surely matches a pattern: its first words, and any more for a last `*`."""
    words = parse_simple_command(command)
    prefix, is_open = _split_pattern(pattern)
    if words is None or not prefix:
        return False
    return words[: len(prefix)] == prefix and (is_open or len(words) == len(prefix))


def possibly_matches(pattern: str, command: str) -> Match:
    """Return whether a command may run a pattern's command anywhere in it."""
    return match_anywhere(_split_pattern(pattern)[0], command)


def _split_pattern(pattern: str) -> tuple[tuple[str, ...], bool]:
    words = tuple(pattern.split())
    more = words[-1:] == (ANY,)
    return (words[:-1] if more else words), more


def suggest_pattern(command: str) -> str:
    """Return the pattern to offer for a command: program and subcommand; empty if any would be too broad."""
    words = parse_simple_command(command) if len(command) <= _LONGEST else None
    if words is None or words[0] in _RUNNERS or any(set(word) & {ANY, " ", "\t"} for word in words[:3]):
        return ""
    if "=" in words[0] or not all(words[:3]):
        return ""
    if len(words) > 2 and words[1] == "-m":  # noqa: PLR2004 - python -m NAME
        return " ".join((*words[:3], ANY))
    has_subcommand = len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9:_-]*", words[1])
    return " ".join((*words[: 2 if has_subcommand else 1], ANY))
