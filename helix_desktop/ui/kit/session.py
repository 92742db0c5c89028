"""What a window shows: the session and the workspace on screen, and how pages follow and change them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from types import UnionType
from typing import Any, Protocol, TypeVar, overload

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import HelixError, WorkspaceMissing
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.kit.intents import Intent, IntentHandlers, ShowPage
from helix_desktop.ui.kit.notices import NoticeArea

text = TextContext("Session")
T = TypeVar("T")

_COALESCE_MS = 120


class SessionMissing(HelixError):
    """No session is on screen."""


class Jobs(Protocol):
    """Runs what takes long, with a line that shows its progress; see `JobLines.run`."""

    @overload
    async def run(self, words: str, work: Callable[[OnProgress], Awaitable[T]]) -> T: ...
    @overload
    async def run(self, words: str, work: Callable[[OnProgress], Awaitable[T]], cancel: str) -> T | None: ...


class SessionWindow(Protocol):
    """A window as its session knows it."""

    @property
    def commands(self) -> WindowCommands: ...
    @property
    def notices(self) -> NoticeArea: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def intents(self) -> IntentHandlers: ...
    def page(self) -> str: ...

    def perform(self, intent: Intent) -> None: ...


class Session(QObject):
    """What one window shows; what is not on screen runs on by itself.

    The log with its transcript is another one, the agent's session: `conversation.session`.

    Whoever works on a session reads `conversation` and `workspace`. Both raise where there is none: an intent
    without a session says why, here and nowhere else. Handlers of `on`, `shown` and `loaded` are called with
    a session on screen only.
    """

    changing = Signal()
    """Another session, or none, is on screen; the pages still show the previous one."""
    changed = Signal()
    """The same, for the pages to show it."""
    shown = Signal()
    """A session is on screen, and no handler of `changed` shows the previous one any more."""
    loaded = Signal()
    """The pages show the session, with its rows and its draft."""
    model_changed = Signal()
    """The model that answers may be another one now."""
    model_chosen = Signal()
    """The same, by the user in this window: the others follow."""

    def __init__(self, window: SessionWindow, app: AppServices, actions: AsyncActions) -> None:
        assert isinstance(window, QWidget)
        super().__init__(window)
        self.window = window
        """Where dialogs belong."""
        self.commands = window.commands
        self.handle = window.intents.add
        self.app = app
        self.actions = actions
        self.start = actions.start
        self.notices = window.notices
        self.notify = window.notices.notify
        self.job = window.jobs.run
        self.perform = window.perform
        self.page = window.page
        self.run = window.intents.run
        self.workspace_id = ""
        """The workspace on screen, which may be one that could not be opened; empty if there is none."""
        self.is_opening = False
        """True from when that workspace is to be opened until it is on screen, or cannot be."""
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._handlers: list[tuple[type | UnionType, Callable[..., object]]] = []
        self._subscriptions: list[Callable[[], None]] = []
        self._loaders: list[Callable[[], Awaitable[None]]] = []
        self._refreshers: list[Callable[[], Awaitable[None] | None]] = []
        self._pages: dict[str, Callable[[], Coroutine[Any, Any, None] | None]] = {}
        self._stale_pages: set[str] = set()
        self._refresh_timer = QTimer(self, singleShot=True, interval=_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: self.start(self.refresh(), "refresh"))
        self.on(EventRecorded, lambda update: self.notices.follow(update.recorded.event))

    @property
    def conversation(self) -> Conversation:
        """Return the conversation on screen. Raises SessionMissing if there is none."""
        if self._conversation is None:
            raise SessionMissing(text("No session is open."), fix=text("Open a session or start a new one."))
        return self._conversation

    def find_conversation(self) -> Conversation | None:
        return self._conversation

    @property
    def workspace(self) -> OpenWorkspace:
        """Return the workspace on screen, or the one that comes there soon. Raises WorkspaceMissing."""
        workspace = self._workspace or self.opened
        if workspace is None:
            raise WorkspaceMissing(text("No workspace is open."), fix=text("Open a workspace first."))
        return workspace

    @property
    def opened(self) -> OpenWorkspace | None:
        """Return the workspace of `workspace_id`, on screen now or soon; None if it is not open."""
        return self.app.open_workspaces.get(self.workspace_id)

    @property
    def has_conversation(self) -> bool:
        return self._conversation is not None

    @property
    def has_workspace(self) -> bool:
        return self._workspace is not None

    @property
    def id(self) -> str:
        return self._conversation.session.id if self._conversation is not None else ""

    @property
    def transcript(self) -> Transcript:
        return self._conversation.session.transcript if self._conversation is not None else Transcript()

    def shows(self, place: Conversation | OpenWorkspace) -> bool:
        """Return True if a conversation or a workspace is on screen: the user may have gone on meanwhile."""
        return place is self._conversation or place is self._workspace

    async def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        for unsubscribe in self._subscriptions:
            unsubscribe()
        self._subscriptions = []
        self._workspace = workspace
        self._conversation = conversation
        self.notices.set_context(workspace.id if workspace is not None else "", self.id)
        self.changing.emit()
        self.changed.emit()
        if conversation is not None:
            self._subscriptions = [conversation.session.on(kind, handler) for kind, handler in self._handlers]
            self.shown.emit()
        for load in self._loaders:
            await load()
            if conversation is not self._conversation:
                return  # the user went on meanwhile: what belongs to the other session is on screen already
        if conversation is not None:
            self.loaded.emit()
        await self.refresh()

    def on(self, kind: type[T] | UnionType, handler: Callable[[T], object]) -> None:
        """Call `handler` with updates and events of a type, or of a union, of the session on screen."""
        self._handlers.append((kind, handler))
        if self._conversation is not None:
            self._subscriptions.append(self._conversation.session.on(kind, handler))

    def on_show(self, load: Callable[[], Awaitable[None]]) -> None:
        """Await `load`, after those before it, whenever another session, or none, comes on screen."""
        self._loaders.append(load)

    def on_refresh(self, refresh: Callable[[], Awaitable[None] | None]) -> None:
        """Call `refresh`, and await it, after those before it, whenever numbers on screen may be others."""
        self._refreshers.append(refresh)

    def on_refresh_page(self, page: str, refresh: Callable[[], Coroutine[Any, Any, None] | None]) -> None:
        """The same for what takes longer: while a page is in sight, and else once it comes into sight."""
        self._pages[page] = refresh
        self._stale_pages.add(page)

    def show_page(self, page: str) -> None:
        self._stale_pages.add(page)
        self.perform(ShowPage(page))

    def refresh_page(self, page: str) -> None:
        """Begin to show a page in sight as it is now, if something has changed."""
        if page in self._stale_pages:
            self._stale_pages.discard(page)
            refreshing = self._pages[page]()
            if refreshing is not None:
                self.start(refreshing, page)

    def schedule_refresh(self) -> None:
        """Show the newest numbers within a blink, once for many changes."""
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    async def refresh(self) -> None:
        for refresh in self._refreshers:
            waiting = refresh()
            if waiting is not None:
                await waiting
        self._stale_pages = set(self._pages)
        self.refresh_page(self.page())

    async def show_model(self) -> None:
        """Show which model answers now, here and in the other windows."""
        self.model_changed.emit()
        self.model_chosen.emit()
        await self.refresh()

    def follow_models(self) -> None:
        """Show which model answers now, and whether something can be sent: another window changed it."""
        self.model_changed.emit()
        self.schedule_refresh()
