"""What the searches of messages share: the sessions of a workspace, and the way to what was found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.services.message_search import SearchedSession
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.workspaces.controller import WorkspaceController


async def searched_sessions(workspace: OpenWorkspace) -> list[SearchedSession]:
    """Return the sessions of a workspace that is open. Raises StoreError."""
    summaries = await workspace.store.sessions()
    return [
        SearchedSession(workspace.id, summary, _log_reader(workspace, summary.id)) for summary in summaries
    ]


async def show_message(
    workspace_controller: WorkspaceController,
    navigation: SessionNavigation,
    place: tuple[str, str, int],
    terms: Sequence[str],
) -> None:
    """Show the message at a `place` (workspace, session, event), and mark the longest of the words there."""
    workspace_id, session_id, seq = place
    await workspace_controller.open_in_front(workspace_id, session_id)
    mark = max(terms, key=len, default="")
    other = workspace_controller.other_window_with(workspace_id, session_id)
    if other is not None:
        other.show_event(seq, mark)
    elif workspace_controller.session.id == session_id:
        navigation.show_event(seq, mark=mark)


def _log_reader(workspace: OpenWorkspace, session_id: str) -> Callable[[], Awaitable[list[RecordedEvent]]]:
    async def read() -> list[RecordedEvent]:
        conversation = workspace.find_open(session_id)
        # A copy: the log of an open session grows.
        return (
            await workspace.store.events(session_id) if conversation is None else [*conversation.session.log]
        )

    return read
