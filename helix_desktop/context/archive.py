"""What became of a workspace that was written to a file, or merged from one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from helix_desktop.context.digest import count_text

SUFFIX = ".helix"
Progress = Callable[[int, int], None]
"""Bytes done and bytes in all; called on a thread that is not the event loop's."""


def silent(done: int, size: int) -> None:
    """Tell nobody how far it is."""


_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class Inside(msgspec.Struct, frozen=True):
    """What a file says of itself before it is read: whose it is, and how much is to come."""

    name: str
    workspace: str
    created: _Count
    entries: _Count
    sessions: _Count


class End(msgspec.Struct, frozen=True):
    """The last words: what came, and what the store itself could not give any more.

    `missing` are digests that events name and whose bytes are lost, `left_out` sessions with damaged logs.
    """

    entries: _Count
    size: _Count
    sessions: _Count
    events: _Count
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class Exported(msgspec.Struct, frozen=True):
    """What became of an export: what the file holds, and its size in bytes."""

    path: str
    file_size: int
    held: End


class Imported(msgspec.Struct, frozen=True):
    """What became of an import: counts of entries, and the sessions by what was done with them.

    `apart` are the new ids of sessions that went another way here; `busy` would be extended, but are open.
    """

    name: str
    added: int = 0
    known: int = 0
    new: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether everything came in."""
        return not self.busy


def exported_text(done: Exported) -> str:
    """What a file holds, in words, and what it lacks."""
    held = done.held
    words = f"{count_text(held.entries, 'entry', 'entries')}, {count_text(held.sessions, 'session')}."
    lacks = [
        (len(held.missing), "damaged or lost entries are"),
        (len(held.left_out), "sessions with damaged logs are"),
    ]
    return " ".join([words, *(f"{count} {what} not in the file." for count, what in lacks if count)])


def imported_text(done: Imported) -> str:
    """What an import brought, in words."""
    sessions = [
        (len(done.new), "new"),
        (len(done.extended), "extended"),
        (len(done.unchanged), "known"),
        (len(done.apart), "beside those that went another way"),
        (len(done.busy), "left because they are open"),
    ]
    told = ", ".join(f"{count} {word}" for count, word in sessions if count) or "none"
    return f"{count_text(done.added, 'entry', 'entries')} added, {done.known:,} known. Sessions: {told}."
