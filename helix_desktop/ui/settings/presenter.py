"""Fills the settings pages and does what they ask for."""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from PySide6.QtCore import QObject, qVersion

from helix_desktop import __version__
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.context.errors import HelixError
from helix_desktop.context.policy import PROFILES, policy_from
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.data_presenter import DataPresenter
from helix_desktop.ui.settings.dialog import SettingsDialog, SettingsPage
from helix_desktop.ui.settings.mcp_presenter import McpPresenter
from helix_desktop.ui.settings.moving import DataMoving
from helix_desktop.ui.settings.permissions import PermissionsPresenter
from helix_desktop.ui.settings.policy_form import policy_form, refusal
from helix_desktop.ui.settings.rows import (
    AboutInfo,
    CheckLine,
    KeyPlace,
    ProviderForm,
    ProviderStatus,
    provider_faults,
)
from helix_desktop.ui.shell import Shell
from helix_desktop.ui.style import Appearance
from helix_desktop.ui.widgets import retint

DEMO = "demo"
_NAMELESS = "server"
_DEMO_FORM = ProviderForm(DEMO, "Offline demo model", "", "", 0, 0, demo=True)
_LICENCES = (
    ("Helix Desktop", "MIT"),
    ("Qt and PySide6", "LGPL-3.0"),
    ("Inter, JetBrains Mono", "SIL OFL 1.1"),
    ("Lucide icons", "ISC"),
    ("Token vocabularies", "MIT"),
)
_PLACES: dict[str, KeyPlace] = {"keychain": "keychain", "environment": "environment", "run": "run"}


