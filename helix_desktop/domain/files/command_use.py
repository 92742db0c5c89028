"""What a shell command does, as far as its words say: which file it prints, whether it runs tests."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from helix_desktop.domain.files.line_range import ALL_LINES, UNKNOWN_LINES, Lines

_TEST = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|mypy|ruff|tsc)\b"
    r"|(?:^|[\s/;&|])(?:run[_-])?tests?(?:\.\w+)?(?:\s|$)"
)
_RUNNER = re.compile(
    r"\b(?:make|npm|pnpm|yarn|bun|deno|go|cargo|mvn|gradlew?|dotnet|swift|mix|rake|bazel|just|mise)\b"
)
_TASK = re.compile(r"\b(?:tests?|check|verify|lint|build)\b")  # what a runner is asked for behind its name
_JOIN = re.compile(r"[|;&]")
_FOLDER = re.compile(r"\s*cd\s+([\w./@+-]+)\s*&&\s*")
_NO_ERRORS = re.compile(r"\s*2>\s*(?:&1|/dev/null)")
_NOT_SIMPLE = re.compile(r"[;&<>`$*?~(){}\n]")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_PRINTED_LINES = re.compile(r"(\d+),(\d+)p")
_MAX_LENGTH = 400  # characters of a command that only prints a file
_HEAD_LINES = 10
_REMEMBERED = 4_096  # commands: before each request those of the running turn are asked about again


def command_of(args: dict[str, Any]) -> str:
    """Return the command in a call's arguments, of a list the shell's; empty if there is none."""
    command = args.get("command") or args.get("cmd")
    if isinstance(command, list):
        words = [str(word) for word in command]
        return words[-1] if words and _SHELL.fullmatch(words[0]) else " ".join(words)
    return command if isinstance(command, str) else ""


def folder_of(args: dict[str, Any]) -> str:
    """Return the folder in which a call runs its command; empty if it does not say."""
    return next((str(args[key]) for key in ("folder", "cwd", "workdir") if args.get(key)), "")


@lru_cache(maxsize=_REMEMBERED)
def is_test_command(command: str) -> bool:
    """Return True if a command looks as if it ran tests, a build or a linter."""
    if _TEST.search(command):
        return True
    return any(
        _TASK.search(part, runner.end()) for part in _JOIN.split(command) if (runner := _RUNNER.search(part))
    )


def printed_file(command: str, folder: str = "") -> tuple[str, Lines] | None:
    """Return the file that a command prints, and which lines; None if it does anything else, or more.

    Understood are cat, nl, head, tail and `sed -n 1,9p`, also `cat FILE | head`, after a `cd`.
    """
    if len(command) > _MAX_LENGTH:
        return None
    if moved := _FOLDER.match(command):
        folder, command = posixpath.join(folder, moved[1]), command[moved.end() :]
    command = _NO_ERRORS.sub("", command)
    if _NOT_SIMPLE.search(command):
        return None
    try:
        programs = [shlex.split(part) for part in command.split("|")]
    except ValueError:
        return None
    path, lines = _printed(programs[0]) if programs[0] else ("", None)
    for words in programs[1:]:
        rest, part = _printed(words) if words else ("", None)
        lines = part if not rest and lines == ALL_LINES else None
    return (posixpath.join(folder, path), lines) if path and lines is not None else None


def _printed(words: Sequence[str]) -> tuple[str, Lines | None]:
    """Return the file that a program prints, empty for what it is fed, and which lines; None: not known."""
    program, options = words[0], [word for word in words[1:] if word.startswith("-")]
    names = [word for word in words[1:] if not word.startswith("-")]
    match program:
        case "cat" | "nl" | "bat":
            lines: Lines | None = ALL_LINES
        case "tail":
            names, lines = _without_number(names), UNKNOWN_LINES
        case "head":
            numbers = re.findall(r"\d+", " ".join([*options, *names[:-1]])) or [_HEAD_LINES]
            counts_bytes = any(option.startswith("-c") for option in options)
            names = _without_number(names)
            lines = UNKNOWN_LINES if counts_bytes else Lines(1, int(numbers[0]))
        case "sed" if options == ["-n"] and names and (printed := _PRINTED_LINES.fullmatch(names[0])):
            names, lines = names[1:], Lines(int(printed[1]), int(printed[2]))
        case _:
            lines = None
    return (names[0] if names else ""), (None if names[1:] else lines)


def _without_number(names: list[str]) -> list[str]:
    return [name for name in names if not name.isdigit()]
