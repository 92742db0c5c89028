"""Move options that were typed before a command behind it: argparse would forget their values there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from helix_desktop.app.launch_targets import OPEN_COMMAND, first_positional, has_separate_value, is_option

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
