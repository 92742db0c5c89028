"""Tells a person who looks elsewhere that a question waits or that a long turn has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.room import Room
from helix_desktop.agent.update import CallWaiting, Happened, TurnChanged, Update
from helix_desktop.context.digest import ellipsize
from helix_desktop.context.event import Recorded, TurnEnded
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk

LONG_TURN_S = 10.0
_ALERT_MS = 0  # until the window is looked at
_MOST = 140  # characters of a line


class Messenger(Protocol):
    """Shows a message outside the window."""

    def show(self, title: str, text: str) -> None:
        """Show it, in the place of an earlier one."""
        ...

    def withdraw(self) -> None:
        """Show nothing any more."""
        ...


class Notifying(QObject):
    """Hears every session of every open workspace; a click on what it tells leads there."""

    wanted = Signal(str, str)
    """Workspace and session that the person wants to see."""

    def __init__(
        self,
        window: MainWindow,
        desk: Desk,
        messenger: Messenger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` counts seconds."""
        super().__init__(window)
        self._window, self._desk, self._messenger, self._clock = window, desk, messenger, clock
        self._began: dict[str, float] = {}
        self._about = ("", "")
        window.installEventFilter(self)

    def hear(self, room: Room, session: str, update: Update) -> None:
        """Take in what a session of a workspace told."""
        match update:
            case TurnChanged(running=True):
                self._began[session] = self._clock()
            case CallWaiting(ask=ask):
                self._tell(room, session, "The agent waits for your approval", ask.summary)
            case Happened(recorded=Recorded(event=TurnEnded(how=how))):
                took = self._clock() - self._began.pop(session, self._clock())
                if took > LONG_TURN_S and how in ("done", "failed"):
                    said = "The agent is done" if how == "done" else "The agent could not go on"
                    self._tell(room, session, said, self._title(room, session))

    def clicked(self) -> None:
        """The person clicked on what was told."""
        workspace, session = self._about
        if workspace:
            self.wanted.emit(workspace, session)

    def _tell(self, room: Room, session: str, title: str, text: str) -> None:
        if self._in_front() or not self._desk.settings.notify:
            return
        self._about = (room.id, session)
        name = self._desk.registry.get(room.id).name
        QApplication.alert(self._window, _ALERT_MS)
        self._messenger.show(f"{title} · {name}", ellipsize(" ".join(text.split()), _MOST))

    def _in_front(self) -> bool:
        """Whether the window, or a dialog of it, is in front."""
        front = QApplication.activeWindow()
        while front is not None and front is not self._window:
            front = front.parentWidget()
        return front is not None

    def _title(self, room: Room, session: str) -> str:
        talks = (one for one in room.conversations if one.session.id == session)
        return next((one.session.transcript.title for one in talks), "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Withdraw what was told once the window is in front."""
        if event.type() == QEvent.Type.ActivationChange and self._window.isActiveWindow():
            self._about = ("", "")
            self._messenger.withdraw()
        return super().eventFilter(watched, event)
