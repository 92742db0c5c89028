"""The operations of a revert on the disk, how they are journaled, and the errors of reverts."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.errors import RevertRefused
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, system_reason
from helix_desktop.file_history.revert.folders import FolderUnreachable

text = TextContext("Changes")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class PathChanged(Exception):
    """What stands at a path is not what was planned for."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def refused(why: TranslatableText, fix: OptionalText = "", paths: tuple[str, ...] = ()) -> RevertRefused:
    """Return the error with why nothing could be reverted."""
    return RevertRefused(text("The files can't be reverted. None of them was changed."), why, fix, paths)


def refused_by_change(paths: tuple[str, ...]) -> RevertRefused:
    """Return the error for paths that changed after the plan."""
    why = text.plural(
        len(paths),
        "{file} changed in the meantime.",
        "%n files changed in the meantime, {file} among them.",
        file=paths[0],
    )
    return refused(why, text("Look at the changes again, then revert."), paths)


def half_done() -> RevertRefused:
    """Return the error for a revert that failed, and could not be taken back either."""
    return RevertRefused(
        text("The files can't be reverted, and some of them couldn't be put back yet."),
        text("Their contents are safe in the file history."),
        text("Check the disk and the permissions of the workspace, then close and reopen it."),
    )


def refusal_of(error: PathChanged | FolderUnreachable | OSError) -> RevertRefused:
    """Return the error for what stopped a revert."""
    if isinstance(error, OSError):
        if error.errno in _NO_ROOM:
            return refused(text("The disk is full."), text("Free some disk space, then try again."))
        return refused(system_reason(error))
    return refused_by_change((error.path,))


OperationKind = Literal["open", "aside", "folder", "place", "swap", "mode"]
"""open: its user may read a file, or work in a folder. aside: what stands there is moved to the staging
folder. folder: one is made. place: what is staged comes to where nothing stands. swap: what is staged and
what stands there change places. mode: permissions are set."""

_NEEDED = {"file": 0o400, "folder": 0o700, "link": 0}  # what its user needs to read or empty it


class RevertOperation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is done at one path."""

    kind: OperationKind
    path: str
    present: FileState | None = None
    target: FileState | None = None


class JournalEntry(msgspec.Struct, frozen=True):
    """What is needed to take back a revert that was cut off; `folder` is the staging folder in the root."""

    folder: str
    operations: tuple[RevertOperation, ...] = msgspec.field(name="steps")

    def encode(self) -> bytes:
        """Return its bytes."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> JournalEntry:
        """Return the entry in its bytes. Raises msgspec.MsgspecError."""
        return msgspec.json.decode(data, type=cls)


class PathTarget(NamedTuple):
    """What stands at a path, and what shall."""

    present: FileState | None
    state: FileState | None


def build_operations(targets: Mapping[str, PathTarget]) -> tuple[RevertOperation, ...]:
    """Return the operations: what goes, deepest first; folders; what comes; permissions, deepest first."""
    opened, asides, folders, comes, modes = (list[RevertOperation]() for _ in range(5))
    for path in sorted(targets):
        present, target = targets[path]
        if present is not None and ~present.mode & _NEEDED[present.kind]:
            wider = msgspec.structs.replace(present, mode=present.mode | _NEEDED[present.kind])
            opened.append(RevertOperation("open", path, present, wider))
            present = wider
        if present is not None and target is not None and _has_same_content(present, target):
            if present.mode != target.mode:
                modes.append(RevertOperation("mode", path, present, target))
            continue
        is_swap = present is not None and target is not None and "folder" not in (present.kind, target.kind)
        if present is not None and not is_swap:
            asides.append(RevertOperation("aside", path, present))
        if target is None:
            continue
        if target.kind == "folder":
            folders.append(RevertOperation("folder", path, None, target))
            modes.append(
                RevertOperation("mode", path, msgspec.structs.replace(target, mode=_NEEDED["folder"]), target)
            )
        else:
            comes.append(
                RevertOperation("swap" if is_swap else "place", path, present if is_swap else None, target)
            )
    return (*opened, *reversed(asides), *folders, *comes, *reversed(modes))


def changes_of(targets: Mapping[str, PathTarget]) -> tuple[FileChange, ...]:
    """Return the changes that bring paths to what shall stand there, moved files with where from."""
    gone: dict[str, str] = {}
    for path in sorted(targets, reverse=True):
        present, target = targets[path]
        if present is not None and present.digest and target is None:
            gone[present.digest] = path
    changes = []
    for path in sorted(targets):
        present, target = targets[path]
        origin = gone.pop(target.digest, "") if target is not None and present is None else ""
        changes.append(FileChange(path, present, target, origin))
    return tuple(changes)


def _has_same_content(first: FileState, second: FileState) -> bool:
    return (first.kind, first.digest, first.target) == (second.kind, second.digest, second.target)
