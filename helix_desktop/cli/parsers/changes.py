"""The grammar of the `changes` commands."""

from __future__ import annotations

import argparse
from typing import get_args

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.cache import AddCommand
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_changes_commands(add_command: AddCommand) -> None:
    listed = add_command(
        "list", tr("list what was changed, by turn and step, and what was taken back after commands")
    )
    _add_selection(listed)
    diff = add_command("diff", tr("print changes as a patch that git can apply"))
    _add_selection(diff)
    diff.add_argument(
        "--head",
        action="store_true",
        help=tr("everything that differs from the last git commit, whoever changed it"),
    )
    revert = add_command("revert", tr("revert changes of a file, step, turn or session"))
    _add_selection(revert)
    _add_outcome(revert)
    redo = add_command(
        "redo", tr("undo a revert (default: the last one), or restore what was taken back after a command")
    )
    _add_session(redo)
    _add_step(redo)
    _add_outcome(redo)
    accept = add_command("accept", tr("mark changes as reviewed"))
    _add_session(accept)
    _add_files(accept)


def _add_selection(command: argparse.ArgumentParser) -> None:
    _add_session(command)
    command.add_argument(
        "--turn",
        type=argument_types.positive_count,
        default=None,
        metavar="N",
        help=tr("only the turn of this message of yours, from 1"),
    )
    _add_step(command)
    _add_files(command)


def _add_session(command: argparse.ArgumentParser) -> None:
    argument_types.add_text(
        command, "--session", "ID", tr("session (default: {last}, the newest)", last="last")
    )


def _add_step(command: argparse.ArgumentParser) -> None:
    argument_types.add_text(command, "--step", "ID", tr("only the step with this ID, or its first digits"))


def _add_files(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--file",
        type=argument_types.non_empty_text,
        action="append",
        default=[],
        metavar="PATH",
        help=tr("only this file, by its path in the workspace; can be repeated"),
    )


def _add_outcome(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on-conflict",
        choices=get_args(RevertChoice),
        default=None,
        help=tr(
            "what becomes of files that were changed since: {keep} leaves them as they are, {restore} "
            "overwrites them, {merge} merges both (default: change nothing)",
            keep="present",
            restore="former",
            merge="merged",
        ),
    )
    command.add_argument("--dry-run", action="store_true", help=tr("only print what would be done"))
