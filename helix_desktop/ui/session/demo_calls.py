"""Whether calls of the demo model run without asking in a session, for all that says so."""

from __future__ import annotations

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.services.app_services import AppServices
from helix_desktop.workspaces.saved_rules import demo_calls_run


def runs_demo_calls(
    services: AppServices, workspace: OpenWorkspace | None, conversation: Conversation | None
) -> bool:
    """Return True if the demo model answers in a session of a workspace, and its calls run without asking."""
    if workspace is None or conversation is None:
        return False
    return demo_calls_run(services.registry.get(workspace.id), conversation.model.demo)
