"""What became of a workspace that was written to a file, or merged from one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

Progress = Callable[[int, int], None]
"""Bytes done and bytes in all; called on a thread that is not the event loop's."""

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


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
