"""Turns system errors into tool errors, with one wording for all tools."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from helix_desktop.domain.errors import InvalidInput, StoreError, ToolError
from helix_desktop.domain.unicode_safety import escape_undecodable

_WHY = {
    errno.ENOENT: "There is no such file or folder.",
    errno.ENOTDIR: "A part of the path is a file, not a folder.",
    errno.EISDIR: "It is a folder, not a file.",
    errno.EACCES: "The system does not permit it.",
    errno.EPERM: "The system does not permit it.",
    errno.EROFS: "The disk is read-only.",
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "The disk quota is used up.",
    errno.ELOOP: "It changed into a link while it was being opened.",
    errno.ENAMETOOLONG: "The name is too long for this disk.",
    errno.EILSEQ: "This disk cannot hold such a name.",
}


class PathRefused(ToolError):
    """A path leads, or might lead, out of the workspace, or to what no tool may read."""


def path_refused(path: str, why: str) -> PathRefused:
    """Return the error for a path that leads, or might lead, out of the workspace."""
    return PathRefused(
        f"'{escape_undecodable(path)}' was refused: {why}",
        fix="Use a path inside the workspace, relative to its top folder, such as src/main.py.",
    )


@contextmanager
def os_errors_as_tool_errors(action: str, path: str) -> Iterator[None]:
    """Turn an OSError of the block into the ToolError "Cannot <action> <path>"."""
    try:
        yield
    except OSError as error:
        why = _WHY.get(error.errno or 0, f"{error.strerror or error}.")
        fix = "List the folder above it to see what is there." if error.errno == errno.ENOENT else ""
        name = escape_undecodable(path) or "the workspace"
        raise ToolError(f"Cannot {action} {name}.", why, fix) from error


@contextmanager
def store_errors_as_tool_errors() -> Iterator[None]:
    """Turn an error of the store in the block into a ToolError with the same texts."""
    try:
        yield
    except (StoreError, InvalidInput) as error:
        raise ToolError(error.what, error.why, error.fix) from error
