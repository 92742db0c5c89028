"""The errors of reverts: each says what became of the files."""

from __future__ import annotations

import errno

from helix_desktop.domain.errors import RevertRefused
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
