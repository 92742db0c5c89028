"""User action that goes back to before a message: the files, the conversation, or both."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import AgentWorking, HelixError, InvalidInput
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog, RewindPoint
from helix_desktop.ui.changes.rows import LineCounts
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.intents import RewindTo, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.reverts import RevertFlow
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController

text = TextContext("Changes")

_MAX_POINTS = 200  # messages to choose from, the newest ones


class RewindController(QObject):
    def __init__(
        self,
        window: MainWindow,
        session: Session,
        workspace_controller: WorkspaceController,
        reverts: RevertFlow,
    ) -> None:
        super().__init__(window)
        self._window, self._session = window, session
        self._workspace_controller, self._reverts = workspace_controller, reverts
        window.intents.add(self)

    @handles(RewindTo)
    async def rewind(self, seq: int) -> None:
        """Preview going back to before the user's message of an event (0: their last one), and do it.

        Raises HelixError.
        """
        workspace, conversation = self._session.workspace, self._session.conversation
        if conversation.is_running:
            raise AgentWorking(text("The agent is working."), fix=text("Stop it, then rewind."))
        points = _points(conversation)
        if not points:
            raise InvalidInput(text("This session has no message to rewind to."))
        dialog = RewindDialog(self._window, points, seq or points[-1].seq)
        self._reverts.connect_merging(workspace.changes, dialog.files)
        retint(dialog, self._window.theme)
        session_id = conversation.session.id
        plans: list[asyncio.Task[None]] = []

        def plan(point: int) -> None:
            for earlier in plans:
                earlier.cancel()
            plans.append(self._session.start(self._plan(workspace, session_id, dialog, point), "plan rewind"))

        dialog.point_changed.connect(plan)
        plan(dialog.seq)
        is_accepted = await exec_async(dialog)
        for task in plans:
            task.cancel()
        if is_accepted:
            await self._do(workspace, session_id, dialog)

    async def _plan(self, workspace: OpenWorkspace, session_id: str, dialog: RewindDialog, seq: int) -> None:
        try:
            plan = await workspace.changes.plan_rewind(session_id, seq)
        except HelixError as error:
            dialog.show_error(error)
            return
        dialog.show_plan(plan)
        for file in plan.files:
            diff = await workspace.changes.diff(file.present, file.former)
            dialog.files.show_counts({file.path: LineCounts.of(diff)})

    async def _do(self, workspace: OpenWorkspace, session_id: str, dialog: RewindDialog) -> None:
        plan, choices, seq, part = dialog.files.plan, dialog.files.choices, dialog.seq, dialog.part
        done = None
        if part != "conversation" and plan.files:
            done = await self._reverts.apply(workspace, session_id, plan, choices)
        if part != "files":
            branch = await self._workspace_controller.session_opener.show_new_session(
                workspace, workspace.branches.open_for_rewind(session_id, seq)
            )
            if done is not None:
                self._reverts.report(workspace, branch.session.id, done)
        elif done is not None:
            self._reverts.report(workspace, session_id, done)
        self._session.schedule_refresh()


def _points(conversation: Conversation) -> list[RewindPoint]:
    """Return the user's messages that a conversation can go back to, in the order of the chat."""
    items = conversation.session.transcript.messages.user_items
    points = [
        RewindPoint(item.seq, item.event.text, len(items) - number)
        for number, item in enumerate(items)
        if isinstance(item.event, UserSpoke)
    ]
    return points[-_MAX_POINTS:]
