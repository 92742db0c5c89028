"""Notifies a user who looks elsewhere that a question waits or that a long turn has ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import (
    ApprovalRequested,
    EventRecorded,
    QuestionAsked,
    TurnChanged,
    Update,
)
from helix_desktop.domain.events.session import RecordedEvent, TurnEnded
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

LONG_TURN_S = 10.0
_ALERT_MS = 0  # until the window is looked at
_MAX_TEXT_CHARS = 140  # characters of a line


class NotificationController(QObject):
    """Hears every session of every open workspace; a click on what it tells leads there."""

    open_requested = Signal(str, str)
    """Workspace and session that the user wants to see."""

    def __init__(
        self,
        window: MainWindow,
        services: AppServices,
        tray: Tray,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` counts seconds."""
        super().__init__(window)
        self._window, self._services, self._tray, self._clock = window, services, tray, clock
        self._started_s: dict[str, float] = {}
        self._notified_ids = ("", "")
        window.installEventFilter(self)

    def on_update(self, workspace: OpenWorkspace, session: str, update: Update) -> None:
        """Handle an update from a session of a workspace."""
        match update:
            case TurnChanged(running=True):
                self._started_s[session] = self._clock()
            case ApprovalRequested(ask=ask):
                self._notify(
                    workspace, session, tr("The agent is waiting for your approval"), translate(ask.summary)
                )
            case QuestionAsked(ask=question):
                self._notify(workspace, session, tr("The agent has a question"), question.text)
            case EventRecorded(recorded=RecordedEvent(event=TurnEnded(how=how))):
                duration_s = self._clock() - self._started_s.pop(session, self._clock())
                if duration_s > LONG_TURN_S and how in ("done", "failed"):
                    text = tr("The agent is done") if how == "done" else tr("The agent stopped with an error")
                    self._notify(workspace, session, text, self._title(workspace, session))

    def on_clicked(self) -> None:
        """Show the session whose notification the user clicked."""
        workspace, session = self._notified_ids
        if workspace:
            self.open_requested.emit(workspace, session)

    def _notify(self, workspace: OpenWorkspace, session: str, title: str, text: str) -> None:
        if self._is_in_front() or not self._services.settings.notify:
            return
        self._notified_ids = (workspace.id, session)
        name = self._services.registry.get(workspace.id).name
        QApplication.alert(self._window, _ALERT_MS)
        self._tray.show(f"{title} · {name}", ellipsize(" ".join(text.split()), _MAX_TEXT_CHARS))

    def _is_in_front(self) -> bool:
        """Return True if the window, or a dialog of it, is in front."""
        front = QApplication.activeWindow()
        while front is not None and front is not self._window:
            front = front.parentWidget()
        return front is not None

    def _title(self, workspace: OpenWorkspace, session: str) -> str:
        conversations = (
            conversation for conversation in workspace.conversations if conversation.session.id == session
        )
        return next((conversation.session.transcript.title for conversation in conversations), "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hide the notification once the window is in front."""
        if event.type() == QEvent.Type.ActivationChange and self._window.isActiveWindow():
            self._notified_ids = ("", "")
            self._tray.clear_message()
        return super().eventFilter(watched, event)
