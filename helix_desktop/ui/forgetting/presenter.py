"""Forgets from its dialog to the files: first shown, then done, then what is open is read anew."""

from __future__ import annotations

import asyncio
from typing import Protocol

from helix_desktop.agent.room import Room
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import HelixError
from helix_desktop.context.forgetting import Finds, Wanted
from helix_desktop.ui.dialogs import finished
from helix_desktop.ui.forgetting.dialog import ForgetDialog
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Forgetting
from helix_desktop.ui.widgets import retint


class Screen(Protocol):
    """What is on screen of the workspace."""

    async def put_away(self) -> str:
        """Take the conversation off the screen, and what goes along with its next message; its session."""
        ...

    async def show_again(self, session: str) -> None:
        """Show a session as it is stored now."""
        ...


class ForgettingPresenter:
    """One forgetting in one workspace, while its dialog is open."""

    def __init__(
        self,
        window: MainWindow,
        intents: Intents,
        room: Room,
        forgetting: Forgetting,
        screen: Screen,
        digest: str = "",
    ) -> None:
        """`digest` is the output that is to be forgotten; without one only a text is."""
        self._window, self._intents, self._room = window, intents, room
        self._forgetting, self._screen, self._digest = forgetting, screen, digest
        self._looking: asyncio.Task[None] | None = None
        self._doing: asyncio.Task[None] | None = None
        self.dialog: ForgetDialog | None = None

    async def run(self) -> None:
        """Open the dialog and wait until it is closed. Raises DigestUnknown."""
        chosen = ""
        if self._digest:
            entry = await self._room.store.entry(self._digest)
            name = f"{entry.tool} {entry.target}".strip() or self._digest[:12]
            chosen = f"{name}, {size_text(entry.size)}"
        dialog = self.dialog = ForgetDialog(self._window, chosen)
        dialog.look_requested.connect(self._look)
        dialog.cancel_requested.connect(self._stop)
        dialog.forget_requested.connect(self._forget)
        retint(dialog, self._window.theme)
        try:
            await finished(dialog)
        finally:
            self.dialog = None
            self._stop()

    def _wanted(self, text: str) -> Wanted:
        return Wanted(text, (self._digest,) if self._digest else ())

    def _look(self, text: str) -> None:
        self._looking = self._intents.start(self._looked(self._wanted(text)), "look for a secret")

    async def _looked(self, wanted: Wanted) -> None:
        try:
            finds = await self._forgetting.preview(wanted, self._told)
        except HelixError as error:
            self._refuse(error)
            return
        if self.dialog is not None:
            self.dialog.show_found(finds.lines, await self._notes(finds))

    async def _notes(self, finds: Finds) -> list[str]:
        titles = {one.id: one.title for one in await self._room.store.sessions()}
        named = [f"“{titles[one]}”" for one in finds.sessions if one in titles]
        notes = []
        if named:
            more = f" and {len(named) - 3:,} more" if named[3:] else ""
            notes.append(f"In {', '.join(named[:3])}{more}.")
        if finds.unreadable:
            notes.append(f"{len(finds.unreadable):,} damaged entries cannot be looked through.")
        return notes

    def _stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _forget(self, text: str) -> None:
        self._doing = self._intents.start(self._forgot(self._wanted(text)), "forget")

    async def _forgot(self, wanted: Wanted) -> None:
        session = await self._screen.put_away()
        try:
            finds = await self._forgetting.carry_out(wanted, self._told)
        except HelixError as error:
            self._refuse(error)
        else:
            if self.dialog is not None:
                self.dialog.show_done(finds.lines)
        finally:
            await self._screen.show_again(session)

    def _told(self, done: int, total: int) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(done, total)

    def _refuse(self, error: HelixError) -> None:
        if self.dialog is not None:
            self.dialog.show_problem(error.what, error.why, error.fix)
        else:
            self._intents.tell(error)
