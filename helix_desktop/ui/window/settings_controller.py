"""Opens the settings, and does what they change in their window."""

from __future__ import annotations

from functools import partial
from typing import Literal

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.ui.chat.model_controller import ModelController
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import reduce_motion
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.onboarding.pages import NoSessionPage, WelcomePage
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.settings.policy.form import PolicyFiles
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.preview import ReplayPreparation
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.view import SettingsPage, SettingsView
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Keyboard")


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
        ModelController(window.pages.chat, session)
        composer = window.pages.chat.composer

        def use_shortcuts(shortcuts: dict[str, object]) -> None:
            if window.key_bindings.stored != shortcuts:
                window.key_bindings.use(shortcuts)

        settings.follow("enter_sends", composer.set_enter_sends)
        settings.follow("shortcuts", use_shortcuts)
        settings.follow("reduce_motion", reduce_motion)
        settings.follow("theme", appearance.set_mode)
        settings.follow("text_size", appearance.set_text_px)
        appearance.changed.connect(self._keep_appearance)  # it has keys and a button of its own
        window.places.welcome.when_built(self._follow_welcome)
        window.places.empty.when_built(self._follow_empty)
        window.activated.connect(self._follow_other_window)
        window.activated.connect(self._policy_files.read)
        window.activated.connect(self._read_servers)
        window.activated.connect(self._read_files_on_screen)
        session.changed.connect(self._follow_workspace)
        session.app.settings_listeners.append(lambda *_: self._follow_other_window())
        titles = SettingsView.page_titles().items()
        places = ((f"settings:{page}", title, partial(self.open_page, page)) for page, title in titles)
        window.help_windows.command_list.offer(tr("Settings"), places)

    def _follow_empty(self, page: NoSessionPage) -> None:
        def show() -> None:
            workspace = self._session.opened
            if workspace is not None:
                page.show_context(workspace.policy, workspace.model.info.window)

        self._policy_files.changed.connect(show)

    def _follow_welcome(self, welcome: WelcomePage) -> None:
        start = self._start
        found_servers = welcome.found_servers

        async def add(server: LocalServer) -> None:
            """Let a server's model answer from now on, in all workspaces."""
            await self.view.providers.add_and_use(server, found_servers)
            welcome.setFocus(Qt.FocusReason.OtherFocusReason)

        self._settings.follow("model", welcome.show_model)
        welcome.scan_requested.connect(
            lambda: start(self.view.providers.scan(found_servers), "find local servers")
        )
        found_servers.add_requested.connect(lambda server: start(add(server), "add a local server"))

    @handles(intents.AddProvider)
    async def add_provider(self, key: str) -> None:
        page = await self._show_providers()
        if key:
            page.add_key(key)
        else:
            page.add()

    @property
    def view(self) -> SettingsView:
        """Return the settings, built when they are first needed: that takes longer than a frame."""
        if self._view is None:
            values = self._workspace_settings
            bindings = self._window.key_bindings
            keyboard = partial(KeyboardPage, bindings, values)
            view = self._view = SettingsView(
                self._session, values, {"keyboard": keyboard, "policy": self._policy_page}
            )
            self._window.add_settings(view.names, view.head, view)
        return self._view

    def unsaved_pages(self) -> list[str]:
        return self._view.unsaved_pages() if self._view is not None else []

    def _policy_page(self) -> PolicyPage:
        page = PolicyPage(self._session, self._policy_files, self.replays, self.preparation)
        self._window.settings_left.connect(page.remind_of_preview)
        return page

    async def end_replays(self) -> None:
        self.preparation.stop()
        if self._view is not None and self._view.is_built("policy"):
            self._view.policy.preview.stop()
        await self.replays.close()

    @handles(intents.Find)
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

    def _read_servers(self) -> None:
        """Use mcp.json of the workspace on screen as it is now."""
        if self._session.opened is not None:
            read = self._services.mcp_servers.read(self._session.workspace_id)
            self._start(read, "read mcp.json")

    def _read_files_on_screen(self) -> None:
        if self._view is not None:
            self._view.read_files()

    def refresh(self) -> None:
        """Show what is stored now, as far as the settings have been built."""
        if self._view is not None:
            self._view.refresh()

    @handles(intents.ApplyRemedy)
    async def apply_remedy(self, remedy: str) -> None:
        conversation = self._session.find_conversation()
        provider = conversation.model.label.partition("/")[0] if conversation is not None else ""
        match remedy:
            case "provider_settings":
                (await self._show_providers()).select(provider)
            case "enter_key":
                await self.enter_key(provider)
            case "open_log":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._services.data_folder / "logs")))

    @handles(intents.ChooseProfile)
    def choose_profile(self, name: str) -> None:
        self._policy_files.change("profile", name)

    @handles(intents.ManageAtMost)
    def manage_at_most(self, tokens: int) -> None:
        self._policy_files.change("manage_at_most", tokens)

    @handles(intents.OpenSettings)
    def open_page(self, page: SettingsPage | Literal[""]) -> None:
        """Show a page; no name: the page that was shown last, or leave the settings."""
        if not page and self._window.page() == "settings":
            self._window.leave_settings()
        else:
            self._start(self.show(page or self.view.current_page()), "settings")

    async def show(self, page: SettingsPage) -> None:
        """Show one page of the settings, and fill it; others are filled when the user goes there."""
        view = self.view
        window = self._window
        is_entered = window.page() != "settings"
        is_by_keyboard = window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        if is_entered:
            view.refresh()
        view.show_page(page)  # first: else the page that was shown last is built too
        window.show_settings()
        if is_entered and is_by_keyboard:
            view.focus_name()
        await view.fill(page)

    async def _show_providers(self) -> ProvidersPage:
        await self.show("providers")
        return self.view.providers

    @handles(intents.EnterKey)
    async def enter_key(self, provider: str) -> None:
        (await self._show_providers()).enter_key(provider)

    @handles(intents.ShowServer)
    async def show_server(self, name: str, lacks_secret: bool) -> None:
        await self.show("mcp")
        if lacks_secret:
            self.view.mcp.enter_secret(name)
        else:
            self.view.mcp.open_tools(name)

    def _keep_appearance(self) -> None:
        self._settings.set("theme", self._appearance.mode)
        self._settings.set("text_size", self._appearance.text_px)
