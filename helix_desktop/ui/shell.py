"""The shell: which workspace and session are on screen, and what every command of the window does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.room import Room
from helix_desktop.agent.tidying import tidy
from helix_desktop.agent.update import Arriving, Update
from helix_desktop.context.errors import HelixError, StoreClosed, WorkspaceMissing
from helix_desktop.context.event import NEW_TITLE
from helix_desktop.context.keeping import CleanUp
from helix_desktop.ui.approving import Approving
from helix_desktop.ui.backup import Backup
from helix_desktop.ui.carrying import Carrying
from helix_desktop.ui.frame.rows import Banner, error_banner
from helix_desktop.ui.health import watch
from helix_desktop.ui.history import History
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.modes import Modes
from helix_desktop.ui.notifying import Notifying
from helix_desktop.ui.on_screen import bring_forward
from helix_desktop.ui.places import SidebarPresenter
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.quitting import QuitPresenter
from helix_desktop.ui.rewriting import Rewriting
from helix_desktop.ui.roster import Roster
from helix_desktop.ui.spend_approval import SpendBanners
from helix_desktop.ui.tidying.presenter import Tidying
from helix_desktop.ui.tool_cards import ToolCards
from helix_desktop.ui.tray import Tray
from helix_desktop.ui.trusting.presenter import Trusting
from helix_desktop.ui.view_memory import ViewMemory
from helix_desktop.ui.work import Screens, Work
from helix_desktop.workspaces.record import WorkspaceRecord

_COALESCE_MS = 250
_CLOSED = "workspace closed"


class Shell(QObject):
    """Binds the window to the desk."""

    workspace_opened = Signal(str)
    """A workspace was opened for the first time in this run."""

    def __init__(self, window: MainWindow, screens: Screens, intents: Intents, desk: Desk) -> None:
        super().__init__(window)
        self._window, self._intents, self._desk = window, intents, desk
        self.work = Work(window, screens, intents)
        self.work.composing.folder_of = lambda identity: Path(desk.registry.get(identity).path)
        SpendBanners(window, self.work)
        ViewMemory(self.work, desk.views, intents)
        self.rewriting = Rewriting(window, screens, self.work, intents)
        self.history = History(window, screens, self.work, self.rewriting, intents)
        cards = ToolCards(self.work, self.history, intents)
        Approving(window, screens.chat.view, intents, lambda: self.work.conversation)
        for wanted in (cards.session_wanted, self.work.session_wanted):
            wanted.connect(lambda session: intents.start(self.open_session(session), "open session"))
        screens.cache.handover_requested.connect(
            lambda session, seq: intents.start(self.show_handover(session, seq), "show handover")
        )
        Modes(window, self.work, intents, desk)
        tray = Tray(window)
        self.notifying = Notifying(window, desk, tray)
        tray.clicked.connect(lambda: bring_forward(window))
        tray.clicked.connect(self.notifying.clicked)
        tray.quit_requested.connect(window.close)
        self.quit = QuitPresenter(window, intents, desk, tray)
        self.notifying.wanted.connect(lambda *where: intents.start(self._go(*where), "go there"))
        self.trusting = Trusting(window, self.work, intents, desk, self._trust_changed)
        self._sidebar = SidebarPresenter(window)
        self.active = ""
        self._heard: dict[str, Callable[[], None]] = {}
        self._wanted = ("", "")  # workspace and session that the person asked for last
        self._beginning = asyncio.Lock()
        self._recounting: set[str] = set()  # rooms whose sessions are being counted
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_COALESCE_MS)
        self._soon.timeout.connect(lambda: intents.start(self.refresh(), "refresh sidebar"))
        self.roster = Roster(window, intents, desk, self)
        self.carrying = Carrying(window, intents, desk, self)
        self.backup = Backup(window, intents, desk, self.carrying)
        self.tidying = Tidying(window, screens.cache, intents, desk, self)
        self.work.measured.connect(self._refresh_soon)
        self._connect()

    def _connect(self) -> None:
        window, start = self._window, self._intents.start
        actions = window.commands
        actions.new_session.triggered.connect(lambda: start(self.new_session(), "new session"))
        window.rail.chosen.connect(lambda identity: start(self.open_workspace(identity), "switch"))
        window.switcher.chosen.connect(lambda identity: start(self.open_workspace(identity), "switch"))
        window.switcher.add_requested.connect(actions.open_folder.trigger)
        for dropped in (window.rail.folder_dropped, window.welcome.folder_dropped):
            dropped.connect(lambda path: start(self.open_folder(Path(path)), "open folder"))
        window.missing.read_only_requested.connect(
            lambda: start(self.open_workspace(self.active, reading=True), "open read-only")
        )
        window.sidebar.session_chosen.connect(
            lambda session: start(self.open_session(session), "open session")
        )
        window.sidebar.session_renamed.connect(lambda *names: start(self._rename_session(*names), "rename"))
        window.top_bar.renamed.connect(lambda *names: start(self._rename_session(*names), "rename"))
        window.welcome.sample_requested.connect(lambda: start(self.open_sample(), "sample"))

    async def begin(self, path: Path | None = None, sample: bool = False) -> None:
        """Show the workspace that was asked for, else the last one, else the welcome page."""
        for problem in self._desk.problems:
            self.tell(problem)
        if sample:
            await self.open_sample()
            return
        if path is not None:
            await self.open_folder(path)
            return
        listed = [record.id for record in self._desk.registry.listed()]
        last = next((one for one in self._desk.settings.recent if one in listed), listed[0] if listed else "")
        if last:
            await self.open_workspace(last)
            if self.work.conversation is not None:
                self._window.show_page(self._window.last_page())
        else:
            self._window.show_place("welcome")

    def tell(self, error: HelixError) -> None:
        """Show an error on top of the centre, until it is dismissed."""
        self._window.banners.show_banner(error_banner(error, *self._window.banners.place))

    async def open_sample(self) -> None:
        """Open the guided sample with a session, so that its first message can be sent at once."""
        record = await self._desk.sample()
        await self.open_workspace(record.id)
        await self._let_type(record.id)

    async def open_folder(self, path: Path) -> None:
        """Open a folder as a workspace, in its last session or a new one; ask whether to trust a new folder.

        Raises WorkspaceMissing.
        """
        record = self._desk.registry.add(path)
        await self.open_workspace(record.id)
        await self._let_type(record.id)
        if not record.trusted and self.active == record.id and record.id in self._desk.rooms:
            self._intents.start(self.trusting.ask(record.id), "trust")

    async def _let_type(self, identity: str) -> None:
        """Let the user type into the workspace just opened: into its last session, else a new one."""
        if self.active != identity or self.work.room is None:
            return  # it cannot be opened, or the user has gone elsewhere
        if self._wanted == (identity, "") and self.work.conversation is None:
            await self.new_session()
        elif self.work.conversation is not None:
            self._window.commands.focus_composer.trigger()

    async def _trust_changed(self) -> None:
        self.work.composing.show_trust()
        if self._window.page() == "chat":
            self.work.composing.composer.editor.setFocus()
        await self.refresh()

    async def open_workspace(self, identity: str, reading: bool = False) -> None:
        """Show another workspace, also one without its folder; what runs in the former one goes on."""
        self.active, self._wanted = identity, (identity, "")
        self._window.banners.remove(_CLOSED, identity)
        record = self._desk.registry.get(identity)
        try:
            room = await self.carrying.watch(
                f"{record.name} is damaged and is being mended",
                lambda tell: self._desk.room(identity, reading, tell),
            )
        except HelixError as error:
            if self.active == identity:
                await self._show_closed(record, error)
            return
        if self.active != identity:
            return
        if identity not in self._heard:
            self._heard[identity] = room.listen(lambda session, update: self._hear(room, session, update))
            self.workspace_opened.emit(identity)
            await watch(room, self._window.banners)
            self._desk.servers.begin(identity)
            self._intents.start(self._desk.endpoints.begin(identity), f"share cache {identity}")
            self._intents.start(self._tidy(room, CleanUp(record.quota, record.unused_ms)), "tidy")
        await self._desk.save_settings(self._desk.settings.opened(identity))
        self.work.proposals = await self._desk.proposals(identity)
        known = [one.id for one in await room.sessions()]
        if self._wanted != (identity, ""):
            return  # the person has chosen one meanwhile
        wanted = record.session if record.session in known else next(iter(known), "")
        await self._show(room, wanted)

    async def _tidy(self, room: Room, asked: CleanUp) -> None:
        with suppress(StoreClosed):  # it was closed again meanwhile: another time will do
            await tidy(room, asked)

    async def _show_closed(self, record: WorkspaceRecord, error: HelixError) -> None:
        """Show why a workspace cannot be opened; what belongs to another one leaves the screen."""
        await self.work.show(None, None)
        self._window.banners.show_place(record.id, "")
        if isinstance(error, WorkspaceMissing):
            self._window.missing.show_workspace(record.name, record.path)
            self._window.show_place("missing")
        else:
            self._window.no_session.show_workspace(record.name, 1)
            self._window.show_place("empty")
            self._window.banners.show_banner(
                Banner(_CLOSED, "error", error.what, error.why, error.fix, workspace=record.id)
            )
        await self.refresh()

    def _hear(self, room: Room, session: str, update: Update) -> None:
        self.notifying.hear(room, session, update)
        if not isinstance(update, Arriving):
            self._refresh_soon()

    def _refresh_soon(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    async def _show(self, room: Room, session: str) -> None:
        self._wanted = (room.id, session)
        if not session:
            await self.work.show(room, None)
            name = self._desk.registry.get(room.id).name
            self._window.no_session.show_workspace(name, 0)
            self._window.show_place("empty")
        else:
            conversation = await room.open(session)
            if self._wanted != (room.id, session) or self.active != room.id:
                return
            self._window.show_place("work")
            await self.work.show(room, conversation)
            self._desk.registry.change(room.id, session=session)
            if self._window.page() == "chat":
                self.work.composing.composer.editor.setFocus()
        await self.refresh()

    async def refresh(self) -> None:
        """Show workspaces and sessions as they are now."""
        room = self._desk.rooms.get(self.active)
        conversation = self.work.conversation
        complete = await self._sidebar.show_sessions(room, conversation.session.id if conversation else "")
        self._sidebar.show_workspaces(self._desk, self.active)
        if room is not None and not complete and room.id not in self._recounting:
            self._intents.start(self._recount(room), "recount sessions")

    async def _recount(self, room: Room) -> None:
        """Count the sessions whose figures are not known, then show them."""
        self._recounting.add(room.id)
        try:
            with suppress(StoreClosed):
                if await room.recount():
                    await self.refresh()
        finally:
            self._recounting.discard(room.id)

    async def open_session(self, session: str) -> None:
        """Show another session of this workspace."""
        room = self._desk.rooms.get(self.active)
        if room is not None:
            await self._show(room, session)

    async def _go(self, workspace: str, session: str) -> None:
        """Show a session, of whichever workspace, and bring the window in front."""
        bring_forward(self._window)
        if self.active != workspace:
            await self.open_workspace(workspace)
        if self.active == workspace:
            await self.open_session(session)
            self._window.show_page("chat")

    async def show_handover(self, session: str, seq: int) -> None:
        """Show a handover of a session of this workspace in the timeline."""
        if self.work.conversation is None or self.work.conversation.session.id != session:
            await self.open_session(session)
        self.work.reveal(seq)

    async def new_session(self) -> None:
        """Begin a session in this workspace, unless there is one in which nothing was said yet: open that."""
        if self.active and self.active not in self._desk.rooms:
            await self.open_workspace(self.active)  # it could not be opened before; maybe it can now
        elif not self.active:
            await self.roster.pick_folder()
        room = self._desk.rooms.get(self.active)
        if room is None:
            return
        async with self._beginning:  # a key that is held down begins one session, not twenty
            fresh = [one.id for one in await room.sessions() if not one.messages and one.title == NEW_TITLE]
            session = fresh[0] if fresh else (await room.begin()).session.id
        await self._show(room, session)
        self._window.show_page("chat")
        self._window.commands.focus_composer.trigger()

    async def reopen(self, identity: str) -> None:
        """Let go of a workspace and open it again, as its folder is now."""
        await self.leave(identity)
        await self.open_workspace(identity)

    async def leave(self, identity: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        if identity == self.active:
            await self.work.show(None, None)
        await self._desk.close_room(identity)
        self._heard.pop(identity, None)

    async def _rename_session(self, session: str, title: str) -> None:
        room = self._desk.rooms.get(self.active)
        if room is not None and title.strip():
            conversation = await room.open(session)
            await conversation.rename(title.strip())
            await self.refresh()
