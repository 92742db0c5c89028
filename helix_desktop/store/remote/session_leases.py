"""Leases on session logs: the writer is the owner of the store, or one client until it leaves.

A log stays single-writer by three rules. A session that is open in the owner, or that it has written, is
written by the owner alone. A session that a client has begun to write is that client's until its connection
ends. And in any case the store itself takes only events that continue the log: two writers could
never mix theirs.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from helix_desktop.domain.errors import StoreLocked
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Store")

IsOpenHere = Callable[[str], bool]
"""Return True if a session is open in this process."""


class SessionLeases:
    """The sessions that clients write; a client is any object that represents a connection."""

    def __init__(self) -> None:
        self.is_open_here: IsOpenHere = lambda _: False
        self._own_sessions: set[str] = set()
        self._clients: dict[str, object] = {}

    def acquire(self, session_id: str, client: object) -> None:
        """Lease a session to a client from now on. Raise StoreLocked if another process writes it."""
        if self._is_open_here(session_id):
            raise self._session_locked(session_id, os.getpid())
        if self._clients.setdefault(session_id, client) is not client:
            raise self._session_locked(session_id, None)

    def is_available(self, session_id: str, client: object = None) -> bool:
        """Return True if nobody writes this session, except for `client`."""
        return self._clients.get(session_id, client) is client and not self._is_open_here(session_id)

    def acquire_own(self, session_id: str) -> None:
        """Lease a session to this process from now on. Raise StoreLocked if a client has it."""
        self.check_not_leased(session_id)
        self._own_sessions.add(session_id)

    def check_not_leased(self, session_id: str) -> None:
        """Raise StoreLocked if a client writes a session."""
        if session_id in self._clients:
            raise self._session_locked(session_id, None)

    def refusal(self, why: TranslatableText) -> StoreLocked:
        """Return the error for a client that may not do something while this process owns the store."""
        return StoreLocked(
            text(
                "This workspace is in use by another running Helix Desktop (process {process}).",
                process=str(os.getpid()),
            ),
            os.getpid(),
            why,
            text("If it's a window, do it there or close it. If it's a command, wait until it ends."),
        )

    def release_all(self, client: object) -> None:
        """Release all leases of a client."""
        self._clients = {
            session_id: holder for session_id, holder in self._clients.items() if holder is not client
        }

    def _is_open_here(self, session_id: str) -> bool:
        return session_id in self._own_sessions or self.is_open_here(session_id)

    def _session_locked(self, session_id: str, process: int | None) -> StoreLocked:
        return StoreLocked(
            text(
                "The session {session} is in use by another Helix program: a window or a run.",
                session=session_id[:8],
            ),
            process,
            text("Only one program at a time can write to a session."),
            text("Wait until the run ends or close the session there, or start another session."),
        )
