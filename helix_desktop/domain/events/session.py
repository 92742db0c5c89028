"""The events of a session as a whole: its begin, its title, its place in the list."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.domain.events.base import EventBase

NEW_TITLE = "New session"

ModelRole = Literal["main", "fast", "long"]
"""Which of the workspace's models: the default, a quick and cheap one, the one with the largest window."""


class SessionStarted(EventBase, frozen=True, tag="session-started"):
    """A conversation began; a subagent's names its parent session.

    The call there that asked for it, `parent_call`, stands in older logs only: the parent's log has it now.
    A subagent goes on under what it began with: `model` says which of the workspace's models answers it,
    `policy` holds the fields of its own one, if it has one.
    """

    title: str
    parent: str = ""
    parent_call: str = ""
    model: ModelRole = "main"
    policy: dict[str, Any] = msgspec.field(default_factory=dict)


BranchKind = Literal["", "edit", "retry", "rewind"]
"""What a branch was made for: to go on from there, to change a message of the user, to ask again,
to go back to before a message."""


class SessionBranched(EventBase, frozen=True, tag="session-branched"):
    """The session left its parent behind event `seq`: what precedes is the parent's, what follows its own.

    Its own events are numbered on from there, so that e39 is the same event in both.
    `parent` is the session whose log holds event `seq`. The window is the one that it was there; what was
    queued and what was spent is the parent's, and a turn that was open there is not done here.
    """

    parent: str
    seq: int
    title: str
    how: BranchKind = ""


class SessionRenamed(EventBase, frozen=True, tag="session-renamed"):
    """The user gave the session a title."""

    title: str


class SessionPinned(EventBase, frozen=True, tag="session-pinned"):
    """The user pinned the session to the top of the list, or unpinned it."""

    pinned: bool = True


class SessionArchived(EventBase, frozen=True, tag="session-archived"):
    """The user archived the session, or unarchived it; one that waits for the user is unarchived, too."""

    archived: bool = True
