"""The app's windows: which are open, what each shows, and which the user looked at last."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.chat.session_drafts import SharedDrafts, UnsavedDraft
from helix_desktop.ui.design.sized_dialog import bring_to_front, fit_screen
from helix_desktop.ui.kit.intents import GoToSession
from helix_desktop.ui.window.background_jobs import BackgroundJobs
from helix_desktop.ui.window.main_window import MainWindow


class ShownSession(NamedTuple):
    """What a window shows, by id; empty where there is none."""

    workspace_id: str = ""
    session_id: str = ""


NO_SESSION = ShownSession()


class AppWindow(Protocol):
    """A window of the app, as the others know it: see `ControlledWindow`."""

    @property
    def window(self) -> MainWindow: ...
    @property
    def shown_session(self) -> ShownSession: ...
    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]: ...
    async def show_session(self, workspace_id: str, session_id: str | None) -> None: ...
    async def hide_session(self) -> None: ...
    async def leave_workspace(self) -> None: ...
    async def clear(self) -> None: ...
    async def save_drafts(self) -> list[UnsavedDraft]: ...
    def unsaved_settings(self) -> list[str]: ...
    def show_error(self, error: HelixError) -> None: ...
    async def end_tasks(self) -> None: ...


class WindowGroup(QObject):
    """The windows of one run. A session is on screen in one of them at a time.

    A window that was closed while others stay open is hidden, and comes back as the next new one: what
    listens in it to services and workspaces lives as long as they do.
    """

    created = Signal(object)
    """A window that was made beside the first one."""
    opened_or_closed = Signal()
    activated = Signal()
    """One of the windows is in front now."""
    workspace_opened = Signal(object)
    """A workspace was opened in one of the windows: all of them follow its sessions."""
    lists_changed = Signal(object)
    """Workspaces or sessions were changed in a window, which is the argument; its own lists show it."""
    settings_changed = Signal(object)
    """The same of trust and models."""

    def __init__(self, create: Callable[[int], AppWindow]) -> None:
        """`create` makes a window, not shown yet, from its number: 2 for the first beside the first one."""
        super().__init__()
        self._create = create
        self.windows: list[AppWindow] = []
        """All of this run, the first one first; closed ones are hidden."""
        self.open_windows: list[AppWindow] = []
        """Those that were not closed; the one that the user looked at last is the last."""
        self.drafts = SharedDrafts()
        self._opening_lock = asyncio.Lock()
        self.asks_to_quit: MainWindow | None = None
        """The window over which the user is asked whether to quit."""
        self.started_workspaces: set[str] = set()
        """Workspaces whose background services were started in this run."""

    def add(self, app_window: AppWindow) -> None:
        """Take in a window that is open, or will be shown soon."""
        self.windows.append(app_window)
        self.open_windows.append(app_window)
        app_window.window.activated.connect(lambda: self._on_activated(app_window))
        app_window.window.title_changed.connect(self._number_titles)
        self._on_opened_or_closed()

    @property
    def current(self) -> AppWindow:
        return self.open_windows[-1]

    def find(self, window: MainWindow) -> AppWindow:
        return next(app_window for app_window in self.windows if app_window.window is window)

    def open_in_current(self, workspace_id: str, session_id: str) -> None:
        """Bring the window that the user looked at last to the front, and show a session there if any."""
        current = self.current
        self.show()
        bring_to_front(current.window)
        if workspace_id:
            current.window.perform(GoToSession(workspace_id, session_id))

    def show(self) -> None:
        for app_window in self.open_windows:
            app_window.window.show()

    def hide(self) -> None:
        for app_window in self.open_windows:
            app_window.window.hide()

    def is_only_one(self, window: MainWindow) -> bool:
        return all(app_window.window is window for app_window in self.open_windows)

    def others_with(self, window: MainWindow, workspace_id: str) -> list[AppWindow]:
        others = (other for other in self.open_windows if other.window is not window)
        return [other for other in others if other.shown_session.workspace_id == workspace_id]

    def other_with(self, window: MainWindow, workspace_id: str, session_id: str) -> AppWindow | None:
        others = self.others_with(window, workspace_id)
        return next((other for other in others if other.shown_session[1] == session_id), None)

    async def open_window(
        self, workspace_id: str = "", session_id: str | None = None, is_restored: bool = False
    ) -> None:
        """Open another window: on a session, on a new one, or without a workspace on the welcome page.

        One that is restored shows the page that it showed last, others the chat.
        """
        async with self._opening_lock:
            hidden = next((closed for closed in self.windows if closed not in self.open_windows), None)
            app_window = hidden or self._create(len(self.windows) + 1)
            if hidden is None:
                self.add(app_window)
                self.created.emit(app_window)
            else:
                self.open_windows.append(app_window)
                self._on_opened_or_closed()
            window = app_window.window
            fit_screen(window)
            bring_to_front(window)
            window.show_page(window.last_page() if is_restored else "chat")
            await app_window.show_session(workspace_id, session_id)
            if is_restored and app_window.shown_session.session_id:
                window.show_page(window.page())  # in sight only now, so that it can take the keyboard

    async def close_window(self, app_window: AppWindow) -> None:
        """Close one of several windows; what runs in its session goes on."""
        self.open_windows.remove(app_window)
        self._on_opened_or_closed()
        _close_dialogs(app_window)
        app_window.window.hide()
        await app_window.clear()

    @asynccontextmanager
    async def away_from(self, window: MainWindow, workspace_id: str) -> AsyncIterator[None]:
        """Take a workspace off the other windows while it is closed or changed; their sessions come back."""
        left = [(other, other.shown_session.session_id) for other in self.others_with(window, workspace_id)]
        for other, _ in left:
            _close_dialogs(other)
            await other.leave_workspace()
        try:
            yield
        finally:
            for other, session_id in left:
                if other in self.open_windows and other.shown_session == ShownSession(workspace_id):
                    await other.show_session(workspace_id, session_id)

    @asynccontextmanager
    async def away_from_sessions(
        self, window: MainWindow, workspace_id: str, session_ids: Collection[str]
    ) -> AsyncIterator[None]:
        """Take sessions off the other windows while they are deleted; these go on with other sessions."""
        others = self.others_with(window, workspace_id)
        left = [other for other in others if other.shown_session.session_id in session_ids]
        for other in left:
            await other.hide_session()
        try:
            yield
        finally:
            for other in left:
                if other in self.open_windows and other.shown_session == ShownSession(workspace_id):
                    await other.show_session(workspace_id, "")

    def _on_opened_or_closed(self) -> None:
        self._bind_quit_key()
        self._number_titles()
        self.opened_or_closed.emit()

    def _number_titles(self) -> None:
        """Number the windows that have the same title, such as those with a new session."""
        count: Counter[str] = Counter()
        for app_window in self.windows:
            if app_window in self.open_windows:
                title = app_window.window.title(names_session=len(self.open_windows) > 1)
                count[title] += 1
                app_window.window.number_title(title, count[title])

    def _on_activated(self, app_window: AppWindow) -> None:
        self.activated.emit()
        if app_window in self.open_windows and app_window is not self.current:
            self.open_windows.remove(app_window)
            self.open_windows.append(app_window)
            self._bind_quit_key()

    def _bind_quit_key(self) -> None:
        """Let the key of Quit work in the dialogs of one window: with two owners Qt gives it to neither."""
        for app_window in self.windows:
            is_current = app_window is self.current
            context = Qt.ShortcutContext
            app_window.window.commands.quit.setShortcutContext(
                context.ApplicationShortcut if is_current else context.WindowShortcut
            )


class WindowPart(QObject):
    """Does for one window what some intents want, with the session on screen."""

    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window)
        self._window = window
        self._windows = windows
        self._session = window.session
        self._services = window.session.app
        self._start = window.session.start
        window.intents.add(self)


def _close_dialogs(app_window: AppWindow) -> None:
    for dialog in app_window.window.findChildren(QDialog):
        dialog.close()
