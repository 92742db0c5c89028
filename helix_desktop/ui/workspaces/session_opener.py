"""Opens the sessions of a workspace, begins new ones, and shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from PySide6.QtCore import QObject, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.cache.entry_actions import OpenHandover
from helix_desktop.ui.design.window_placement import bring_to_front
from helix_desktop.ui.kit.intents import (
    ContinueSession,
    FocusComposer,
    NewWindow,
    OpenInNewWindow,
    OpenListedSession,
    OpenSession,
    RenameSession,
    ShowInTimeline,
    handles,
)
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.composer_controller import ComposerController
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.sidebar_presenter import SidebarPresenter, is_untouched

text = TextContext("Workspaces")


class SessionOpener(QObject):
    """Decides which session of the active workspace is on screen; the others go on by themselves."""

    session_opened = Signal()
    """The session, or the page of a workspace without one, comes on screen now."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        composer: ComposerController,
        sidebar: SidebarPresenter,
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._windows = window, session, windows
        self._composer, self._sidebar = composer, sidebar
        self.requested_ids = ("", "")  # workspace and session that the user asked for last
        self._new_session_lock = asyncio.Lock()
        composer.switched.connect(self.take_keyboard)
        window.intents.add(self)

    async def show_session(self, workspace: OpenWorkspace, session_id: str) -> None:
        """Show a session of a workspace, or the page of one without sessions if there is no id.

        A session that another window shows comes to the front there.
        """
        if session_id and await self._show_elsewhere(workspace.id, session_id):
            return
        self.requested_ids = (workspace.id, session_id)
        if not session_id:
            self.session_opened.emit()
            await self._session.show(workspace, None)
            name = self._session.app.registry.get(workspace.id).name
            self._window.no_session.show_workspace(name, has_sessions=bool(await workspace.sessions()))
            self._window.show_center_page("empty")
        else:
            conversation = await self._open(workspace, session_id)
            if self.requested_ids != (workspace.id, session_id) or self._session.workspace_id != workspace.id:
                return
            if await self._show_elsewhere(workspace.id, session_id):  # it came there while it was opened
                return
            self.session_opened.emit()
            self._window.show_center_page("work")
            await self._session.show(workspace, conversation)
            conversation.catch_up()
            with suppress(StoreError):  # nothing can be saved: it is marked again at the next start
                await conversation.session.note_seen()
            try:
                self._session.app.registry.change(workspace.id, session=session_id)
            except HelixError as error:  # it is on screen nevertheless
                self._session.actions.show_error(error)
            if self._window.page() == "chat":
                self._composer.widget.editor.setFocus()
        await self._sidebar.refresh()

    async def _open(self, workspace: OpenWorkspace, session_id: str) -> Conversation:
        """Return the conversation of a session, which is marked in the list from now on."""
        self._sidebar.mark_opening(session_id)
        try:
            return await workspace.open_session(session_id)
        except HelixError:
            self._sidebar.schedule_refresh()  # the one on screen is marked again
            raise
        finally:
            self._sidebar.end_opening(session_id)

    async def _show_elsewhere(self, workspace_id: str, session_id: str) -> bool:
        """Bring another window that shows a session to the front; return True if there is one."""
        other = self._windows.other_with(self._window, workspace_id, session_id)
        if other is None:
            return False
        bring_to_front(other.window)
        await self._sidebar.refresh()
        return True

    async def open_session(self, session_id: str) -> None:
        workspace = self._session.opened
        if workspace is not None:
            await self.show_session(workspace, session_id)

    @handles(OpenListedSession)
    async def _open_chosen(self, session_id: str, seq: int) -> None:
        """Show a session that was chosen in the list; if that fails, keys are commands of the list again."""
        if seq:
            return  # who found the message shows it
        try:
            await self.open_session(session_id)
        finally:
            self._window.sidebar.session_list.take_typed_text()

    def take_keyboard(self) -> None:
        """Give the keyboard to the page of a session that was chosen in the list, and what was typed."""
        typed, page = self._window.sidebar.session_list.take_typed_text(), self._window.page()
        if typed is None or page == "settings":
            return
        self._window.focus_page(page)
        if page == "chat":
            self._composer.widget.editor.type_text(typed)

    @handles(OpenHandover)
    async def show_handover(self, session_id: str, seq: int) -> None:
        if session_id != self._session.id:
            await self.open_session(session_id)
        if session_id == self._session.id:
            self._session.perform(ShowInTimeline(seq))

    @handles(NewWindow)
    async def open_new_window(self) -> None:
        """Open a window with a new session of this workspace, or to choose a workspace if there is none."""
        workspace = self._session.opened
        await self._windows.open_window(workspace.id if workspace is not None else "")

    @handles(OpenInNewWindow)
    async def open_in_new_window(self, session_id: str) -> None:
        """Show a session in another window; if it is on screen here, this one goes on with a new session."""
        workspace = self._session.workspace
        if session_id == self._session.id:
            await self.new_session(workspace)
        if session_id == self._session.id:  # nothing was said in it yet: it is the new session
            return
        other = self._windows.other_with(self._window, workspace.id, session_id)
        if other is not None:
            bring_to_front(other.window)
        else:
            await self._windows.open_window(workspace.id, session_id)

    async def new_session(self, workspace: OpenWorkspace) -> None:
        """Open an unused session, or begin one; where nothing was said in the one on screen, it stays."""
        async with self._new_session_lock:  # a key that is held down begins one session, not twenty
            fresh = [
                info.id
                for info in await workspace.sessions()
                if not info.messages and info.title == NEW_TITLE and not (info.archived or info.branch_of)
                if self._windows.other_with(self._window, workspace.id, info.id) is None
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
            self._window.perform(FocusComposer())

    async def continue_with(self, handover: HandoverMade) -> None:
        """Begin a session with a handover of the one on screen that a model wrote for it."""
        await self.continue_session(0, handover)

    @handles(ContinueSession)
    async def continue_session(self, handover_seq: int, handover: HandoverMade | None = None) -> None:
        """Begin a session with a handover of the one on screen; 0: as it would be now, or `handover`."""
        workspace, conversation = self._session.workspace, self._session.conversation
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

    @handles(OpenSession)
    async def open_linked_session(self, session_id: str) -> None:
        workspace = self._session.workspace
        if session_id not in {info.id for info in await workspace.store.sessions()}:
            raise HelixError(
                text("That session isn't in this workspace."),
                text("It was deleted."),
                text("Its outputs can still be recalled here. Look for the session in the trash."),
            )
        await self.open_session(session_id)

    @handles(RenameSession)
    async def rename(self, title: str, session_id: str) -> None:
        if title.strip():
            session_id = session_id or self._session.conversation.session.id
            await self._session.workspace.rename(session_id, title.strip())
            await self._sidebar.refresh()
