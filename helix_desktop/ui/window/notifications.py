"""Notifies a user who looks elsewhere: the agent waits, something long has ended, a turn failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import (
    ApprovalRequested,
    CompactionProgress,
    ObservationProgress,
    QuestionAsked,
    TurnChanged,
)
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.question import ServerQuestion
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.timeline.card_data import Attempt, running_text
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.tray import Tray
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

LONG_TURN_S = 10.0
_ALERT_MS = 0  # until the window is looked at
Notification = Literal["waiting", "turn", "job", "error"]

_MAX_TEXT_CHARS = 140  # characters of a line

NotifiedUpdate = (
    TurnChanged | ApprovalRequested | QuestionAsked | TurnEnded | CompactionProgress | ObservationProgress
)


class NotificationController(QObject):
    def __init__(
        self,
        window: MainWindow,
        services: AppServices,
        tray: Tray,
        clock: Callable[[], float] = time.monotonic,
        beep: Callable[[], object] = QApplication.beep,
        is_current: Callable[[], bool] = lambda: True,
    ) -> None:
        """`clock` counts seconds; `beep` makes the system's sound.

        `is_current` is true for the window that the user looked at last: that one notifies of sessions.
        """
        super().__init__(window)
        self._window, self._services, self._tray, self._clock = window, services, tray, clock
        self._beep, self._is_current = beep, is_current
        self._started_s: dict[str, float] = {}

    def on_update(self, workspace: OpenWorkspace, session_id: str, update: NotifiedUpdate) -> None:
        match update:
            case TurnChanged(running=True):
                self._started_s[session_id] = self._clock()
            case ApprovalRequested(ask=ask):
                title = tr("The agent is waiting for your approval")
                self._notify("waiting", workspace, session_id, title, translate(ask.summary))
            case QuestionAsked(ask=question):
                title = tr("The agent has a question")
                if isinstance(question, ServerQuestion):
                    title = tr("The MCP server {server} asks you", server=question.server)
                self._notify("waiting", workspace, session_id, title, question.text)
            case TurnEnded(how=how):
                is_long, title = self._is_over(session_id), self._title(workspace, session_id)
                if how == "failed":
                    self._notify("error", workspace, session_id, tr("The agent stopped with an error"), title)
                elif how == "done" and is_long:
                    self._notify("turn", workspace, session_id, tr("The agent is done"), title)
            case CompactionProgress(phase=phase) | ObservationProgress(phase=phase):
                what: Attempt = "handover" if isinstance(update, CompactionProgress) else "observations"
                key = f"{session_id} {what}"
                if phase != "idle":
                    self._started_s.setdefault(key, self._clock())
                elif self._is_over(key):
                    title = f"{running_text(what)} · {self._title(workspace, session_id)}"
                    self._notify("job", workspace, session_id, tr("A background job has ended"), title)

    def on_job_ended(self, text: str, duration_s: float) -> None:
        if duration_s > LONG_TURN_S:
            self._show("job", ("", ""), tr("A background job has ended"), text)

    def _is_over(self, key: str) -> bool:
        """Return True if something that ends now was long."""
        return self._clock() - self._started_s.pop(key, self._clock()) > LONG_TURN_S

    def _notify(
        self, kind: Notification, workspace: OpenWorkspace, session_id: str, title: str, text: str
    ) -> None:
        if not self._is_current():
            return
        name = self._services.registry.get(workspace.id).name
        self._show(kind, (workspace.id, session_id), f"{title} · {name}", text)

    def _show(self, kind: Notification, where: tuple[str, str], title: str, text: str) -> None:
        settings = self._services.settings
        if self._is_in_front() or not settings.notify or kind in settings.notify_off:
            return
        QApplication.alert(self._window, _ALERT_MS)
        if settings.notify_sound:
            self._beep()
        self._tray.show(title, ellipsize(" ".join(text.split()), _MAX_TEXT_CHARS), where)

    def _is_in_front(self) -> bool:
        """Return True if a window of the app, or a dialog of one, is in front."""
        front = QApplication.activeWindow()
        while front is not None and not isinstance(front, MainWindow):
            front = front.parentWidget()
        return front is not None

    def _title(self, workspace: OpenWorkspace, session_id: str) -> str:
        conversations = (
            conversation for conversation in workspace.conversations if conversation.session.id == session_id
        )
        return next((conversation.session.transcript.title for conversation in conversations), "")
