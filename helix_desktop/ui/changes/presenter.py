"""Shows what a session did to the workspace's files."""

from __future__ import annotations

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.ui.changes.rows import ChangesState, Obstacle
from helix_desktop.ui.changes.view import ChangesPage


class ChangesPresenter:
    """Binds the page of changes to one conversation at a time; it is filled when `refresh` is called."""

    def __init__(self, view: ChangesPage) -> None:
        self._view = view
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None

    def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Show another conversation of a workspace, or none, from the next `refresh` on."""
        self._workspace, self._conversation = workspace, conversation

    async def refresh(self) -> None:
        """Show the changes as they are now."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or conversation is None:
            return
        changes = await workspace.changes.of_session(conversation.session.id)
        if conversation is self._conversation:
            coverage = workspace.changes.coverage
            self._view.set_state(ChangesState(changes, coverage, _obstacle(workspace)))


def _obstacle(workspace: OpenWorkspace) -> Obstacle:
    if workspace.is_read_only:
        return "missing"
    return "" if workspace.is_trusted() else "untrusted"
