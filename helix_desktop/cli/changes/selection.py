"""Which changes of a session the options of a command mean."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import (
    RecordedChanges,
    RevertScope,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name

text = TextContext("Command line")
_Step = TypeVar("_Step")


def select(args: argparse.Namespace, changes: SessionChanges) -> RevertSelection:
    """Return the selection that the options describe. Raises InvalidInput if it has no changes."""
    check_turn(args, changes)
    paths = files_of(args)
    ids = (
        (find_capture(args.step, changes.captures).capture_id,) if args.step else changes.by_agent(args.turn)
    )
    if paths:
        ids = tuple(
            row.capture_id
            for row in changes.captures
            if row.capture_id in ids and any(change.path in paths for change in row.changes)
        )
    if not ids:
        raise no_such_changes()
    return RevertSelection(ids, paths, scope=_scope(args))


def no_such_changes() -> InvalidInput:
    """Return the error for changes that the session doesn't have."""
    return InvalidInput(
        text("The session has no such changes."),
        fix=text("List them with {command}.", command="helix-desktop changes list"),
    )


def check_turn(args: argparse.Namespace, changes: SessionChanges) -> None:
    """Raise InvalidInput for a turn that the session does not have."""
    if args.turn is not None and args.turn > changes.turns:
        raise InvalidInput(
            text("The session has no turn {turn}.", turn=args.turn),
            text.plural(changes.turns, "It has %n turn.", "It has %n turns."),
            text("List the turns with changes with {command}.", command="helix-desktop changes list"),
        )


def find_capture(prefix: str, captures: Sequence[RecordedChanges]) -> RecordedChanges:
    """Return the capture whose id begins so. Raises InvalidInput for none or several."""
    return _only(prefix, [row for row in captures if row.capture_id.startswith(prefix)])


def find_step(
    args: argparse.Namespace, captures: Sequence[RecordedChanges], changes: Sequence[AutoRunChange]
) -> RecordedChanges | AutoRunChange:
    """Return the capture, or the kept change of a command, that `--step` means.

    Raises InvalidInput for none or several, and for options that say nothing about a kept change.
    """
    prefix = args.step
    matching: list[RecordedChanges | AutoRunChange] = [
        *(row for row in captures if row.capture_id.startswith(prefix)),
        *(change for change in changes if change.kept_id.startswith(prefix)),
    ]
    found = _only(prefix, matching)
    options = ("session", "turn", "file", "on_conflict")
    other = next((option for option in options if getattr(args, option, None)), "")
    if other and isinstance(found, AutoRunChange):
        raise InvalidInput(
            text(
                "{option} doesn't go with the step {prefix}.",
                option=f"--{other.replace('_', '-')}",
                prefix=repr(prefix),
            ),
            text("It is one file that was changed by a command of any session."),
            text("Leave the option out."),
        )
    return found


def check_outcome(change: AutoRunChange, *, found: bool) -> None:
    """Raise InvalidInput if a change can't be restored (`found`) or taken back, because it is so already."""
    if found != (change.outcome == "removed"):
        name = escape_hidden_name(change.path)
        raise InvalidInput(
            text("{file} was not taken back, or was restored since.", file=name)
            if found
            else text("{file} is taken back already.", file=name),
            fix=text("List what was taken back with {command}.", command="helix-desktop changes list"),
        )


def _only(prefix: str, found: Sequence[_Step]) -> _Step:
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            text("Several steps start with {prefix}.", prefix=repr(prefix)), fix=text("Enter more of its ID.")
        )
    raise InvalidInput(
        text("No step of the session starts with {prefix}.", prefix=repr(prefix)),
        fix=text("List them with {command}.", command="helix-desktop changes list"),
    )


def last_revert(changes: SessionChanges) -> RecordedChanges:
    """Return the newest revert that is not redone. Raises InvalidInput if there is none."""
    reverts: Sequence[RecordedChanges] = [
        row for row in changes.captures if row.source == "revert" and not row.is_redo and not row.is_reverted
    ]
    if not reverts:
        raise InvalidInput(
            text("The session has no revert to redo."),
            fix=text("List its changes with {command}.", command="helix-desktop changes list"),
        )
    return reverts[-1]


def files_of(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the files of the command line by their paths in the workspace. Raises InvalidInput."""
    return tuple(dict.fromkeys(_in_workspace(args.workspace, name) for name in args.file))


def _in_workspace(workspace: Path, name: str) -> str:
    path = os.path.normpath(name)
    if os.path.isabs(path):
        path = os.path.relpath(path, os.path.abspath(workspace))
    if path.split(os.sep)[0] in ("..", "."):
        raise InvalidInput(
            text("{file} isn't a file of the workspace.", file=name),
            text("It lies outside of the folder {folder}.", folder=workspace),
            text("List the changed files with {command}.", command="helix-desktop changes list"),
        )
    return path.replace(os.sep, "/")


def _scope(args: argparse.Namespace) -> RevertScope:
    if args.file:
        return "file"
    if args.step:
        return "step"
    return "turn" if args.turn else "session"
