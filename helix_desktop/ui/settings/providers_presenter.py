"""Fills the provider page and does what it asks for: save, list, test, use, find local servers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.context.errors import HelixError
from helix_desktop.context.trial import Tick
from helix_desktop.ui.found_servers import FoundServers
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk, FoundServer
from helix_desktop.ui.settings.dialog import SettingsDialog
from helix_desktop.ui.settings.rows import (
    CheckLine,
    KeyPlace,
    ProviderForm,
    ProviderStatus,
    provider_faults,
)
from helix_desktop.ui.shell import Shell
from helix_desktop.workspaces.record import MODEL_ROLES

DEMO = "demo"
_NAMELESS = "server"
_DEMO_FORM = ProviderForm(DEMO, "Offline demo model", "", demo=True)
_PLACES: dict[str, KeyPlace] = {"keychain": "keychain", "environment": "environment", "run": "run"}
_STOPPED = "stopped"


class ProvidersPresenter:
    """Binds the provider page to the desk. Nothing is asked of a server before somebody presses a button."""

    def __init__(self, dialog: SettingsDialog, shell: Shell, intents: Intents, desk: Desk) -> None:
        self._page, self._shell, self._desk = dialog.providers, shell, desk
        self._editor = self._page.editor
        self._intents = Intents(intents.scope, self._tell)
        self._changing = asyncio.Lock()
        self._testing: asyncio.Task[None] | None = None
        self._ticks: tuple[Tick, ...] = ()
        start, editor = self._intents.start, self._editor
        editor.saved.connect(lambda form: self._change(lambda: self._save(form), "save provider"))
        editor.test_requested.connect(self._begin_test)
        editor.stop_requested.connect(self._stop_test)
        editor.models_requested.connect(lambda form: start(self._list(form), "list models"))
        editor.remove_requested.connect(
            lambda name: self._change(lambda: self._remove(name), "remove provider")
        )
        editor.use_requested.connect(lambda label: self._change(lambda: self.use(label), "use provider"))
        self._page.look_requested.connect(lambda: start(self.look(self._page.found), "find local servers"))
        self._page.found.add_requested.connect(
            lambda server: self._change(lambda: self.take(server), "add a local server")
        )
        self._page.provider_chosen.connect(lambda _: self._stop_test())

    def _change(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Begin a change of the providers; one at a time, in the order they were asked for."""

        async def in_turn() -> None:
            async with self._changing:
                await work()

        self._intents.start(in_turn(), name)

    def _tell(self, error: HelixError) -> None:
        """Errors of this page stand in it."""
        self._editor.show_checks([CheckLine(error.what, "failed", f"{error.why} {error.fix}".strip())])

    async def show(self) -> None:
        """Show the providers as they are now."""
        self._page.use_catalogue(self._desk.models.catalogue)
        await self.refresh()

    async def refresh(self) -> None:
        """Show the list anew; what is chosen stays chosen."""
        forms, states = [_DEMO_FORM], [ProviderStatus(DEMO, self._in_use(DEMO), "none", "")]
        for provider in self._desk.settings.providers:
            state = await self._desk.key_state(provider.name)
            place = _PLACES.get(state.place, "none")
            forms.append(form_of(provider))
            states.append(ProviderStatus(provider.name, self._in_use(provider.name), place, state.text))
        self._page.show_providers(forms, states)

    def _in_use(self, name: str) -> bool:
        room = self._desk.rooms.get(self._shell.active)
        if room is not None:
            return room.model.info.provider == name
        return (self._desk.settings.model.partition("/")[0] or DEMO) == name

    async def _save(self, form: ProviderForm) -> None:
        provider = provider_of(form)
        settings = self._desk.settings
        if provider.name != form.id and (provider.name == DEMO or settings.provider(provider.name)):
            raise HelixError(f"There is a provider {provider.name} already.", fix="Choose another name.")
        used = self._in_use(form.id or provider.name)
        names = {role: followed(getattr(settings, role), form.id, provider) for role in MODEL_ROLES}
        if form.id and form.id != provider.name:
            settings = settings.without_provider(form.id)
        if form.id:
            self._follow(form.id, provider)
        if form.key:
            await self._desk.keep_key(provider.name, form.key)
        changed = msgspec.structs.replace(settings, **names, run_keys=self._desk.settings.run_keys)
        await self._desk.save_settings(changed.with_provider(provider))
        if used:
            await self.use(self._model_in_use(provider))
        else:
            await self._shell.work.show_model()
        await self.refresh()
        self._choose(provider.name)
        self._stop_test()
        if self._testing is not None:
            await asyncio.wait((self._testing,))  # its last words would cover ours
        lines = [CheckLine("Saved", "ok", provider.name)]
        if form.id not in ("", provider.name) and not form.key:
            lines.append(CheckLine("Key", "failed", f"It is kept for {form.id}: type it once more."))
        self._editor.show_checks(lines)

    def enter_key(self, name: str) -> None:
        """Choose a provider and give the keyboard to its key."""
        self._choose(name)
        self._editor.focus_key()

    def _choose(self, name: str) -> None:
        names = [DEMO, *(one.name for one in self._desk.settings.providers)]
        if name in names:  # else it was removed meanwhile
            self._page.list.setCurrentRow(names.index(name))

    def _model_in_use(self, provider: Provider) -> str:
        """The label of the model that answers here, as long as the provider still has it."""
        room = self._desk.rooms.get(self._shell.active)
        model = room.model.info.name if room is not None else ""
        kept = model in {entry.name for entry in provider.models}
        return f"{provider.name}/{model if kept else provider.chosen()}"

    def _follow(self, former: str, provider: Provider | None) -> None:
        """Let a changed provider's models work where the former's did; where it is gone, the usual ones."""
        for record in self._desk.registry.listed():
            labels = {role: str(getattr(record, role)) for role in MODEL_ROLES}
            names = {role: followed(label, former, provider) for role, label in labels.items()}
            if names != labels:
                self._desk.registry.change(record.id, **names)

    async def use(self, label: str) -> None:
        """Let a model answer in the workspace on screen; `label` may be a provider's name alone."""
        name = label.partition("/")[0]
        provider = self._desk.settings.provider(name)
        wanted = f"{name}/{provider.chosen(label.partition('/')[2])}" if provider else ""
        if self._shell.active:
            await self._desk.use_model(self._shell.active, wanted or "demo/offline")
        if not self._shell.active or name != DEMO:
            await self._desk.save_settings(msgspec.structs.replace(self._desk.settings, model=wanted))
        self._shell.work.model_chosen.emit()
        await self._shell.work.show_model()
        await self.refresh()

    async def _remove(self, name: str) -> None:
        self._follow(name, None)
        await self._desk.save_settings(self._desk.settings.without_provider(name))
        await self._desk.keep_key(name, "")
        await self._shell.work.show_model()
        await self.refresh()

    async def _list(self, form: ProviderForm) -> None:
        self._editor.show_checks([CheckLine("Models", "running", "asking the server")])
        offered = await self._desk.models.offered(provider_of(form), form.key)
        self._editor.offer(offered)
        more = "Check those to add." if offered else "Load one there first."
        self._editor.show_checks([CheckLine("Models", "ok", f"{len(offered):,} offered. {more}")])

    def _begin_test(self, form: ProviderForm) -> None:
        self._stop_test()
        self._testing = self._intents.start(self._test(form, self._testing), "test provider")

    def _stop_test(self) -> None:
        if self._testing is not None and not self._testing.done():
            self._testing.cancel()

    async def _test(self, form: ProviderForm, former: asyncio.Task[None] | None) -> None:
        """Five ticks, live; then what the server says now of its models: a local one has loaded one."""
        if former is not None:
            await asyncio.wait((former,))  # its last words would cover ours
        chosen = self._editor.models.chosen
        model = chosen if chosen in {entry.name for entry in form.models} else form.usual
        provider = provider_of(form)
        self._editor.show_testing(True)
        try:
            await self._desk.models.test(provider, model, form.key, self._show_ticks)
            self._editor.models.offer(await self._desk.models.offered(provider, form.key))
        except asyncio.CancelledError:
            self._show_ticks(tuple(_stopped(tick) for tick in self._ticks))
            raise
        except HelixError:
            return  # the ticks have said it
        finally:
            self._editor.show_testing(False)

    def _show_ticks(self, ticks: tuple[Tick, ...]) -> None:
        self._ticks = ticks
        self._editor.show_ticks(ticks)

    async def look(self, shown: FoundServers) -> None:
        """Look for model servers on this machine's usual ports."""
        shown.show_looking()
        servers = await self._desk.models.nearby()
        shown.show_servers(servers, [one.base_url for one in self._desk.settings.providers])

    async def begin_with(self, server: FoundServer, shown: FoundServers) -> None:
        """Add a server that was found on the first run: its model answers from now on, in all workspaces."""
        async with self._changing:
            provider = found_provider(server, self._desk.settings)
            label = f"{provider.name}/{provider.chosen()}"
            settings = self._desk.settings.with_provider(provider)
            await self._desk.save_settings(msgspec.structs.replace(settings, model=label))
        shown.show_words(f"{label} answers from now on. Open a folder to begin.")

    async def take(self, server: FoundServer) -> None:
        """Add a server that was found, with all its models; the loaded one is the usual one."""
        provider = found_provider(server, self._desk.settings)
        await self._desk.save_settings(self._desk.settings.with_provider(provider))
        await self.refresh()
        self._choose(provider.name)
        self._page.found.hide()
        self._editor.show_checks([CheckLine("Added", "ok", provider.name)])


