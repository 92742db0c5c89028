"""Replays the session on screen ahead, under the policies that the policy page compares first."""

from __future__ import annotations

import asyncio
import logging

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded, RequestChanged, TurnChanged
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.errors import HelixError
from helix_desktop.replay.policy.session_replays import STORED_FROM, SessionReplays
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow

_log = logging.getLogger(__name__)

QUIET_MS = 3_000
"""Since the last event of a session, or since it is on screen."""


class ReplayPreparation(QObject):
    """Replays the session on screen under the policy in use and all profiles, and stores what comes out."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        replays: SessionReplays,
    ) -> None:
        super().__init__(window)
        self._async_actions, self._session = session.actions, session
        self._registry, self._replays = session.app.registry, replays
        self._task: asyncio.Task[None] | None = None
        self._is_page_visible = False
        self.quiet_timer = QTimer(self, singleShot=True, interval=QUIET_MS)
        self.quiet_timer.timeout.connect(self._start)
        session.changed.connect(self._restart_timer)
        session.on(EventRecorded | RequestChanged | TurnChanged, lambda _: self._restart_timer())

    def set_page_visible(self, is_visible: bool) -> None:
        """Leave the replays to the policy page while it is in sight."""
        self._is_page_visible = is_visible
        self._restart_timer()

    def stop(self) -> None:
        """Stop until the next event; what was replayed so far is kept."""
        self.quiet_timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _restart_timer(self) -> None:
        self.stop()
        if self._long_conversation is not None:
            self.quiet_timer.start()

    @property
    def _long_conversation(self) -> Conversation | None:
        """The long session on screen; None if there is none, or the page has it."""
        conversation = self._session.find_conversation()
        if self._is_page_visible or conversation is None or len(conversation.session.log) < STORED_FROM:
            return None
        return conversation

    def _start(self) -> None:
        conversation = self._long_conversation
        if conversation is not None:
            workspace = self._session.workspace
            self._task = self._async_actions.start(
                self._replay(workspace, conversation), "replay a session ahead"
            )

    async def _replay(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        try:
            await self._replays.open(conversation, self._registry.data_folder(workspace.id))
            in_use = conversation.session.transcript.session_policy or workspace.policy
            await self._replays.complete((in_use, workspace.policy, *PROFILES.values()))
            if not conversation.is_running:  # else its next event comes soon
                await self._replays.store()
        except HelixError as error:
            self._replays.forget()
            _log.warning("the session can't be replayed ahead: %s", error)
