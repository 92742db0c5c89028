"""What the switcher lists besides workspaces and commands: plain rows that a presenter fills."""

from __future__ import annotations

import msgspec

from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceBadge


class SessionRow(msgspec.Struct, frozen=True):
    """A session of an open workspace. `detail` names its workspace, `when` is when it was last used."""

    workspace_id: str
    id: str
    title: str
    detail: str
    when: str
    badge: WorkspaceBadge = ""
    active: bool = False  # on screen
    archived: bool = False
    icon: str = "message-square"


class MessageRow(msgspec.Struct, frozen=True):
    """A message that a search found: a line of it, who wrote it, in which session, when.

    `marks` are where the words stand in the line that were searched for: first character and end of each.
    """

    workspace_id: str
    session_id: str
    seq: int
    excerpt: str
    detail: str
    when: str
    is_own: bool  # of the user
    marks: tuple[tuple[int, int], ...] = ()
