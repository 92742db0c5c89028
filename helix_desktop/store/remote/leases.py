"""Who writes a session's log: the owner of the store, or one guest until it leaves.

A log stays single-writer by three rules. A session that is open in the owner is written by the owner alone. A
session that a guest has begun to write is that guest's until its connection ends. And whatever happens, the
store itself takes only events that continue the log, so that two writers could never mix theirs.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from helix_desktop.context.errors import StoreLocked

Holds = Callable[[str], bool]
"""Whether a session is open in this process."""


class Leases:
    """The sessions that guests write; a guest is any object that stands for a connection."""

    def __init__(self) -> None:
        self.held_here: Holds = lambda _: False
        self._guests: dict[str, object] = {}

    def take(self, session: str, guest: object) -> None:
        """Let a guest write a session from now on. Raises StoreLocked when somebody else does."""
        if self.held_here(session):
            raise StoreLocked(
                f"The session {session[:8]} is open in the window that owns this workspace.",
                os.getpid(),
                "Only one process at a time may write a session.",
                "Go on with it there, or begin another session.",
            )
        if self._guests.setdefault(session, guest) is not guest:
            raise self._lent(session)

    def free(self, session: str) -> bool:
        """Whether nobody writes this session."""
        return session not in self._guests and not self.held_here(session)

    def check_own(self, session: str) -> None:
        """Raises StoreLocked when a guest writes this session."""
        if session in self._guests:
            raise self._lent(session)

    def leave(self, guest: object) -> None:
        """Free what a guest wrote."""
        self._guests = {session: one for session, one in self._guests.items() if one is not guest}

    def _lent(self, session: str) -> StoreLocked:
        return StoreLocked(
            f"The session {session[:8]} is being written by another process.",
            None,
            "A command that was started beside the window works in it.",
            "Wait for its end, or begin another session.",
        )
