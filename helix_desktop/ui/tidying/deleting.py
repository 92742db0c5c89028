"""Deletes sessions: into the trash, with Undo."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.oblivion import delete_session
from helix_desktop.context.digest import ellipsize
from helix_desktop.context.keeping import TRASH_DAYS
from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.tidying.stage import Stage

_DELETED = "session deleted"


class Deleting(QObject):
    """Binds the session list's Delete and its Undo to the workspace on screen."""

    def __init__(self, window: MainWindow, intents: Intents, desk: Desk, stage: Stage) -> None:
        super().__init__(window)
        self._window, self._desk, self._stage = window, desk, stage
        self._workspace = ""  # of the session that Undo would bring back
        start = intents.start
        window.sidebar.session_deleted.connect(lambda one: start(self._delete(one), "delete session"))
        window.banners.acted.connect(
            lambda banner, one: start(self._undo(one), "undo delete") if banner == _DELETED else None
        )

    async def _delete(self, session: str) -> None:
        room = self._desk.rooms.get(self._stage.active)
        if room is None:
            return
        running = any(one.running for one in room.conversations if one.session.id == session)
        if running and not await self._confirmed():
            return
        titles = {one.id: one.title for one in await room.store.sessions()}
        shown = self._stage.work.conversation
        if shown is not None and shown.session.id == session:
            await self._stage.work.show(room, None)
        await delete_session(room, session)
        self._workspace = room.id
        self._window.banners.show_banner(
            Banner(
                _DELETED,
                "info",
                f"“{ellipsize(titles.get(session, 'The session'))}” is in the trash.",
                f"It stays there for {TRASH_DAYS} days, with all its outputs.",
                actions=(BannerAction(session, "Undo"),),
                workspace=room.id,
            )
        )
        if self._stage.work.conversation is None:
            await self._stage.open_workspace(room.id)
        await self._stage.refresh()

    async def _confirmed(self) -> bool:
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            "Delete a session whose agent is at work?",
            "The agent is stopped. The session goes to the trash and can be brought back.",
            (Choice("", "Keep"), Choice("delete", "Stop and delete", "danger")),
        )
        return answer == "delete"

    async def _undo(self, session: str) -> None:
        self._window.banners.remove(_DELETED)
        room = self._desk.rooms.get(self._workspace)
        if room is None:
            return
        await room.store.keep.restore_session(session)
        if self._stage.active == self._workspace:
            await self._stage.open_session(session)
