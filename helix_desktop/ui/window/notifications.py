"""The tray's icon, and notifications of the desktop: what waits, what is done, what failed."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon

from helix_desktop import APP_NAME
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
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.notification_service import NotificationService
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.kit.intents import Quit, perform
from helix_desktop.ui.timeline.cards import Attempt
from helix_desktop.ui.window.background_jobs import running_text
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.words.translation import Translator, translate

log = logging.getLogger(__name__)

tr = Translator("Workspaces")

LONG_TURN_S = 10.0
_ALERT_MS = 0  # until the window is looked at
Notification = Literal["waiting", "turn", "job", "error"]

_MAX_TEXT_CHARS = 140  # characters of a line

NotifiedUpdate = (
    TurnChanged | ApprovalRequested | QuestionAsked | TurnEnded | CompactionProgress | ObservationProgress
)

_MESSAGE_MS = 15_000
_WATCH_MS = 3_000  # between looks at the tray
_MAX_ABSENCES = 2  # looks without a tray: a panel may restart


class Tray(QObject):
    """Shows messages by the desktop's notification service, else by an icon, if the system has a tray."""

    clicked = Signal(str, str)
    """The user wants to see the window, and what a message is about: workspace and session, or none."""

    def __init__(self, window: MainWindow, start: StartCoroutine | None = None) -> None:
        """`start` runs what talks to the notification service; without it only the icon shows messages."""
        super().__init__(window)
        self._window = window
        self._icon: QSystemTrayIcon | None = None
        self._last = ("", "", ("", ""))  # title, text and place of the newest message
        # GNOME has a service and no tray; the other systems' messages belong to the icon.
        self._start = start if sys.platform == "linux" else None
        self._service = NotificationService[tuple[str, str]](
            APP_NAME, QGuiApplication.desktopFileName(), lambda place: self.clicked.emit(*place)
        )
        self._is_serving = False
        self._absences = 0
        self._watch_timer = QTimer(self, interval=_WATCH_MS)
        self._watch_timer.timeout.connect(self._watch_tray)

    def is_available(self) -> bool:
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self, title: str, text: str, place: tuple[str, str]) -> None:
        """Show a message about a workspace's session; a click on it leads there."""
        self._last = title, text, place
        if self._start is None:
            self._show_by_icon()
            return
        self._service.show(title, text, place)
        if not self._is_serving:
            self._is_serving = True
            self._start(self._serve(), "notify")

    async def _serve(self) -> None:
        try:
            await self._service.run()
        except OSError as error:
            log.info("Notifications are shown by the tray's icon: %s", error)
            self._show_by_icon()
        finally:
            self._is_serving = False

    def _show_by_icon(self) -> None:
        title, text, _ = self._last
        if not (title and self.is_available() and QSystemTrayIcon.supportsMessages()):
            return
        icon = self._visible_icon()
        icon.setToolTip(tr("Helix Desktop: {title}", title=title))
        icon.showMessage(title, text, self._window.windowIcon(), _MESSAGE_MS)

    def hide_window(self) -> None:
        """Hide the window; the icon brings it back, and so does the end of the tray."""
        self._visible_icon().setToolTip(APP_NAME)
        self._window.hide()
        self._absences = 0
        self._watch_timer.start()

    def _watch_tray(self) -> None:
        if self._window.isVisible():
            self._watch_timer.stop()
            return
        self._absences = 0 if self.is_available() else self._absences + 1
        if self._absences >= _MAX_ABSENCES:
            self._watch_timer.stop()
            self._window.show()

    def clear_message(self) -> None:
        """Take the messages back, and hide the icon unless it is the only way to the window."""
        self._last = "", "", ("", "")
        if self._is_serving:
            self._service.withdraw()
        if self._icon is not None and self._window.isVisible():
            self._icon.hide()

    def withdraw(self) -> None:
        """Take the messages back and hide the icon: the window is closed while others are open."""
        self.clear_message()
        if self._icon is not None:
            self._icon.hide()

    def _visible_icon(self) -> QSystemTrayIcon:
        if self._icon is None:
            self._icon = QSystemTrayIcon(self._window.windowIcon(), self)
            self._icon.messageClicked.connect(self._open)
            menu_asked = QSystemTrayIcon.ActivationReason.Context
            self._icon.activated.connect(lambda reason: None if reason == menu_asked else self._open())
            menu = QMenu(self._window)
            menu.addAction(tr("Open Helix Desktop"), self._open)
            menu.addAction(tr("Quit"), lambda: perform(self, Quit()))
            self._icon.setContextMenu(menu)
        self._icon.show()
        return self._icon

    def _open(self) -> None:
        self.clicked.emit(*self._last[2])


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
        self._window = window
        self._services = services
        self._tray = tray
        self._clock = clock
        self._beep = beep
        self._is_current = is_current
        self._started_s: dict[str, float] = {}

    def on_update(self, workspace: OpenWorkspace, session_id: str, update: NotifiedUpdate) -> None:
        match update:
            case TurnChanged(running=True):
                self._started_s[session_id] = self._clock()
            case ApprovalRequested(ask=ask):
                if self._waits_for_another_approval(workspace, session_id, ask.call_id):
                    return  # the notification of that one leads here too
                title = tr("The agent is waiting for your approval")
                self._notify("waiting", workspace, session_id, title, translate(ask.summary))
            case QuestionAsked(ask=question):
                title = tr("The agent has a question")
                if isinstance(question, ServerQuestion):
                    title = tr("The MCP server {server} asks you", server=question.server)
                self._notify("waiting", workspace, session_id, title, question.text)
            case TurnEnded(how=how):
                is_long = self._is_over(session_id)
                title = self._title(workspace, session_id)
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
                    title = f"{running_text(update)} · {self._title(workspace, session_id)}"
                    self._notify("job", workspace, session_id, tr("A background job has ended"), title)

    @staticmethod
    def _waits_for_another_approval(workspace: OpenWorkspace, session_id: str, call_id: str) -> bool:
        opened = (chat for chat in workspace.conversations if chat.session.id == session_id)
        asks = (ask for chat in opened for ask in chat.asks)
        return any(isinstance(ask, ApprovalRequest) and ask.call_id != call_id for ask in asks)

    def on_job_ended(self, text: str, duration_s: float) -> None:
        if duration_s > LONG_TURN_S:
            self._show("job", ("", ""), tr("A background job has ended"), text)

    def _is_over(self, key: str) -> bool:
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
        front = QApplication.activeWindow()
        while front is not None and not isinstance(front, MainWindow):  # but a dialog of one
            front = front.parentWidget()
        if front is not None or not settings.notify or kind in settings.notify_off:
            return
        QApplication.alert(self._window, _ALERT_MS)
        if settings.notify_sound:
            self._beep()
        self._tray.show(title, ellipsize(" ".join(text.split()), _MAX_TEXT_CHARS), where)

    def _title(self, workspace: OpenWorkspace, session_id: str) -> str:
        sessions = (conversation.session for conversation in workspace.conversations)
        return next((session.transcript.title for session in sessions if session.id == session_id), "")
