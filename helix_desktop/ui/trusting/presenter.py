"""Asks whether a folder is trusted, and keeps the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QObject

from helix_desktop.ui.chat.trust_strip import TrustStrip
from helix_desktop.ui.dialogs import finished
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.trusting.dialog import TrustDialog
from helix_desktop.ui.widgets import retint
from helix_desktop.ui.work import Work
from helix_desktop.workspaces.acting import acting_in


class Trusting(QObject):
    """Binds the strip and the question to the workspace on screen."""

    def __init__(
        self,
        window: MainWindow,
        work: Work,
        intents: Intents,
        desk: Desk,
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        """`changed` shows the workspace as it is now."""
        super().__init__(window)
        self._window, self._work, self._desk, self._changed = window, work, desk, changed
        self._strip: TrustStrip = work.screens.chat.trust
        self._strip.wanted.connect(lambda: intents.start(self._ask_here(), "trust"))
        window.remedy_requested.connect(
            lambda remedy: intents.start(self._ask_here(), "trust") if remedy == "trust_folder" else None
        )
        work.shown.connect(self.show)

    def show(self) -> None:
        """Show the strip where the folder on screen is not trusted."""
        room = self._work.room
        self._strip.setVisible(room is not None and not room.reading and not room.trusted())

    async def _ask_here(self) -> None:
        if self._work.room is not None:
            await self.ask(self._work.room.id)

    async def ask(self, identity: str) -> None:
        """Ask about a workspace's folder."""
        record = self._desk.registry.get(identity)
        acting = await asyncio.to_thread(acting_in, Path(record.path))
        dialog = TrustDialog(self._window, record.name, record.path, acting)
        retint(dialog, self._window.theme)
        if await finished(dialog):
            await self.keep(identity, True)

    async def keep(self, identity: str, trusted: bool) -> None:
        """Keep the person's word on a folder; without their trust what runs there is stopped."""
        self._desk.registry.change(identity, trusted=trusted)
        self._desk.servers.begin(identity)
        room = self._desk.rooms.get(identity)
        if room is not None and not trusted:
            for conversation in room.conversations:
                await conversation.stop()
        self.show()
        await self._changed()