class SettingsPresenter(QObject):
    """Binds the settings window to desk and appearance."""

    def __init__(
        self, window: MainWindow, shell: Shell, appearance: Appearance, intents: Intents, desk: Desk
    ) -> None:
        super().__init__(window)
        self._shell, self._appearance, self._desk, self._window = shell, appearance, desk, window
        self._intents = Intents(intents.scope, self._tell)
        self.dialog = SettingsDialog(window)
        self._data = DataPresenter(self.dialog, shell, intents, desk)
        self._permissions = PermissionsPresenter(
            self.dialog.permissions, shell, self._intents, desk, lambda: window.theme
        )
        self._mcp = McpPresenter(self.dialog, shell, intents, desk)
        self.moving = DataMoving(self.dialog, window, intents, desk)
        self._changing = asyncio.Lock()
        self._connect(intents)
        composer = shell.work.composing.composer
        composer.enter_sends = desk.settings.enter_sends
        self._take_look()
        composer.model_clicked.connect(lambda: self._open("providers"))
        window.welcome.provider_requested.connect(lambda: self._open("providers"))
        window.commands.settings.triggered.connect(lambda: self._open("providers"))
        window.commands.about.triggered.connect(lambda: self._open("about"))

    def _take_look(self) -> None:
        """The settings may have been changed by hand since the look of the first frame was kept."""
        settings, appearance = self._desk.settings, self._appearance
        if appearance.mode != settings.theme:
            appearance.set_mode(settings.theme)
        if appearance.text_px != settings.text_size:
            appearance.set_text_px(settings.text_size)

    def _connect(self, intents: Intents) -> None:
        start = self._intents.start
        editor = self.dialog.providers.editor
        editor.saved.connect(lambda form: self._change(lambda: self._save(form), "save provider"))
        editor.test_requested.connect(lambda form: start(self._test(form), "test provider"))
        editor.models_requested.connect(lambda form: start(self._list(form), "list models"))
        editor.remove_requested.connect(
            lambda name: self._change(lambda: self._remove(name), "remove provider")
        )
        editor.use_requested.connect(lambda name: self._change(lambda: self._use(name), "use provider"))
        self.dialog.appearance.mode_chosen.connect(self._appearance.set_mode)
        self.dialog.appearance.text_px_chosen.connect(self._appearance.set_text_px)
        self.dialog.appearance.enter_sends_chosen.connect(
            lambda on: start(self._keep_enter(on), "enter sends")
        )
        self.dialog.appearance.notify_chosen.connect(lambda on: start(self._keep_notify(on), "notify"))
        self.dialog.policy.profile_chosen.connect(
            lambda name: self._change_policy({"profile": name}, anew=True)
        )
        self.dialog.policy.changed.connect(self._change_policy)
        self._appearance.changed.connect(lambda theme: retint(self.dialog, theme))
        self._appearance.changed.connect(lambda _: intents.start(self._keep_theme(), "keep theme"))

    def _change(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Begin a change of the providers; one at a time, in the order they were asked for."""

        async def in_turn() -> None:
            async with self._changing:
                await work()

        self._intents.start(in_turn(), name)

    def _tell(self, error: HelixError) -> None:
        """Errors of this window stand in it."""
        self.dialog.providers.editor.show_checks(
            [CheckLine(error.what, "failed", f"{error.why} {error.fix}".strip())]
        )

    def _open(self, page: SettingsPage) -> None:
        retint(self.dialog, self._window.theme)
        self._intents.start(self.show(page), "settings")

    async def show(self, page: SettingsPage) -> None:
        """Fill every page and open the window on one of them."""
        self.dialog.show_page(page)
        self.dialog.show()
        self.dialog.raise_()
        settings = self._desk.settings
        self.dialog.appearance.show_appearance(
            self._appearance.mode, self._appearance.text_px, settings.enter_sends, settings.notify
        )
        self._show_workspace()
        self.dialog.about.show_about(
            AboutInfo(
                __version__,
                platform.python_version(),
                qVersion(),
                str(self._desk.data_folder),
                _LICENCES,
            )
        )
        await self._show_providers()
        await self._data.show()
        await self._permissions.show()
        await self._mcp.show()

    def _show_workspace(self) -> None:
        room = self._desk.rooms.get(self._shell.active)
        if room is None:
            return
        record = self._desk.registry.get(room.id)
        self.dialog.policy.show_policy(policy_form(record.name, room.policy))

    async def _show_providers(self) -> None:
        forms, states = [_DEMO_FORM], [ProviderStatus(DEMO, self._in_use(DEMO), "none", "")]
        for provider in self._desk.settings.providers:
            state = await self._desk.key_state(provider.name)
            place = _PLACES.get(state.place, "none")
            forms.append(_form(provider))
            states.append(ProviderStatus(provider.name, self._in_use(provider.name), place, state.text))
        self.dialog.providers.show_providers(forms, states)

    def _in_use(self, name: str) -> bool:
        room = self._desk.rooms.get(self._shell.active)
        if room is not None:
            return room.model.info.provider == name
        return (self._desk.settings.model.partition("/")[0] or DEMO) == name

    async def _save(self, form: ProviderForm) -> None:
        provider = _provider(form)
        settings = self._desk.settings
        if provider.name != form.id and (provider.name == DEMO or settings.provider(provider.name)):
            raise HelixError(f"There is a provider {provider.name} already.", fix="Choose another name.")
        used = self._in_use(form.id or provider.name)
        if form.id and form.id != provider.name:
            settings = settings.without_provider(form.id)
        await self._desk.save_settings(settings.with_provider(provider))
        if form.key:
            await self._desk.keep_key(provider.name, form.key)
        if form.id:
            await self._let_go(form.id, provider.info().label)
        if used:
            await self._use(provider.name)
        await self._show_providers()
        names = [DEMO, *(one.name for one in self._desk.settings.providers)]
        if provider.name not in names:
            return  # removed meanwhile
        self.dialog.providers.list.setCurrentRow(names.index(provider.name))
        lines = [CheckLine("Saved", "ok", provider.name)]
        if form.id not in ("", provider.name) and not form.key:
            lines.append(CheckLine("Key", "failed", f"It is kept for {form.id}: type it once more."))
        self.dialog.providers.editor.show_checks(lines)

    async def _let_go(self, name: str, label: str) -> None:
        """Let another model (empty: the default) answer where one of this provider did."""
        for record in self._desk.registry.listed():
            if record.model.partition("/")[0] == name:
                await self._desk.use_model(record.id, label)

    async def _use(self, name: str) -> None:
        provider = self._desk.settings.provider(name)
        label = provider.info().label if provider else ""
        if self._shell.active:
            await self._desk.use_model(self._shell.active, label or "demo/offline")
        if not self._shell.active or name != DEMO:
            await self._desk.save_settings(msgspec.structs.replace(self._desk.settings, model=label))
        await self._shell.work.show_model()
        await self._show_providers()

    async def _remove(self, name: str) -> None:
        await self._desk.save_settings(self._desk.settings.without_provider(name))
        await self._desk.keep_key(name, "")
        await self._let_go(name, "")
        await self._shell.work.show_model()
        await self._show_providers()

    async def _list(self, form: ProviderForm) -> None:
        self.dialog.providers.editor.show_checks([CheckLine("Models", "running")])
        names = await self._desk.list_models(_provider(form), form.key)
        self.dialog.providers.editor.show_models(names)
        self.dialog.providers.editor.show_checks([CheckLine("Models", "ok", f"{len(names)} offered")])

    async def _test(self, form: ProviderForm) -> None:
        """Reach and key by listing models, then one short streamed answer."""
        editor = self.dialog.providers.editor
        provider = _provider(form)
        editor.show_checks([CheckLine("Reach and key", "running")])
        try:
            names = await self._desk.list_models(provider, form.key)
        except HelixError as error:
            editor.show_checks([CheckLine("Reach and key", "failed", str(error))])
            return
        reached = CheckLine("Reach and key", "ok", f"{len(names)} models")
        if not form.model:
            editor.show_checks([reached, CheckLine("Model", "failed", "Choose one.")])
            return
        known = CheckLine("Model", "ok" if form.model in names else "failed", form.model)
        if form.model not in names:
            known = CheckLine(
                "Model", "ok", f"{form.model} is not in the server's list; asking it all the same"
            )
        editor.show_checks([reached, known, CheckLine("Streaming", "running")])
        try:
            said = await self._desk.try_model(provider, form.model, form.key)
        except HelixError as error:
            editor.show_checks([reached, known, CheckLine("Streaming", "failed", str(error))])
            return
        editor.show_checks([reached, known, CheckLine("Streaming", "ok", f"it said: {said}")])

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

    def _change_policy(self, fields: dict[str, object], anew: bool = False) -> None:
        room = self._desk.rooms.get(self._shell.active)
        if room is None:
            return
        known = {} if anew else msgspec.structs.asdict(room.policy)
        if fields.get("enabled") and not PROFILES[room.policy.profile].enabled:
            known, fields = {}, {}  # the profile that is off cannot be on: back to the usual one
        try:
            policy = policy_from({**known, **fields})
            self._desk.registry.save_policy(room.id, policy)
        except ValueError as error:
            why = refusal(error, policy_form(self._desk.registry.get(room.id).name, room.policy))
            for key in fields:
                self.dialog.policy.refuse(key, why)
            return
        except HelixError as error:
            self._shell.tell(error)
            return
        room.policy = policy
        self._show_workspace()
        self._shell.work.refresh_soon()


def _form(provider: Provider) -> ProviderForm:
    info = provider.info() if provider.models or provider.default_model else None
    name = info.name if info else ""
    window, reserve = (info.window, info.reserve) if info else (128_000, 4_096)
    images = info is not None and info.images
    return ProviderForm(provider.name, provider.name, provider.base_url, name, window, reserve, images=images)


def _provider(form: ProviderForm) -> Provider:
    """The provider that a form describes; name and model may still be missing. Raises HelixError."""
    name = re.sub(r"[\s/]+", "-", form.name.strip()).lower() or _NAMELESS
    model = form.model.strip()
    faults = provider_faults(form)
    wrong = [words for field, words in faults.items() if field not in ("name", "model")]
    if wrong:
        raise HelixError("This cannot be used yet.", " ".join(wrong))
    models: tuple[ModelEntry, ...] = ()
    if model:
        models = (ModelEntry(name=model, window=form.window, reserve=form.reserve, images=form.images),)
    return Provider(name=name, base_url=form.base_url.strip(), models=models, default_model=model)
