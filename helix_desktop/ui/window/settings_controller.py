"""Opens the settings, and does what they change in their window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices

from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.ui.chat.model_menu import ModelMenu
from helix_desktop.ui.chat.notices import MissingKeys, follow_model_change
from helix_desktop.ui.design.motion import reduce_motion
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.kit.intents import (
    AddProvider,
    ApplyRemedy,
    EnterKey,
    Find,
    OpenSettings,
    ShowServer,
    handles,
)
from helix_desktop.ui.onboarding.pages import WelcomePage
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.settings.policy.files import PolicyFiles
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.preview import ReplayPreparation
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.view import SettingsPage, SettingsView
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.translation import Translator

tr = Translator("Settings: General")


class SettingsController(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup, appearance: Appearance) -> None:
        super().__init__(window, windows)
        session = self._session
        settings = self._settings = AppSettings(session)
        self._workspace_settings = WorkspaceSettings(settings, session)
        self._appearance = appearance
        self._view: SettingsView | None = None
        self._workspace_id = ""  # that the pages are about
        self._policy_files = PolicyFiles(session)
        self.replays = SessionReplays(PolicyReplayWorker)
        self.preparation = ReplayPreparation(session, self.replays)
        ModelMenu(window.pages.chat.composer, session)
        follow_model_change(session)
        MissingKeys(window.pages.chat.key_strip, session)
        composer = window.pages.chat.composer
        settings.follow("enter_sends", partial(setattr, composer, "enter_sends"))
        settings.follow("shortcuts", self._use_shortcuts)
        settings.follow("reduce_motion", reduce_motion)
        settings.follow("theme", appearance.set_mode)
        settings.follow("text_size", appearance.set_text_px)
        appearance.changed.connect(self._keep_appearance)  # it has keys and a button of its own
        window.welcome.when_built(self._follow_welcome)
        window.activated.connect(self._follow_other_window)
        session.changed.connect(self._follow_workspace)
        session.app.settings_listeners.append(lambda *_: self._follow_other_window())
        self._offer_pages()

    def _follow_welcome(self, welcome: WelcomePage) -> None:
        start, found_servers = self._start, welcome.found_servers
        self._settings.follow("model", welcome.show_model)
        welcome.scan_requested.connect(
            lambda: start(self.view.providers.scan(found_servers), "find local servers")
        )
        found_servers.add_requested.connect(
            lambda server: start(self._add_found_server(server), "add a local server")
        )

    @handles(AddProvider)
    async def add_provider(self, key: str) -> None:
        await self._run_on_providers_page(lambda page: page.add_key(key) if key else page.add())

    def _offer_pages(self) -> None:
        """Offer each page in the command palette."""
        actions = []
        for page, title in SettingsView.page_titles().items():
            action = QAction(title, self)
            action.setObjectName(f"settings:{page}")
            action.triggered.connect(lambda _=False, page=page: self._open(page))
            actions.append(action)
        self._window.help_windows.command_list.offer(tr("Settings"), actions)

    @property
    def view(self) -> SettingsView:
        """Return the settings, built when they are first needed: that takes longer than a frame."""
        if self._view is None:
            values, bindings = self._workspace_settings, self._window.key_bindings
            view = self._view = SettingsView(
                self._session,
                values,
                {"keyboard": lambda: KeyboardPage(bindings, values), "policy": self._policy_page},
            )
            self._window.add_settings(view.names, view.head, view)
        return self._view

    def unsaved_pages(self) -> list[str]:
        """Return the titles of the pages where something was typed and not saved."""
        return self._view.unsaved_pages() if self._view is not None else []

    def _use_shortcuts(self, shortcuts: dict[str, object]) -> None:
        if self._window.key_bindings.stored != shortcuts:
            self._window.key_bindings.use(shortcuts)

    def _policy_page(self) -> PolicyPage:
        page = PolicyPage(self._session, self._policy_files, self.replays, self.preparation)
        self._window.settings_left.connect(page.remind_of_preview)
        return page

    async def end_replays(self) -> None:
        """End the process that replays sessions."""
        self.preparation.stop()
        if self._view is not None and self._view.is_built("policy"):
            self._view.policy.preview.stop()
        await self.replays.close()

    @handles(Find)
    def find(self, words: str) -> None:
        if self._window.page() == "settings":
            self.view.focus_filter()

    def _follow_workspace(self) -> None:
        if not self._session.has_conversation:  # a secret is about to be removed, perhaps
            self._start(self.end_replays(), "end policy replays")
        if self._session.workspace_id != self._workspace_id:
            self._workspace_id = self._session.workspace_id
            self.refresh()

    def _follow_other_window(self) -> None:
        """Show what was saved while the user is in another window; who saves something here shows it."""
        if self._windows.current.window is not self._window:
            self.refresh()

    def refresh(self) -> None:
        """Show what is stored now, as far as the settings have been built."""
        if self._view is not None:
            self._view.refresh()

    @handles(ApplyRemedy)
    def apply_remedy(self, remedy: str) -> None:
        """Do what helps against an error, if it is done here."""
        match remedy:
            case "provider_settings":
                provider = self._session_provider()
                self._start(self._run_on_providers_page(lambda page: page.select(provider)), "settings")
            case "enter_key":
                self._start(self.enter_key(self._session_provider()), "enter a key")
            case "policy_settings":
                self._open("policy")
            case "open_log":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._services.data_folder / "logs")))
            case _:
                pass

    def _session_provider(self) -> str:
        return (
            self._session.conversation.model.label.partition("/")[0] if self._session.has_conversation else ""
        )

    @handles(OpenSettings)
    def open_page(self, page: SettingsPage | Literal[""]) -> None:
        """Show a page; no name: the page that was shown last, or leave the settings."""
        if not page and self._window.page() == "settings":
            self._window.leave_settings()
        else:
            self._open(page or self.view.current_page())

    def _open(self, page: SettingsPage) -> None:
        self._start(self.show(page), "settings")

    async def show(self, page: SettingsPage) -> None:
        """Show one page of the settings, and fill it; others are filled when the user goes there."""
        view, window = self.view, self._window
        is_entered = window.page() != "settings"
        is_by_keyboard = window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        if is_entered:
            view.refresh()
            window.show_settings()
        view.show_page(page)
        if is_entered and is_by_keyboard:
            view.focus_name()
        await view.fill(page)

    async def _run_on_providers_page(self, do: Callable[[ProvidersPage], object]) -> None:
        """Show the page of the providers, and do something there."""
        await self.show("providers")
        do(self.view.providers)

    @handles(EnterKey)
    async def enter_key(self, provider: str) -> None:
        await self._run_on_providers_page(lambda page: page.enter_key(provider))

    @handles(ShowServer)
    async def show_server(self, name: str, lacks_secret: bool) -> None:
        await self.show("mcp")
        if lacks_secret:
            self.view.mcp.enter_secret(name)
        else:
            self.view.mcp.open_tools(name)

    async def _add_found_server(self, server: LocalServer) -> None:
        """Add a server that was found on the first run: its model answers from now on, in all workspaces."""
        welcome = self._window.welcome.get()
        await self.view.providers.add_and_use(server, welcome.found_servers)
        welcome.setFocus(Qt.FocusReason.OtherFocusReason)

    def _keep_appearance(self) -> None:
        self._settings.set("theme", self._appearance.mode)
        self._settings.set("text_size", self._appearance.text_px)
