"""Kinds of change, each as plain data: what stands before, the command that makes it, the tools that can."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import Any

from tests.support.file_changes.tree import Sketch

SIZE_LIMIT = 100_000  # bytes of a covered file, in the tests


def _may_read_all() -> bool:
    """Return True if permissions do not hold here."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return os.access(file.name, os.R_OK)


MAY_READ_ALL = _may_read_all()
HOLD_MTIME = "touch -r {file} stamp && {command} && touch -r stamp {file} && rm stamp"
"""Changes a file and gives it back the time that it had."""

HUNK_LINES = (3, 35)
"""The lines (from 1) that the changes with `hunks` replace, far enough from each other to be two hunks."""

Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class ChangeCase:
    """One kind of change.

    `prepare` is a command for what a sketch cannot say. `calls` make the change by tools, one after the
    other; none: no file tool can. `uncovered` are the places that have to be named before as not covered,
    with the reason; of the files `unstored` it is recorded that they changed, but no content: those of them
    that come back all the same are `at_hand`. `refused` are paths that a revert leaves alone, with the
    problem. `moves` are old paths by new ones. `hunks` is the path of a text of which certain lines are
    replaced (HUNK_LINES).
    """

    name: str
    before: Sketch
    command: str
    calls: Calls = ()
    prepare: str = ""
    uncovered: dict[str, str] = field(default_factory=dict)
    unstored: tuple[str, ...] = ()
    at_hand: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    moves: dict[str, str] = field(default_factory=dict)
    hunks: str = ""
    is_change: bool = True


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    """Return a call that writes a file."""
    return "write_file", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    """Return a call that edits a file."""
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def edits(*changes: tuple[str, str, str]) -> tuple[str, dict[str, Any]]:
    """Return a call that makes several edits as one: path, old text, new text."""
    return "multi_edit", {
        "edits": [{"path": path, "old_text": old, "new_text": new} for path, old, new in changes]
    }


def numbered_lines(count: int, **replaced: str) -> str:
    """Return a text of `line N`; `line7="x"` puts another text into line 7."""
    return "".join(f"{replaced.get(f'line{number}', f'line {number}')}\n" for number in range(1, count + 1))
