"""Opens and closes workspaces and their sessions, and shows one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import UnionType
from typing import TypeVar
from weakref import WeakSet

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace, run_housekeeping
from helix_desktop.agent.session import TurnChanged
from helix_desktop.domain.errors import HelixError, InvalidInput, StoreClosed, WorkspaceMissing
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import NEW_TITLE, ChangesRecorded
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.files.file_use import tool_kind
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.retention import RetentionRule
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.sized_dialog import bring_to_front
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import UNDONE_CHANGES, Answer, Notice, NoticeLevel
from helix_desktop.ui.settings.permissions_page import ChangeTrust
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.session_lists import MISSING_FOLDER, ListedUpdate, SessionLists, is_untouched
from helix_desktop.ui.window.window_group import NO_SESSION, AppWindow, ShownSession, WindowGroup, WindowPart
from helix_desktop.words.file_changes import auto_run_texts
from helix_desktop.words.store_reports import repair_notice
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import WorkspaceRecord

tr = Translator("Workspaces")
_text = TextContext("Workspaces")
T = TypeVar("T")

_CLOSED_NOTICE = "workspace-closed"
_READING = frozenset({"read", "list", "search"})
"""Kinds of tools that change nothing; what a command does in git's own folder is no change of files."""
_SHOW_OPENING_MS = 300  # what opens sooner comes on screen without a page between


