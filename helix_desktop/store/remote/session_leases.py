"""Who writes a session's log: the owner of the store, or one guest until it leaves.

A log stays single-writer by three rules. A session that is open in the owner, or that it has written, is
written by the owner alone. A session that a guest has begun to write is that guest's until its connection
ends. And whatever happens, the store itself takes only events that continue the log: two writers could
never mix theirs.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from helix_desktop.domain.errors import StoreLocked

IsOpenHere = Callable[[str], bool]
"""Whether a session is open in this process."""


class SessionLeases:
    """The sessions that guests write; a guest is any object that stands for a connection."""

    def __init__(self) -> None:
        self.is_open_here: IsOpenHere = lambda _: False
        self._own_sessions: set[str] = set()
        self._clients: dict[str, object] = {}

    def acquire(self, session: str, client: object) -> None:
        """Let a guest write a session from now on. Raise StoreLocked when somebody else does."""
        if self._is_open_here(session):
            raise StoreLocked(
                f"The session {session[:8]} is open in the window that owns this workspace.",
                os.getpid(),
                "Only one process at a time may write a session.",
                "Go on with it there, or begin another session.",
            )
        if self._clients.setdefault(session, client) is not client:
            raise self._session_locked(session)

    def is_available(self, session: str, client: object = None) -> bool:
        """Return True if nobody writes this session, but for a guest that is named."""
        return self._clients.get(session, client) is client and not self._is_open_here(session)

    def acquire_own(self, session: str) -> None:
        """This process writes a session from now on. Raise StoreLocked when a guest does."""
        self.check_not_leased(session)
        self._own_sessions.add(session)

    def check_not_leased(self, session: str) -> None:
        """Raise StoreLocked when a guest writes a session."""
        if session in self._clients:
            raise self._session_locked(session)

    def refusal(self, why: str) -> StoreLocked:
        """Return what a guest is told that may not do something while this process owns the store."""
        return StoreLocked(
            f"This workspace is in use by another running Helix Desktop (process {os.getpid()}).",
            os.getpid(),
            why,
            "Do it in that window, or close it and try again.",
        )

    def release_all(self, client: object) -> None:
        """Free what a guest wrote."""
        self._clients = {session: one for session, one in self._clients.items() if one is not client}

    def _is_open_here(self, session: str) -> bool:
        return session in self._own_sessions or self.is_open_here(session)

    def _session_locked(self, session: str) -> StoreLocked:
        return StoreLocked(
            f"The session {session[:8]} is being written by another process.",
            None,
            "A command that was started beside the window works in it.",
            "Wait for its end, or begin another session.",
        )
