"""Calls whose changes are captured, and what was captured."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.file_history.state import ChangeList

ChangeSource = Literal["tool", "command", "outside", "revert"]
"""What changed the files: a tool that names its files, a command or another tool that may change any file,
something outside the agent's calls (the user, another program), or a revert."""

RevertScope = Literal["", "hunk", "file", "step", "turn", "session", "rewind", "redo"]
"""How much a revert takes back."""


class CallMark(msgspec.Struct, frozen=True):
    """A call that is about to change files: only `paths`, or (None) any."""

    session: str
    call_id: str
    title: str = ""
    paths: tuple[str, ...] | None = None


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call, revert, or something outside the calls changed, before it stands in a session's log.

    `id` is unique: the event in the log has it, so that it is recorded once whatever is cut off. `changes` is
    the digest of the ChangeList. `others` are the titles of calls that ran at the same time. A revert says
    which events of the session it takes back (`reverts`: their capture ids), and how much (`scope`).
    `created_ms` is in milliseconds since 1970.
    """

    id: str
    session: str
    source: ChangeSource
    changes: str
    created_ms: int
    call_id: str = ""
    others: tuple[str, ...] = ()
    reverts: tuple[str, ...] = ()
    scope: RevertScope = ""


class CapturedChanges(msgspec.Struct, frozen=True):
    """A capture with its list."""

    capture: Capture
    list: ChangeList


class AgentChanges(msgspec.Struct, frozen=True):
    """What the agent's calls changed in some folders: a few of the paths.

    With `is_certain` false there may be more: a call still runs, or a list of changes is lost.
    """

    paths: tuple[str, ...] = ()
    is_certain: bool = True