def followed(label: str, former: str, provider: Provider | None) -> str:
    """A model's label after its provider has changed: the same model if it still has it, else its usual one.

    Empty when the provider is gone; labels of others stay as they are.
    """
    owner, _, model = label.partition("/")
    if not former or owner != former:
        return label
    if provider is None:
        return ""
    kept = model if model in {entry.name for entry in provider.models} else provider.chosen()
    return f"{provider.name}/{kept}"


def found_provider(server: FoundServer, settings: Settings) -> Provider:
    """A provider made of a server that was found; of its own name, or of one with a number."""
    base = re.sub(r"[\s/]+", "-", server.title).lower()
    taken = {one.name for one in settings.providers} | {DEMO}
    names = (base, *(f"{base}-{number}" for number in range(2, 100)))
    name = next((one for one in names if one not in taken), base)
    models = tuple(
        ModelEntry(name=model.name, told=model.figures, told_by=model.source) for model in server.models
    )
    loaded = next((model.name for model in server.models if model.loaded), "")
    usual = loaded or next((model.name for model in server.models), "")
    return Provider(name=name, base_url=server.base_url, models=models, default_model=usual)


def form_of(provider: Provider) -> ProviderForm:
    """A provider as it is filled in."""
    usual = provider.default_model or next((entry.name for entry in provider.models), "")
    entries = provider.models
    if usual and usual not in {entry.name for entry in entries}:
        entries = (ModelEntry(name=usual), *entries)
    return ProviderForm(provider.name, provider.name, provider.base_url, provider.dialect, entries, usual)


def provider_of(form: ProviderForm) -> Provider:
    """The provider that a form describes; name and models may still be missing. Raises HelixError."""
    name = re.sub(r"[\s/]+", "-", form.name.strip()).lower() or _NAMELESS
    faults = provider_faults(form)
    wrong = [words for field, words in faults.items() if field not in ("name", "models")]
    if wrong:
        raise HelixError("This cannot be used yet.", " ".join(wrong))
    return Provider(
        name=name,
        base_url=form.base_url.strip(),
        models=form.models,
        default_model=form.usual,
        dialect=form.dialect,
    )


def _stopped(tick: Tick) -> Tick:
    if tick.state not in {"waiting", "running"}:
        return tick
    return Tick(tick.name, "skipped", _STOPPED)
