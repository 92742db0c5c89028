"""The workspace's folder as the tools see it: everything inside it, nothing outside."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Literal, Protocol

from helix_desktop.context.errors import ToolError
from helix_desktop.tools.paths import is_below, is_git_internal, relative_parts
from helix_desktop.tools.refusal import outside

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class Stamp:
    """What shows that a file was changed: identity, size in bytes, time of change in nanoseconds."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Stamp:
        """The stamp of a stat result."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@dataclass(frozen=True)
class Opened:
    """An open regular file, the path it really has in the workspace, and its stamp."""

    rel: str
    file: BufferedReader
    stamp: Stamp


@dataclass(frozen=True)
class Item:
    """One thing in a folder; `size` in bytes for files, `leads_to` for links."""

    name: str
    kind: Kind
    size: int = 0
    leads_to: str = ""


@dataclass(frozen=True)
class Place:
    """A folder to start a search in: its path in the workspace, and a folder that cannot be swapped.

    `name` is the file in it when a file was asked for, else empty.
    """

    rel: str
    cwd: str
    name: str = ""


class Jail(Protocol):
    """Opens, lists and replaces files of one folder; all methods block and raise ToolError."""

    @property
    def limits(self) -> Limits:
        """What of the folder is out of bounds."""
        ...

    def reading(self, path: str) -> AbstractContextManager[Opened]:
        """Open a regular file to read."""
        ...

    def items(self, path: str) -> tuple[str, list[Item]]:
        """A folder's path in the workspace and what is in it, unsorted."""
        ...

    def place(self, path: str) -> AbstractContextManager[Place]:
        """Hold a folder, or a file's folder, to search in."""
        ...

    def writable(self, path: str) -> str:
        """The path that a write would really change. Raises ToolError when it may not be written."""
        ...

    def write(self, path: str, data: bytes, stamp: Stamp | None) -> str:
        """Replace a file as a whole, or make it (folders too); gives its path in the workspace.

        `stamp` is what the file must still be; None means that it must not exist yet.
        """
        ...


class Limits:
    """What is out of bounds inside a workspace, by path components."""

    def __init__(self, root: Path, sealed: tuple[Path, ...], unwritable: tuple[Path, ...]) -> None:
        self.sealed = relative_parts(sealed, root)
        self._unwritable = relative_parts(unwritable, root)

    def check_read(self, path: str, parts: tuple[str, ...]) -> None:
        """Raises ToolError when the path holds the app's own data, of this workspace or of others.

        Also when a link leads to a name that is no text, which nothing could be told of.
        """
        if any("\ud800" <= sign <= "\udfff" for part in parts for sign in part):
            raise outside(path, "a link on the way leads to a name that is not valid Unicode.")
        if is_below(parts, self.sealed):
            raise outside(path, "it holds this program's own data.")

    def check_write(self, path: str, parts: tuple[str, ...]) -> None:
        """Raises ToolError when no tool may ever write there."""
        self.check_read(path, parts)
        if not parts:
            raise ToolError("The workspace itself is a folder, not a file.", fix="Name a file in it.")
        if is_git_internal(parts):
            raise outside(path, "files inside .git can make git run commands.")
        if is_below(parts, self._unwritable):
            raise outside(path, "the system runs or obeys that file unasked.")


def refuse_special(path: str, kind: str) -> ToolError:
    """The refusal of a FIFO, socket or device."""
    return ToolError(f"{path} was refused: it is {kind}, not a regular file.")


def refuse_hard_link(path: str, links: int) -> ToolError:
    """The refusal to write a file that has other names, perhaps outside the workspace."""
    return ToolError(
        f"{path} was refused: it has {links} hard links.",
        "Its other names may lie outside the workspace.",
        "Ask the person to replace it by a copy.",
    )


def refuse_changed(path: str) -> ToolError:
    """The refusal to overwrite what somebody changed since it was read."""
    return ToolError(
        f"{path} was not written: it was changed by something else meanwhile.",
        fix="Read it again, then write.",
    )
