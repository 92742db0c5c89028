"""The sessions that lists leave out: begun and left again, with nothing in them. "New session" opens them."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.store import SessionSummary
from helix_desktop.ui.session.window_group import WindowGroup


async def unused_sessions(
    workspace: OpenWorkspace, sessions: Sequence[SessionSummary], windows: WindowGroup
) -> frozenset[str]:
    """Return which sessions of a workspace nobody used, by id: without a draft, and in no window.

    Where there are no others, all of them are listed.
    """
    on_screen = {window.shown_session.session_id for window in windows.windows}
    unused = [
        session.id
        for session in sessions
        if is_untouched(session)
        and session.id not in on_screen
        and not await workspace.store.draft(session.id)
    ]
    return frozenset(unused) if len(unused) < len(sessions) else frozenset()


def is_untouched(session: SessionSummary) -> bool:
    """Return True if nothing was recorded in a session but that it began: no message, choice, name or pin."""
    is_of_another = session.parent or session.origin or session.branch_of
    return session.events == 1 and session.title == NEW_TITLE and not is_of_another
