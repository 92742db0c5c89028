"""Writes the man page from the grammar that the program itself parses with, so that they cannot differ."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import build_identity

from helix_desktop.cli.parsers.command_line import build_parser

_HELP_LINES = 3  # every command has --help, and it comes first
_ENDING = """
.SH FILES
.TP
.I ~/.local/share/helix\\-desktop
Settings, workspaces, sessions, caches and logs. Apart from these, only tools that you approved
write files.
.TP
.I *.helix
A workspace as one file, written by
.B helix\\-desktop cache export
and
.BR "helix\\-desktop backup" .
.SH ENVIRONMENT
.TP
.B HELIX_DATA_DIR
The data directory, if
.B \\-\\-data\\-dir
isn't given.
.TP
.BR OPENAI_API_KEY ", " ANTHROPIC_API_KEY " and the like"
API keys of providers, if the system has no keychain.
.TP
.B HELIX_LANGUAGE
The language of the window and the commands, such as
.BR en .
.TP
.B QT_QPA_PLATFORM
The display to use:
.BR wayland ", " xcb " or " offscreen .
.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
Failure; standard error shows the reason.
.TP
.B 2
Invalid input: an option, a file, or a folder that isn't trusted.
.TP
.B 3
The workspace belongs to another process that doesn't answer.
.SH SEE ALSO
.BR bwrap (1),
.BR secret\\-tool (1)
"""


def manual(version: str, date: str) -> str:
    """The page in the language of man(7)."""
    grammar = build_parser()
    lines = [
        f'.TH HELIX\\-DESKTOP 1 "{date}" "Helix Desktop {version}" "User Commands"',
        ".SH NAME",
        "helix\\-desktop \\- AI coding agent whose context you see and control",
        ".SH SYNOPSIS",
        *_usage(grammar),
        ".SH DESCRIPTION",
        "Without a command, the window opens; a second start shows the window that is already open.",
        "Commands work without a window, and while one is open.",
        ".SH OPTIONS",
        *_options(grammar),
        ".SH COMMANDS",
    ]
    for name, text, command in commands(grammar):
        lines += [f'.SS "{_escaped(name)}"', _sentence(text), ".P", *_usage(command)]
        if command.description and command.description != text:
            lines += [".P", _escaped(command.description)]
        lines += _options(command)[_HELP_LINES:]
    return "\n".join(lines) + _ENDING


def commands(grammar: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Return every command that a user types: its words, its help, its grammar."""
    for action in grammar._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, command in action.choices.items():
            below = list(commands(command))
            if below:
                yield from ((f"{name} {verb}", text, command) for verb, text, command in below)
            elif name in helps:
                yield name, helps[name], command


def _visible_actions(grammar: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        action
        for action in grammar._actions
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
    ]


def _usage(grammar: argparse.ArgumentParser) -> list[str]:
    """Return the program and its arguments, as man pages write it."""
    parts = [f"\\fB{_escaped(grammar.prog)}\\fR"]
    for action in _visible_actions(grammar):
        words = _words(action)
        if action.option_strings:
            parts.append(words if action.required else f"[{words}]")
        else:
            optional = action.nargs in {"?", "*"}
            many = " ..." if action.nargs in {"+", "*"} else ""
            parts.append(f"[{words}]{many}" if optional else f"{words}{many}")
    if any(isinstance(action, argparse._SubParsersAction) for action in grammar._actions):
        parts.append("[\\fICOMMAND\\fR]")
    return [".nh", ".ad l", " ".join(parts), ".ad b", ".hy"]


def _options(grammar: argparse.ArgumentParser) -> list[str]:
    lines = []
    for action in _visible_actions(grammar):
        lines += [".TP", _words(action, full=True), _sentence((action.help or "") % _facts(action))]
    return lines


def _facts(action: argparse.Action) -> dict[str, object]:
    return {**vars(action), "prog": "helix-desktop"}


def _words(action: argparse.Action, *, full: bool = False) -> str:
    value = "" if action.nargs == 0 else f"\\fI{_escaped(_value(action))}\\fR"
    if not action.option_strings:
        return value
    names = action.option_strings if full else action.option_strings[-1:]
    names_text = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in names)
    return f"{names_text} {value}".strip()


def _value(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "|".join(str(choice) for choice in action.choices if choice)
    metavar = action.metavar or action.dest.upper()
    return metavar if isinstance(metavar, str) else " ".join(metavar)


def _sentence(text: str) -> str:
    text = text.strip()
    ended = text if text.endswith((".", "?", "!")) else f"{text}."
    return _escaped(ended[:1].upper() + ended[1:])


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{plain}" if plain.startswith(".") else plain


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    today = datetime.fromtimestamp(build_identity.epoch(root), UTC).strftime("%Y-%m-%d")
    sys.stdout.write(manual(build_identity.version(root), today))