class WorkspaceController(WindowPart):
    """Decides which workspace and which session is on screen; the others go on by themselves."""

    _repair_reported = Signal(str)
    """A workspace is being repaired; from another thread."""

    def __init__(self, window: MainWindow, windows: WindowGroup, sidebar: SessionLists) -> None:
        super().__init__(window, windows)
        self.sidebar = sidebar
        self.requested_ids = ("", "")  # workspace and session that the user asked for last
        self._new_session_lock = asyncio.Lock()
        self._handlers: list[tuple[type | UnionType, Callable[..., object]]] = []
        self._listening: WeakSet[OpenWorkspace] = WeakSet()  # those that were opened in any window
        self._opened_here: WeakSet[OpenWorkspace] = WeakSet()  # those that this window has shown
        self._targets = 0  # that are opened now, of the start and of another start of the app
        self._repaired: set[str] = set()  # workspaces whose stores had to be repaired as they were opened
        self._repair_reported.connect(self._show_repair)
        self._opening_timer = QTimer(self, singleShot=True, interval=_SHOW_OPENING_MS)
        self._opening_timer.timeout.connect(lambda: self._start(self._show_opening(), "show opening"))
        self.on(ListedUpdate, sidebar.follow)
        self.on(TurnChanged | ChangesRecorded | ToolAnswered, self._refresh_git)
        windows.workspace_opened.connect(self._listen)
        for workspace in self._services.open_workspaces.values():
            self._listen(workspace)
        git = self._services.git
        git.listen(lambda _: sidebar.show_workspaces())
        window.activated.connect(self._catch_up)

    def _catch_up(self) -> None:
        """Show what other programs did while another window had the focus."""
        for workspace_id in self._services.open_workspaces:
            self._services.git.refresh(workspace_id)
        conversation = self._session.find_conversation()
        if conversation is not None:
            conversation.changes.catch_up_in_background()

    async def restore_last(
        self, path: Path | None = None, sample: bool = False, place: ShownSession = NO_SESSION
    ) -> None:
        """Show the workspace that was asked for, else `place`, else the last one, else the welcome page."""
        for problem in self._services.problems:
            self._session.actions.show_error(problem)
        self._targets += 1
        try:
            if sample:
                await self.open_sample()
            elif path is not None:
                await self.open_folder(path)
            else:
                await self._open_last(place)
        finally:
            self._targets -= 1
            await asyncio.sleep(0)  # the other targets of the start begin now
            is_waiting = self._window.is_opening and not self._session.is_opening
            if is_waiting and not self._targets:  # none could be opened
                self.show_welcome()

    async def _open_last(self, place: ShownSession) -> None:
        listed = [record.id for record in self._services.registry.list_workspaces()]
        candidates = (place.workspace_id, *self._services.settings.recent, *listed)
        last = next((workspace_id for workspace_id in candidates if workspace_id in listed), "")
        if last:
            session_id = place.session_id if last == place.workspace_id else ""
            await self.open_workspace(last, session_id=session_id)
            if self._session.has_conversation and self._window.page() != "settings":
                self._window.show_page(self._window.last_page())
        else:
            self.show_welcome()

    def show_welcome(self) -> None:
        self._window.top_bar.show_session(None)
        self._window.places.welcome.get().show_model(self._services.settings.model)
        self._window.show_center_page("welcome")
        self._window.places.welcome.get().setFocus(Qt.FocusReason.OtherFocusReason)

    @handles(intents.OpenSample)
    async def open_sample(self) -> None:
        """Open the guided sample, at first with a session that is prepared now."""
        record = await self._session.job(tr("Preparing the sample"), self._services.sample_workspace)
        await self.open_workspace(record.id)
        await self._ensure_session(record.id)

    @handles(intents.ShowWorkspace)
    async def _switch(self, workspace_id: str, read_only: bool) -> None:
        self._window.leave_settings()
        await self.open_workspace(workspace_id, read_only)

    @handles(intents.OpenFolder)
    async def pick_folder(self, path: str = "") -> None:
        start = start_folder(self._services, self._session.workspace_id)
        folder = Path(path) if path else await dialogs.pick_folder(self._window, tr("Open folder"), start)
        if folder is not None:
            await self.open_folder(folder)

    async def open_folder(self, path: Path) -> None:
        """Open a folder as a workspace, in its last session or a new one; ask whether to trust a new folder.

        Raises WorkspaceMissing.
        """
        record = self._services.registry.add(path)
        self._window.leave_settings()
        await self.open_workspace(record.id)
        await self._ensure_session(record.id)
        is_active = self._session.workspace_id == record.id and self._session.opened is not None
        if is_active and not record.trusted:
            self._session.perform(ChangeTrust(True))

    async def _ensure_session(self, workspace_id: str) -> None:
        """Let the user type into the workspace just opened: into its last session, else a new one."""
        if self._session.workspace_id != workspace_id or not self._session.has_workspace:
            return  # it cannot be opened, or the user has gone elsewhere
        if self.requested_ids == (workspace_id, "") and not self._session.has_conversation:
            await self._begin_session()
        elif self._session.has_conversation and self._window.page() != "settings":
            self._window.perform(intents.FocusComposer())

    async def open_workspace(
        self, workspace_id: str, read_only: bool = False, session_id: str | None = ""
    ) -> None:
        """Show another workspace, also one without its folder; what runs in the former one goes on.

        Shown is a session of it: the one that was on screen last if the id is empty, a new one for None.
        """
        self._session.workspace_id = workspace_id
        self.requested_ids = (workspace_id, "")
        self._session.is_opening = True
        if self._window.is_opening:
            await self._show_opening()
        else:
            self._opening_timer.start()
        try:
            await self._open_workspace(workspace_id, read_only, session_id)
        finally:
            if self._session.workspace_id == workspace_id:
                self._end_opening()

    def _end_opening(self) -> None:
        self._session.is_opening = False
        self._opening_timer.stop()

    async def _show_opening(self) -> None:
        """Say that the workspace is being opened; what belongs to another one leaves the screen."""
        if not self._session.is_opening:  # it came on screen just when the page was due
            return
        workspace_id = self._session.workspace_id
        record = self._services.registry.get(workspace_id)
        self._window.show_opening(record.name, repairing=workspace_id in self._repaired)
        self._window.sidebar.show_opening()
        self._window.top_bar.show_session(None)
        self.sidebar.show_workspaces()
        if self._session.has_workspace:
            await self._session.show(None, None)

    def _on_repair(self, workspace_id: str, on_progress: OnProgress) -> OnProgress:
        def report(done: int, total: int) -> None:
            self._repair_reported.emit(workspace_id)
            on_progress(done, total)

        return report

    def _show_repair(self, workspace_id: str) -> None:
        self._repaired.add(workspace_id)
        if self._window.is_opening and self._session.workspace_id == workspace_id:
            self._window.show_opening(self._services.registry.get(workspace_id).name, repairing=True)

    async def _open_workspace(self, workspace_id: str, read_only: bool, session_id: str | None) -> None:
        self._window.notices.end(_CLOSED_NOTICE, workspace_id)
        record = self._services.registry.get(workspace_id)
        self._window.picker.show_opening(workspace_id, record.name)
        try:
            workspace = await self._session.job(
                tr("Repairing {workspace}", workspace=record.name),
                lambda tell: self._services.open_workspace(
                    workspace_id, read_only, self._on_repair(workspace_id, tell)
                ),
            )
        except HelixError as error:
            if self._session.workspace_id == workspace_id:
                await self._show_closed(record, error)
            return
        finally:
            self._repaired.discard(workspace_id)
            self._window.picker.show_opening(workspace_id, "")
        if self._session.workspace_id != workspace_id:
            return
        if workspace not in self._opened_here:
            await self._on_opened(workspace, record)
        try:
            await self._services.save_settings(self._services.settings.with_recent(workspace_id))
        except HelixError as error:  # it can be used nevertheless
            self._session.actions.show_error(error)
        if session_id is None:
            await self.begin_session(workspace)
            return
        listed = sorted(await workspace.sessions(), key=lambda info: info.archived)
        session_ids = [info.id for info in listed if self._other_with(workspace_id, info.id) is None]
        if self.requested_ids != (workspace_id, ""):
            return  # the user has chosen one meanwhile
        choices = [choice for choice in (session_id, record.session) if choice in session_ids]
        await self.show_session(workspace, next(iter((*choices, *session_ids)), ""))

    async def _on_opened(self, workspace: OpenWorkspace, record: WorkspaceRecord) -> None:
        """Start what goes on in a workspace that was opened for the first time in this run."""
        self._opened_here.add(workspace)
        self._windows.workspace_opened.emit(workspace)
        self._services.git.refresh(workspace.id)
        # What was repaired is shown once, and from now on each damaged content, until it is dismissed.
        health = workspace.store.health
        health.listen(lambda error: self._report(error, workspace))
        if health.report is not None:
            self._report(repair_notice(health.report), workspace)
            await health.acknowledge()
        await self._report_undone_changes(workspace)
        await self._ask_about_git(workspace)
        if workspace.id in self._windows.started_workspaces:
            return  # by another window
        self._windows.started_workspaces.add(workspace.id)
        self._services.mcp_servers.start(workspace.id)
        start = self._start
        rule = RetentionRule(record.quota, record.unused_ms)
        start(self._services.cache_endpoints.start(workspace.id), f"share cache {workspace.id}")
        start(self._run_housekeeping(workspace, rule), "tidy")

    def _report(self, error: HelixError, workspace: OpenWorkspace) -> None:
        self._session.notify(_error_notice(error.what, error, "warning", workspace.id))

    async def _report_undone_changes(self, workspace: OpenWorkspace) -> None:
        """Show what was taken back because a command was cut off when the app ended; it can be restored."""
        store = workspace.services.auto_run
        changes = await store.unreported() if store is not None else ()
        change_ids = tuple(change.change_id for change in changes if change.outcome == "removed")
        put = partial(self._window.perform, PutAutoRun(change_ids, restore=True))
        answers = (Answer(tr("Restore"), put, ",".join(change_ids)),) if change_ids else ()
        what = tr("A command was cut off before its changes were reported.")
        why = "\n".join(auto_run_texts(changes))
        place = workspace.id
        if changes:
            self._session.notify(
                Notice(UNDONE_CHANGES, what, why, "", answers, "warning", workspace_id=place)
            )

    async def _ask_about_git(self, workspace: OpenWorkspace) -> None:
        """Say once that the git folder is outside of the workspace; offer to let commands commit there."""
        tools = self._services.tools
        folders = await tools.git_folders_to_ask_about(workspace.id)
        if not folders:
            return
        what = tr("The git folder of this checkout is outside of the workspace.")
        places = "\n".join(map(escape_hidden_name, folders))
        why = tr(
            "Commands can read it, but git can't commit or fetch until you allow it. "
            "Hooks and settings stay protected."
        )

        async def allow() -> None:
            await tools.allow_git(workspace.id)

        def start() -> None:
            self._start(allow(), "allow git")

        answers = (Answer(tr("Allow commits"), start, "allow_git", ends=True),)
        self._session.notify(
            Notice("outer-git", what, f"{why}\n{places}", "", answers, workspace_id=workspace.id)
        )

    def _listen(self, workspace: OpenWorkspace) -> None:
        if workspace not in self._listening:
            self._listening.add(workspace)
            for kind, handler in self._handlers:
                workspace.on(kind, partial(handler, workspace))

    def on(self, kind: type[T] | UnionType, handler: Callable[[OpenWorkspace, str, T], object]) -> None:
        """Call `handler` with the updates and events of a type, or of a union, of any session.

        It gets the workspace and the session's id, too.
        """
        self._handlers.append((kind, handler))
        for workspace in self._listening:
            workspace.on(kind, partial(handler, workspace))

    async def _run_housekeeping(self, workspace: OpenWorkspace, rule: RetentionRule) -> None:
        with suppress(StoreClosed):  # it was closed again meanwhile: another time will do
            await run_housekeeping(workspace, rule)
            history = self._services.history_storage(workspace.id)
            if (damage := await history.maintenance.notice()) is not None:
                self._report(damage, workspace)
            await history.clean_up()

    async def _show_closed(self, record: WorkspaceRecord, error: HelixError) -> None:
        """Show why a workspace cannot be opened; what belongs to another one leaves the screen."""
        self._end_opening()
        await self._session.show(None, None)
        self._window.notices.set_context(record.id, "")
        self._window.notices.end(MISSING_FOLDER, record.id)  # the page says it
        if isinstance(error, WorkspaceMissing):
            self._window.places.missing.get().show_workspace(record.id, record.name, record.path)
            self._window.show_center_page("missing")
        else:
            self._window.places.closed.get().show_workspace(record.id, record.name)
            self._window.show_center_page("closed")
            self._session.notify(_error_notice(_CLOSED_NOTICE, error, "error", record.id))
        await self.sidebar.refresh()

    def _other_with(self, workspace_id: str, session_id: str) -> AppWindow | None:
        return self._windows.other_with(self._window, workspace_id, session_id)

    async def open_in_front(self, workspace_id: str, session_id: str) -> MainWindow:
        """Show a session, of whichever workspace, and return the window that shows it, in front now."""
        other = self._other_with(workspace_id, session_id)
        bring_to_front(self._window if other is None else other.window)
        if other is not None:
            other.window.show_page("chat")
            return other.window
        if self._session.workspace_id != workspace_id:
            await self.open_workspace(workspace_id, session_id=session_id)
        if self._session.workspace_id == workspace_id:
            if session_id != self._session.id:
                await self.open_session(session_id)
            self._window.show_page("chat")
        return self._window

    async def open_by_id(self, prefix: str) -> None:
        """Show the session whose id begins so, of whichever workspace. Raises InvalidInput."""
        found = await self._find_sessions(prefix)
        if len(found) > 1:
            raise InvalidInput(
                _text("Several sessions start with {prefix}.", prefix=prefix),
                fix=_text("Enter more of its ID."),
            )
        if not found:
            raise InvalidInput(
                _text("No session of any workspace starts with {prefix}.", prefix=prefix),
                _text("It may have been deleted."),
                _text("Check the ID, and the trash (File menu)."),
            )
        self._window.leave_settings()
        await self.open_in_front(*found[0])

    async def _find_sessions(self, prefix: str) -> list[tuple[str, str]]:
        """Return workspace and id of each session whose id begins so."""
        found: list[tuple[str, str]] = []
        for workspace in list(self._services.open_workspaces.values()):
            sessions = await workspace.store.sessions()
            found += [(workspace.id, session.id) for session in sessions if session.id.startswith(prefix)]
        async with aclosing(self._services.closed_sessions.list_by_workspace()) as closed:
            async for record, listed in closed:
                sessions = listed or []
                found += [(record.id, session.id) for session in sessions if session.id.startswith(prefix)]
        return found

    @handles(intents.GoToSession)
    async def go_to(
        self, workspace_id: str, session_id: str, seq: int, mark: str, digest: str, line: int
    ) -> None:
        self._window.leave_settings()
        if session_id:
            window = await self.open_in_front(workspace_id, session_id)
        else:
            window = self._window
            if self._session.workspace_id != workspace_id:
                await self.open_workspace(workspace_id)
        if digest:
            window.perform(intents.OpenOutput(digest, mark, line))
        elif seq and (window is not self._window or self._session.id == session_id):
            window.perform(intents.ShowEvent(seq, mark))

    @handles(intents.ShowWaitingSession)
    async def show_waiting(self, workspace_id: str, session_id: str) -> None:
        """Show what a session asks the user, in the window that shows it or in this one."""
        (await self.open_in_front(workspace_id, session_id)).perform(intents.ShowWaiting())

    @handles(intents.NewSession)
    async def new_session(self, workspace_id: str = "") -> None:
        self._window.leave_settings()
        if workspace_id not in {"", self._session.workspace_id}:
            await self.open_workspace(workspace_id)
        if workspace_id in {"", self._session.workspace_id}:
            await self._begin_session()

    async def _begin_session(self) -> None:
        if not self._session.workspace_id:
            await self.pick_folder()
        elif self._session.opened is None:  # maybe it can be opened now
            await self.open_workspace(self._session.workspace_id)
        if self._session.opened is not None:
            await self.begin_session(self._session.opened)

    async def reopen(self, workspace_id: str) -> None:
        """Close a workspace and open it again, as its folder is now."""
        async with self._windows.away_from(self._window, workspace_id):
            session_id = self._session_of(workspace_id)
            await self._close(workspace_id)
            await self.open_workspace(workspace_id, session_id=session_id)

    @asynccontextmanager
    async def closed(self, workspace_id: str) -> AsyncIterator[None]:
        """Close a workspace meanwhile; windows that show it come back to their sessions."""
        session_id = self._session_of(workspace_id)
        is_here = workspace_id == self._session.workspace_id
        async with self._windows.away_from(self._window, workspace_id):
            if workspace_id in self._services.open_workspaces:
                await self._close(workspace_id)
            try:
                yield
            finally:
                if is_here and self._session.workspace_id == workspace_id:
                    await self.open_workspace(workspace_id, session_id=session_id)

    async def leave(self) -> None:
        """Take the workspace off the screen until it is opened again: another window closes it meanwhile."""
        self._session.is_opening = True
        await self._show_opening()

    def _session_of(self, workspace_id: str) -> str:
        return self._session.id if workspace_id == self._session.workspace_id else ""

    async def close_workspace(self, workspace_id: str) -> None:
        """End what runs in a workspace, and take it off the screen; other windows with it are closed."""
        for other in self._windows.others_with(self._window, workspace_id):
            await self._windows.close_window(other)
        await self._close(workspace_id)

    async def _close(self, workspace_id: str) -> None:
        self._windows.started_workspaces.discard(workspace_id)
        if workspace_id == self._session.workspace_id:
            await self._session.show(None, None)
        await self._services.close_workspace(workspace_id)

    @handles(intents.ShowFolder)
    def _show_folder(self, workspace_id: str) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._services.registry.get(workspace_id).path))

    @handles(intents.RenameWorkspace)
    async def _rename(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        name = await dialogs.get_text(self._window, tr("Rename workspace"), record.name, tr("Rename"))
        if name:
            self._services.registry.change(workspace_id, name=name)
            await self.sidebar.refresh()

    @handles(intents.LocateWorkspace)
    async def _locate(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        title = tr("Choose the folder of {workspace}", workspace=record.name)
        start = start_folder(self._services, workspace_id)
        if path := await dialogs.pick_folder(self._window, title, start):
            self._services.registry.relocate(workspace_id, path)  # may refuse: then what runs goes on
            await self.reopen(workspace_id)

    @handles(intents.RemoveWorkspace)
    async def _remove(self, workspace_id: str) -> None:
        record = self._services.registry.get(workspace_id)
        what = tr("Remove {workspace} from Helix?", workspace=record.name)
        why = tr("Running tasks stop. Files, sessions and outputs are kept.")
        if not await dialogs.confirm(self._window, what, why, "remove", tr("Remove")):
            return
        await self.close_workspace(workspace_id)
        self._services.registry.remove(workspace_id)
        if workspace_id == self._session.workspace_id:
            self._session.workspace_id = ""
            await self.restore_last()
        await self.sidebar.refresh()

    @handles(intents.OpenPicker)
    def _refresh_all_git(self, typed: str) -> None:
        """Read the states of all workspaces: the picker lists them."""
        for record in self._services.registry.list_workspaces():
            self._services.git.refresh(record.id)

    def _refresh_git(
        self, workspace: OpenWorkspace, _session: str, update: TurnChanged | ChangesRecorded | ToolAnswered
    ) -> None:
        is_read = isinstance(update, ToolAnswered) and tool_kind(update.name) in _READING
        if not is_read and not (isinstance(update, TurnChanged) and update.running):
            self._services.git.refresh(workspace.id)

    async def show_session(self, workspace: OpenWorkspace, session_id: str) -> None:
        """Show a session of a workspace, or the page of one without sessions if there is no id.

        A session that another window shows comes to the front there.
        """
        if session_id and await self._show_elsewhere(workspace.id, session_id):
            return
        self.requested_ids = (workspace.id, session_id)
        if not session_id:
            self._end_opening()
            await self._session.show(workspace, None)
            name = self._services.registry.get(workspace.id).name
            page = self._window.places.empty.get()
            page.show_workspace(name, has_sessions=bool(await workspace.sessions()))
            page.show_context(workspace.policy, workspace.model.info.window)
            self._window.show_center_page("empty")
        else:
            with self.sidebar.opening(session_id):
                conversation = await workspace.open_session(session_id)
            if self.requested_ids != (workspace.id, session_id) or self._session.workspace_id != workspace.id:
                return
            if await self._show_elsewhere(workspace.id, session_id):  # it came there while it was opened
                return
            self._end_opening()
            self._window.show_center_page("work")
            await self._session.show(workspace, conversation)
            workspace.note_seen(session_id)
            try:
                self._services.registry.change(workspace.id, session=session_id)
            except HelixError as error:  # it is on screen nevertheless
                self._session.actions.show_error(error)
            if self._window.page() == "chat":
                self._window.pages.chat.composer.editor.setFocus()
        await self.sidebar.refresh()

    async def _show_elsewhere(self, workspace_id: str, session_id: str) -> bool:
        """Bring another window that shows a session to the front; return True if there is one."""
        other = self._other_with(workspace_id, session_id)
        if other is None:
            return False
        bring_to_front(other.window)
        await self.sidebar.refresh()
        return True

    async def open_session(self, session_id: str) -> None:
        if (workspace := self._session.opened) is not None:
            await self.show_session(workspace, session_id)

    @handles(intents.OpenListedSession)
    async def _open_chosen(self, session_id: str) -> None:
        """Show a session that was chosen in the list; if that fails, keys are commands of the list again."""
        try:
            await self.open_session(session_id)
        finally:
            sessions = self._window.sidebar.session_list
            if sessions.chosen_id == session_id:  # else what is typed is for the one that was chosen after it
                sessions.take_typed_text()

    @handles(intents.NewWindow)
    async def open_new_window(self) -> None:
        """Open a window with a new session of this workspace, or to choose a workspace if there is none."""
        workspace = self._session.opened
        await self._windows.open_window(workspace.id if workspace is not None else "")

    @handles(intents.OpenInNewWindow)
    async def open_in_new_window(self, session_id: str) -> None:
        """Show a session in another window; if it is on screen here, this one goes on with a new session."""
        workspace = self._session.workspace
        if session_id == self._session.id:
            await self.begin_session(workspace)
        if session_id == self._session.id:  # nothing was said in it yet: it is the new session
            return
        other = self._other_with(workspace.id, session_id)
        if other is not None:
            bring_to_front(other.window)
        else:
            await self._windows.open_window(workspace.id, session_id)

    async def begin_session(self, workspace: OpenWorkspace) -> None:
        """Open an unused session, or begin one; where nothing was said in the one on screen, it stays."""
        async with self._new_session_lock:  # a key that is held down begins one session, not twenty
            fresh = [
                info.id
                for info in await workspace.sessions()
                if not info.messages and info.title == NEW_TITLE and not (info.archived or info.branch_of)
                if self._other_with(workspace.id, info.id) is None
                if info.id == self._session.id
                or (is_untouched(info) and not await workspace.store.draft(info.id))
            ]
            here = [session_id for session_id in fresh if session_id == self._session.id]
            session_id = next(iter((*here, *fresh)), "")
            session_id = session_id or (await workspace.create_session()).session.id
        await self.show_session(workspace, session_id)
        self._show_composer()

    def _show_composer(self) -> None:
        """Let the user write in a session that is new, unless the settings came on screen meanwhile."""
        if self._window.page() != "settings":
            self._window.show_page("chat")
            self._window.perform(intents.FocusComposer())

    @handles(intents.ContinueSession)
    async def continue_session(self, handover_seq: int, handover: HandoverMade | None = None) -> None:
        """Begin a session with a handover of the one on screen; 0: as it would be now, or `handover`."""
        workspace = self._session.workspace
        conversation = self._session.conversation
        creation = workspace.continue_session(conversation.session.id, handover_seq, handover)
        await self.show_new_session(workspace, creation)

    async def show_new_session(
        self, workspace: OpenWorkspace, creation: Awaitable[Conversation]
    ) -> Conversation:
        """Show a session that is being made, ready to write in."""
        async with self._new_session_lock:  # a key that is held down begins one session, not twenty
            conversation = await creation
        await self.show_session(workspace, conversation.session.id)
        self._show_composer()
        return conversation

    @handles(intents.OpenSession)
    async def open_linked_session(self, session_id: str) -> None:
        workspace = self._session.workspace
        if session_id not in {info.id for info in await workspace.store.sessions()}:
            raise HelixError(
                _text("That session isn't in this workspace."),
                _text("It was deleted."),
                _text("Its outputs can still be recalled here. Look for the session in the trash."),
            )
        await self.open_session(session_id)

    @handles(intents.RenameSession)
    async def rename(self, title: str, session_id: str) -> None:
        if title.strip():
            session_id = session_id or self._session.conversation.session.id
            await self._session.workspace.rename(session_id, title.strip())
            await self.sidebar.refresh()


def _error_notice(name: str, error: HelixError, level: NoticeLevel, workspace_id: str) -> Notice:
    what, why, fix = (translate(part) for part in (error.what, error.why, error.fix))
    return Notice(name, what, why, fix, level=level, workspace_id=workspace_id)


def start_folder(services: AppServices, workspace_id: str) -> Path:
    """Return where to look for a folder: the parent of a workspace's folder, else home."""
    folder = Path(services.registry.get(workspace_id).path).parent if workspace_id else Path.home()
    samples = folder.is_relative_to(services.data_folder)
    return folder if folder.is_dir() and not samples else Path.home()
