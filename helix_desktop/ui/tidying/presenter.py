"""Cleans up, shows the trash, and forgets, for the workspace on screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import QObject

from helix_desktop.agent.room import Room
from helix_desktop.context.digest import count_text, size_text
from helix_desktop.context.errors import WorkspaceMissing
from helix_desktop.context.keeping import CleanUp, Swept, why_it_stays
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.dialogs import finished
from helix_desktop.ui.forgetting.presenter import ForgettingPresenter
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.tidying.clean_dialog import CleanDialog
from helix_desktop.ui.tidying.deleting import Deleting
from helix_desktop.ui.tidying.stage import Stage
from helix_desktop.ui.tidying.trash_dialog import TrashDialog
from helix_desktop.ui.widgets import retint

_CLEANED, _STAYS, _UNDO = "cleaned up", "stays", "undo"


class Tidying(QObject):
    """Binds the commands and the cache browser's entries to the store of the workspace on screen."""

    def __init__(
        self, window: MainWindow, cache: CacheBrowser, intents: Intents, desk: Desk, stage: Stage
    ) -> None:
        super().__init__(window)
        self._window, self._cache, self._intents = window, cache, intents
        self._desk, self._stage = desk, stage
        self._swept: tuple[Room, Swept] | None = None
        self._planning: asyncio.Task[None] | None = None
        self.clean_dialog: CleanDialog | None = None
        self.trash_dialog: TrashDialog | None = None
        self.forgetting: ForgettingPresenter | None = None
        self.deleting = Deleting(window, intents, desk, stage)
        commands, start = window.commands, intents.start
        commands.clean_up.triggered.connect(lambda: start(self.clean_up(), "clean up"))
        commands.trash.triggered.connect(lambda: start(self.show_trash(), "trash"))
        commands.forget.triggered.connect(lambda: start(self.forget(), "forget"))
        cache.forget_requested.connect(lambda digest: start(self.forget(digest), "forget"))
        cache.table.trash_requested.connect(lambda digests: start(self.discard(digests), "discard"))
        window.banners.acted.connect(self._acted)

    def _room(self) -> Room:
        room = self._desk.rooms.get(self._stage.active)
        if room is None:
            raise WorkspaceMissing("No workspace is open.", fix="Open one first.")
        return room

    async def clean_up(self) -> None:
        """Show what could go, and move it to the trash when the person says so."""
        room = self._room()
        record = self._desk.registry.get(room.id)
        asked = CleanUp(record.quota, record.unused_ms)
        dialog = self.clean_dialog = CleanDialog(self._window, asked, bool(record.quota or record.unused_ms))
        dialog.plan_requested.connect(lambda asked: self._plan(room, asked))
        dialog.collect_requested.connect(lambda on: self._intents.start(self._collect(room, on), "collect"))
        dialog.trash_requested.connect(self._go_to_trash)
        retint(dialog, self._window.theme)
        self._plan(room, dialog.asked)
        try:
            await finished(dialog)
        finally:
            self.clean_dialog = None

    def _plan(self, room: Room, asked: CleanUp) -> None:
        if self._planning is not None:
            self._planning.cancel()
        self._planning = self._intents.start(self._planned(room, asked), "plan a clean-up")

    async def _planned(self, room: Room, asked: CleanUp) -> None:
        plan = await room.store.keep.plan(asked)
        if self.clean_dialog is not None and self.clean_dialog.asked == asked:
            self.clean_dialog.show_plan(plan)

    async def _collect(self, room: Room, by_itself: bool) -> None:
        dialog = self.clean_dialog
        if dialog is None:
            return
        asked = dialog.asked
        dialog.collect.setEnabled(False)
        kept = asked if by_itself else CleanUp()
        self._desk.registry.change(room.id, quota=kept.quota, unused_ms=kept.unused_ms)
        plan = await room.store.keep.plan(asked)
        swept = await room.store.keep.collect([one.digest for one in plan.going])
        dialog.accept()
        await self._tell_swept(room, swept)

    async def discard(self, digests: Sequence[str]) -> None:
        """Move entries to the trash, and say why one stays. Raises WorkspaceMissing, StoreError."""
        room = self._room()
        swept = await room.store.keep.collect(digests, grace_ms=0)
        if swept.digests:
            await self._tell_swept(room, swept)
        left = [digest for digest in digests if digest not in swept.digests]
        if not left:
            return
        why, fix = why_it_stays(await room.store.entry(left[0]))
        what = "This entry stays in the cache."
        if len(digests) > 1:
            what = f"{count_text(len(left), 'entry', 'entries')} stayed in the cache."
            why = why if len(left) == 1 else f"One of them: {why}"
        self._window.banners.show_banner(Banner(_STAYS, "warning", what, why, fix, workspace=room.id))

    async def _tell_swept(self, room: Room, swept: Swept) -> None:
        self._swept = (room, swept)
        self._window.banners.remove(_STAYS)
        count = len(swept.digests)
        back = f"{'It comes' if count == 1 else 'They come'} back with Undo, or from the trash."
        self._window.banners.show_banner(
            Banner(
                _CLEANED,
                "info",
                f"{count:,} {'entry is' if count == 1 else 'entries are'} in the trash.",
                f"{size_text(swept.stored_size)} on disk. {back}",
                actions=(BannerAction(_UNDO, "Undo"),) if count else (),
                workspace=room.id,
            )
        )
        await self._show_change()

    def _go_to_trash(self) -> None:
        if self.clean_dialog is not None:
            self.clean_dialog.reject()
        self._intents.start(self.show_trash(), "trash")

    async def show_trash(self) -> None:
        """Show the trash until it is closed."""
        room = self._room()
        dialog = self.trash_dialog = TrashDialog(self._window)
        dialog.restore_requested.connect(
            lambda digests, sessions: self._intents.start(self._restore(room, digests, sessions), "restore")
        )
        dialog.empty_requested.connect(lambda: self._intents.start(self._empty(room), "empty the trash"))
        retint(dialog, self._window.theme)
        dialog.show_trash(await room.store.keep.trash())
        try:
            await finished(dialog)
        finally:
            self.trash_dialog = None

    async def _restore(self, room: Room, digests: list[str], sessions: list[str]) -> None:
        await room.store.keep.restore(digests)
        for session in sessions:
            await room.store.keep.restore_session(session)
        await self._show_change()

    async def _empty(self, room: Room) -> None:
        await room.store.keep.empty_trash()
        self._window.banners.remove(_CLEANED)
        await self._show_change()

    async def forget(self, digest: str = "") -> None:
        """Let the person forget a text, or an output and a text. Raises HelixError."""
        room = self._room()
        own = Intents(self._intents.scope, self._intents.tell)
        self.forgetting = ForgettingPresenter(
            self._window, own, room, self._desk.forgetting(room.id), self, digest
        )
        try:
            await self.forgetting.run()
        finally:
            self.forgetting = None

    async def put_away(self) -> str:
        """Take the conversation off the screen, and what goes along with its next message; its session."""
        conversation = self._stage.work.conversation
        await self._stage.work.show(self._stage.work.room, None)
        self._stage.work.composing.forget_attached()
        return conversation.session.id if conversation is not None else ""

    async def show_again(self, session: str) -> None:
        """Show a session as it is stored now."""
        if session:
            await self._stage.open_session(session)
        await self._show_change()

    def _acted(self, banner: str, action: str) -> None:
        if (banner, action) == (_CLEANED, _UNDO):
            self._intents.start(self._undo(), "undo the clean-up")

    async def _undo(self) -> None:
        if self._swept is None:
            return
        room, swept = self._swept
        self._swept = None
        await room.store.keep.restore(swept.digests)
        self._window.banners.remove(_CLEANED)
        await self._show_change()

    async def _show_change(self) -> None:
        self._cache.refresh()
        await self._stage.refresh()
        room = self._desk.rooms.get(self._stage.active)
        if self.trash_dialog is not None and room is not None:
            self.trash_dialog.show_trash(await room.store.keep.trash())
