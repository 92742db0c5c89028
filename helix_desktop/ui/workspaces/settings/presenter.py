"""Fills the settings pages and does what they ask for."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, QPoint, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from helix_desktop.ui.design.motion import reduce_motion
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.design.window_placement import fit_screen
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.effort import EffortController
from helix_desktop.ui.session.missing_keys import MissingKeyBanner
from helix_desktop.ui.session.model_change_banner import ModelChangeBanner
from helix_desktop.ui.session.model_menu import DEMO_LABEL, find_model, model_menu
from helix_desktop.ui.settings.about.presenter import AboutPresenter
from helix_desktop.ui.settings.dialog import SettingsDialog, SettingsPage
from helix_desktop.ui.workspaces.mcp_consent_banner import McpConsentBanner
from helix_desktop.ui.workspaces.settings.data_presenter import DataPresenter
from helix_desktop.ui.workspaces.settings.instructions_presenter import InstructionsPresenter
from helix_desktop.ui.workspaces.settings.keyboard_presenter import KeyboardPresenter
from helix_desktop.ui.workspaces.settings.mcp_presenter import McpPresenter
from helix_desktop.ui.workspaces.settings.move_data import MoveDataPresenter
from helix_desktop.ui.workspaces.settings.permissions_presenter import PermissionsPresenter
from helix_desktop.ui.workspaces.settings.policy_presenter import PolicyPresenter
from helix_desktop.ui.workspaces.settings.providers_presenter import ProvidersPresenter
from helix_desktop.ui.workspaces.settings.roles_presenter import RolesPresenter, model_labels
from helix_desktop.ui.workspaces.trust import TrustController


class _Pages:
    """The settings window, and what fills each of its pages."""

    def __init__(
        self, context: ControllerContext, session_controller: SessionController, trust: TrustController
    ) -> None:
        self.dialog = dialog = SettingsDialog(context.window)
        self.providers = ProvidersPresenter(dialog.providers, context, session_controller)
        self.roles = RolesPresenter(dialog.roles, context, session_controller)
        self.about = AboutPresenter(
            dialog.about, context.async_actions, context.services, lambda: context.window.theme
        )
        self.data = DataPresenter(dialog, context)
        self.mcp = McpPresenter(dialog, context)
        self.permissions = PermissionsPresenter(dialog.permissions, context, session_controller, trust)
        self.move_data = MoveDataPresenter(dialog, context)
        self.instructions = InstructionsPresenter(dialog.instructions, context)


class SettingsPresenter(QObject):
    """Binds the settings window to app services and appearance."""

    move_confirmed = Signal(str, bool)
    """The new folder for all data, and whether the old copy is to be removed at the end."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        trust: TrustController,
        appearance: Appearance,
    ) -> None:
        super().__init__(context.window)
        self._context, self._session_controller, self._trust = context, session_controller, trust
        self._window, self._services = context.window, context.services
        self._appearance, self._async_actions = appearance, context.async_actions
        self._built: _Pages | None = None
        self.policy = PolicyPresenter(context, session_controller)
        self._keyboard = KeyboardPresenter(context)
        McpConsentBanner(context, session_controller, lambda: self._open("mcp"))
        self._effort = EffortController(context, session_controller, lambda: self._open("providers"))
        ModelChangeBanner(context, session_controller, self._offer_models, self._use_in_session)
        MissingKeyBanner(context, session_controller, self._enter_key)
        window, async_actions = context.window, context.async_actions
        appearance.changed.connect(lambda _: async_actions.start(self._save_appearance(), "keep theme"))
        composer = session_controller.composer.widget
        composer.enter_sends = context.services.settings.enter_sends
        self._apply_appearance()
        composer.model_clicked.connect(self._choose_model)
        window.commands.choose_model.triggered.connect(self._choose_model)
        session_controller.composer.slash_commands.on_arguments("choose_model", self._use_typed_model)
        window.welcome.provider_requested.connect(lambda: self._open("providers"))
        window.welcome.key_entered.connect(
            lambda key: async_actions.start(self._add_key(key), "add a provider with a key")
        )
        found_servers = window.welcome.found_servers
        window.welcome.scan_requested.connect(
            lambda: async_actions.start(self._pages.providers.scan(found_servers), "find local servers")
        )
        found_servers.add_requested.connect(
            lambda server: async_actions.start(
                self._pages.providers.add_and_use(server, found_servers), "add a local server"
            )
        )
        window.commands.settings.triggered.connect(lambda: self._open("providers"))
        window.remedy_requested.connect(self._handle_remedy)
        window.commands.change_policy.triggered.connect(lambda: self._open("policy"))
        window.commands.about.triggered.connect(lambda: self._open("about"))

    @property
    def _pages(self) -> _Pages:
        """Return the settings window, built when it is first needed: that takes longer than a frame."""
        if self._built is None:
            self._built = _Pages(self._context, self._session_controller, self._trust)
            self._connect(self._built)
        return self._built

    @property
    def dialog(self) -> SettingsDialog:
        """Return the settings window."""
        return self._pages.dialog

    def close(self) -> None:
        """Close the settings window, if it was ever opened."""
        if self._built is not None:
            self._built.dialog.close()

    def _apply_appearance(self) -> None:
        """Apply the settings: they may have been edited since the first frame's appearance was saved."""
        settings, appearance = self._services.settings, self._appearance
        if appearance.mode != settings.theme:
            appearance.set_mode(settings.theme)
        if appearance.text_px != settings.text_size:
            appearance.set_text_px(settings.text_size)
        reduce_motion(settings.reduce_motion)

    def _connect(self, pages: _Pages) -> None:
        start, dialog = self._async_actions.start, pages.dialog
        self.policy.attach(dialog.policy)
        self._keyboard.attach(dialog.keyboard)
        dialog.appearance.mode_chosen.connect(self._appearance.set_mode)
        dialog.appearance.text_px_chosen.connect(self._appearance.set_text_px)
        dialog.appearance.enter_sends_chosen.connect(
            lambda on: start(self._save_enter_sends(on), "enter sends")
        )
        dialog.appearance.notify_chosen.connect(lambda on: start(self._save(notify=on), "notify"))
        dialog.appearance.motion_chosen.connect(reduce_motion)
        dialog.appearance.motion_chosen.connect(
            lambda choice: start(self._save(reduce_motion=choice), "reduce motion")
        )
        dialog.appearance.sound_chosen.connect(lambda on: start(self._save(notify_sound=on), "sound"))
        dialog.appearance.notification_chosen.connect(
            lambda name, on: start(self._save(notify_off=self._without_notification(name, on)), "notify")
        )
        pages.move_data.confirmed.connect(self.move_confirmed)
        self._appearance.changed.connect(lambda theme: retint(dialog, theme))
        retint(dialog, self._window.theme)

    def _offer_models(self) -> None:
        """Offer models to a user who needs one: those that are set up, else the page that sets them up."""
        if self._services.settings.providers:
            self._choose_model()
        else:
            self._open("providers")

    def _choose_model(self) -> None:
        """Offer the models for the session on screen, behind the composer's button."""
        workspace, conversation = self._session_controller.workspace, self._session_controller.conversation
        if workspace is None or conversation is None:
            self._open("providers")
            return
        composer = self._session_controller.composer.widget
        menu = model_menu(
            composer,
            model_labels(self._services.settings),
            conversation.session.transcript.chosen_model,
            workspace.model.info.label,
            lambda label: self._async_actions.start(self._use_in_session(label), "use model"),
            lambda page: self._open("roles" if page == "roles" else "providers"),
            self._effort.menu,
        )
        menu.aboutToHide.connect(menu.deleteLater)
        corner = composer.model_button.mapToGlobal(QPoint(0, 0))
        menu.popup(corner - QPoint(0, menu.sizeHint().height() + 4))

    async def _use_in_session(self, label: str) -> None:
        """Let a model answer in the session on screen; empty: the workspace's default."""
        workspace, conversation = self._session_controller.workspace, self._session_controller.conversation
        if workspace is None or conversation is None:
            return
        await workspace.choose_model(conversation.session.id, label)
        if conversation is self._session_controller.conversation:
            await self._session_controller.show_model()

    async def _use_typed_model(self, words: str) -> None:
        """Let the model that is meant answer in the session on screen. Raises InvalidInput."""
        await self._use_in_session(find_model(words, (*model_labels(self._services.settings), DEMO_LABEL)))

    def _handle_remedy(self, remedy: str) -> None:
        """Do what helps against an error, if it is done here."""
        match remedy:
            case "provider_settings":
                self._open("providers")
            case "policy_settings":
                self._open("policy")
            case "choose_model":
                self._choose_model()
            case "open_log":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._services.data_folder / "logs")))
            case _:
                pass

    def _open(self, page: SettingsPage) -> None:
        self._async_actions.start(self.show(page), "settings")

    async def show(self, page: SettingsPage) -> None:
        """Fill every page and open the window on one of them."""
        pages, dialog = self._pages, self.dialog
        dialog.show_page(page)
        if dialog.isHidden():
            fit_screen(dialog)
        dialog.show()
        dialog.raise_()
        settings = self._services.settings
        dialog.appearance.show_appearance(
            self._appearance.mode, self._appearance.text_px, settings.enter_sends, settings.reduce_motion
        )
        dialog.appearance.show_notifications(settings.notify, settings.notify_sound, settings.notify_off)
        self.policy.show()
        self._keyboard.show()
        pages.roles.show()
        await pages.providers.show()
        await pages.data.show()
        await pages.mcp.show()
        await pages.permissions.show()
        await pages.about.show()
        await pages.instructions.show()

    async def _add_key(self, key: str) -> None:
        await self.show("providers")
        self._pages.providers.add_key(key)

    async def _enter_key(self, provider: str) -> None:
        await self.show("providers")
        self._pages.providers.enter_key(provider)

    async def _save_enter_sends(self, enter_sends: bool) -> None:
        self._session_controller.composer.widget.enter_sends = enter_sends
        await self._save(enter_sends=enter_sends)

    def _without_notification(self, name: str, on: bool) -> tuple[str, ...]:
        """Return what the user is not notified of, after a change."""
        others = [off for off in self._services.settings.notify_off if off != name]
        return (*others, *([] if on else [name]))

    async def _save(self, **fields: object) -> None:
        await self._services.save_settings(msgspec.structs.replace(self._services.settings, **fields))

    async def _save_appearance(self) -> None:
        settings = msgspec.structs.replace(
            self._services.settings, theme=self._appearance.mode, text_size=self._appearance.text_px
        )
        if settings != self._services.settings:
            await self._services.save_settings(settings)
