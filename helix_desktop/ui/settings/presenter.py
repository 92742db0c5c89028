"""Fills the settings pages and does what they ask for."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, QPoint, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.on_screen import fit_screen
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.about_presenter import AboutPresenter
from helix_desktop.ui.settings.data_presenter import DataPresenter
from helix_desktop.ui.settings.dialog import SettingsDialog, SettingsPage
from helix_desktop.ui.settings.mcp_banner import ConsentBanner
from helix_desktop.ui.settings.mcp_presenter import McpPresenter
from helix_desktop.ui.settings.missing_keys import MissingKeys
from helix_desktop.ui.settings.model_banner import ModelBanner
from helix_desktop.ui.settings.model_menu import model_menu
from helix_desktop.ui.settings.moving import DataMoving
from helix_desktop.ui.settings.permissions import PermissionsPresenter
from helix_desktop.ui.settings.policy_presenter import PolicyPresenter
from helix_desktop.ui.settings.providers_presenter import ProvidersPresenter
from helix_desktop.ui.settings.roles_presenter import RolesPresenter, labels
from helix_desktop.ui.shell import Shell
from helix_desktop.ui.style import Appearance
from helix_desktop.ui.widgets import retint


class _Pages:
    """The settings window, and what fills each of its pages."""

    def __init__(self, window: MainWindow, shell: Shell, intents: Intents, desk: Desk) -> None:
        self.dialog = dialog = SettingsDialog(window)
        self.providers = ProvidersPresenter(dialog, shell, intents, desk)
        self.roles = RolesPresenter(dialog.roles, shell, intents, desk)
        self.about = AboutPresenter(dialog.about, intents, desk)
        self.data = DataPresenter(dialog, shell, intents, desk)
        self.mcp = McpPresenter(dialog, shell, intents, desk)
        self.permissions = PermissionsPresenter(
            dialog.permissions, shell, intents, desk, lambda: window.theme
        )
        self.moving = DataMoving(dialog, window, intents, desk)


class SettingsPresenter(QObject):
    """Binds the settings window to desk and appearance."""

    move_agreed = Signal(str, bool)
    """The new folder for all data, and whether the old copy is to be removed at the end."""

    def __init__(
        self, window: MainWindow, shell: Shell, appearance: Appearance, intents: Intents, desk: Desk
    ) -> None:
        super().__init__(window)
        self._shell, self._appearance, self._desk, self._window = shell, appearance, desk, window
        self._intents = intents
        self._built: _Pages | None = None
        self._policy = PolicyPresenter(window, shell, desk)
        self._consent = ConsentBanner(window, shell, desk, lambda: self._open("mcp"))
        self._answering = ModelBanner(
            window, shell.work, intents, desk, self._offer_models, self._use_in_session
        )
        self._missing = MissingKeys(window, shell.work, intents, desk, self._enter_key)
        self._appearance.changed.connect(lambda _: intents.start(self._keep_theme(), "keep theme"))
        composer = shell.work.composing.composer
        composer.enter_sends = desk.settings.enter_sends
        self._take_look()
        composer.model_clicked.connect(self._choose_model)
        window.welcome.provider_requested.connect(lambda: self._open("providers"))
        found = window.welcome.found
        window.welcome.look_requested.connect(
            lambda: intents.start(self._pages.providers.look(found), "find local servers")
        )
        found.add_requested.connect(
            lambda server: intents.start(
                self._pages.providers.begin_with(server, found), "add a local server"
            )
        )
        window.commands.settings.triggered.connect(lambda: self._open("providers"))
        window.remedy_requested.connect(self._help)
        window.commands.about.triggered.connect(lambda: self._open("about"))

    @property
    def _pages(self) -> _Pages:
        """Return the settings window, built when it is first needed: that takes longer than a frame."""
        if self._built is None:
            self._built = _Pages(self._window, self._shell, self._intents, self._desk)
            self._connect(self._built)
        return self._built

    @property
    def dialog(self) -> SettingsDialog:
        """The settings window."""
        return self._pages.dialog

    def close(self) -> None:
        """Close the settings window, if it was ever opened."""
        if self._built is not None:
            self._built.dialog.close()

    def _take_look(self) -> None:
        """The settings may have been changed by hand since the look of the first frame was kept."""
        settings, appearance = self._desk.settings, self._appearance
        if appearance.mode != settings.theme:
            appearance.set_mode(settings.theme)
        if appearance.text_px != settings.text_size:
            appearance.set_text_px(settings.text_size)

    def _connect(self, pages: _Pages) -> None:
        start, dialog = self._intents.start, pages.dialog
        self._policy.attach(dialog.policy)
        dialog.appearance.mode_chosen.connect(self._appearance.set_mode)
        dialog.appearance.text_px_chosen.connect(self._appearance.set_text_px)
        dialog.appearance.enter_sends_chosen.connect(lambda on: start(self._keep_enter(on), "enter sends"))
        dialog.appearance.notify_chosen.connect(lambda on: start(self._keep_notify(on), "notify"))
        pages.moving.agreed.connect(self.move_agreed)
        self._appearance.changed.connect(lambda theme: retint(dialog, theme))
        retint(dialog, self._window.theme)

    def _offer_models(self) -> None:
        """Offer models to a person who needs one: those that are set up, else the page that sets them up."""
        if self._desk.settings.providers:
            self._choose_model()
        else:
            self._open("providers")

    def _choose_model(self) -> None:
        """Offer the models for the session on screen, behind the composer's button."""
        room, conversation = self._shell.work.room, self._shell.work.conversation
        if room is None or conversation is None:
            self._open("providers")
            return
        composer = self._shell.work.composing.composer
        menu = model_menu(
            composer,
            labels(self._desk.settings),
            conversation.session.transcript.chosen_model,
            room.model.info.label,
            lambda label: self._intents.start(self._use_in_session(label), "use model"),
            lambda page: self._open("roles" if page == "roles" else "providers"),
        )
        menu.aboutToHide.connect(menu.deleteLater)
        corner = composer.model_button.mapToGlobal(QPoint(0, 0))
        menu.popup(corner - QPoint(0, menu.sizeHint().height() + 4))

    async def _use_in_session(self, label: str) -> None:
        """Let a model answer in the session on screen; empty: the workspace's default."""
        room, conversation = self._shell.work.room, self._shell.work.conversation
        if room is None or conversation is None:
            return
        await room.choose_model(conversation.session.id, label)
        if conversation is self._shell.work.conversation:
            self._shell.work.model_chosen.emit()
            await self._shell.work.show_model()

    def _help(self, remedy: str) -> None:
        """Do what helps against an error, if it is done here."""
        match remedy:
            case "provider_settings":
                self._open("providers")
            case "policy_settings":
                self._open("policy")
            case "choose_model":
                self._choose_model()
            case "open_log":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._desk.data_folder / "logs")))
            case _:
                pass

    def _open(self, page: SettingsPage) -> None:
        self._intents.start(self.show(page), "settings")

    async def show(self, page: SettingsPage) -> None:
        """Fill every page and open the window on one of them."""
        pages, dialog = self._pages, self.dialog
        dialog.show_page(page)
        if dialog.isHidden():
            fit_screen(dialog)
        dialog.show()
        dialog.raise_()
        settings = self._desk.settings
        dialog.appearance.show_appearance(
            self._appearance.mode, self._appearance.text_px, settings.enter_sends, settings.notify
        )
        self._policy.show()
        pages.roles.show()
        await pages.providers.show()
        await pages.data.show()
        await pages.mcp.show()
        await pages.permissions.show()
        await pages.about.show()

    async def _enter_key(self, provider: str) -> None:
        await self.show("providers")
        self._pages.providers.enter_key(provider)

    async def _keep_enter(self, on: bool) -> None:
        self._shell.work.composing.composer.enter_sends = on
        await self._desk.save_settings(msgspec.structs.replace(self._desk.settings, enter_sends=on))

    async def _keep_notify(self, on: bool) -> None:
        await self._desk.save_settings(msgspec.structs.replace(self._desk.settings, notify=on))

    async def _keep_theme(self) -> None:
        settings = msgspec.structs.replace(
            self._desk.settings, theme=self._appearance.mode, text_size=self._appearance.text_px
        )
        if settings != self._desk.settings:
            await self._desk.save_settings(settings)
