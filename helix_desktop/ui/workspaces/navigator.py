"""What cleaning up needs of the window: which workspace is shown, and its conversation."""

from __future__ import annotations

from typing import Protocol

from helix_desktop.ui.session.controller import SessionController


class WorkspaceNavigator(Protocol):
    """Where workspaces and sessions are shown: the shell."""

    active_workspace_id: str
    session_controller: SessionController

    async def open_workspace(self, workspace_id: str) -> None:
        """Show a workspace with its last session."""
        ...

    async def open_session(self, session: str) -> None:
        """Show a session of the workspace on screen."""
        ...

    async def refresh(self) -> None:
        """Show the lists as they are now."""
        ...
