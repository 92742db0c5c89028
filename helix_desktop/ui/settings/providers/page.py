"""The provider page: which models there are, how they are reached, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace
from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QMenu, QWidget

from helix_desktop.config.model_catalog import ModelCatalog, Vendor
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.provider_changes import (
    DEMO,
    DEMO_LABEL,
    ProviderChanges,
    ProviderEdit,
    ProviderSnapshot,
)
from helix_desktop.services.provider_check import CheckStep
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import FlowBox, column, pane, row
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.onboarding.pages import FoundServerList
from helix_desktop.ui.settings.page_layout import SettingsFileLine, UndoLine, scrolling_page
from helix_desktop.ui.settings.providers.editor import CheckNotice, NewServer, ProviderEditor
from helix_desktop.ui.settings.providers.models import ShownProvider, provider_name, without_model
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
_LINE_PX = 32
_LINES = 4
_ID = int(Qt.ItemDataRole.UserRole)


class ProvidersPage(Themed, QWidget):
    def __init__(self, session: Session) -> None:
        """Start with an empty list. No server is contacted before a button is pressed."""
        super().__init__()
        self._session = session
        self._services = session.app
        self._async_actions = AsyncActions(session.actions.scope, self._show_error)
        self._changes = ProviderChanges(session.app)
        self._change_lock = asyncio.Lock()
        self._test_task: asyncio.Task[None] | None = None
        self._steps: tuple[CheckStep, ...] = ()
        self._shown: dict[str, ShownProvider] = {}
        self._edited_name = ""  # of the provider whose fields the editor has
        self._snapshot: ProviderSnapshot | None = None
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName(tr("Providers"))
        self.list.setIconSize(QSize(16, 16))
        # Not what is current: that is what Tab came to, and changes before what a click selects.
        self.list.itemSelectionChanged.connect(self._show_selected)
        self.editor = editor = ProviderEditor()
        self.new_server = NewServer()
        self.found_servers = FoundServerList()
        self.undo_line = UndoLine(lambda: self._run_change(self._undo, "restore"), "undo_provider")
        self._menu = QMenu(self)
        add = PushButton(tr("Add provider"), "", "plus", name="add_provider")
        add.setMenu(self._menu)
        start = self._async_actions.start
        change = self._run_change
        scan = PushButton(tr("Find local servers"), "", "search", name="find_servers")
        scan.clicked.connect(lambda: start(self.scan(self.found_servers), "find local servers"))
        tip = tr("Make it the default model of this workspace")
        self._use_demo_button = PushButton(tr("Use in this workspace"), name="use_demo", tip=tip)
        self._use_demo_button.clicked.connect(lambda: editor.use_requested.emit(self._selected_name()))
        words = tr(
            "A built-in script that works on the sample project with the real tools. It needs no key and "
            "no network. It can't answer questions: choose another model for that."
        )
        of_demo = label(words, "muted", wrap=True), row(self._use_demo_button, None), None
        self._demo = pane(column(*of_demo, gap=10))
        self.file_line = SettingsFileLine(session, _extras_text(()))
        adding = FlowBox([add, scan])
        parts = self.list, self.undo_line, adding, self.new_server, self.found_servers
        body = column(*parts, 8, editor, self._demo, 8, self.file_line, gap=8)
        page, _ = scrolling_page(
            tr("Model providers"),
            tr("A key is sent only to its own server. Proxy and certificates are those of the system."),
            body,
        )
        self.setLayout(column(page))
        self._show_editor(False)
        self._use_demo_button.hide()
        self.show_scope(has_workspace=True)
        self.set_catalog(ModelCatalog())
        editor.edited.connect(lambda name, edit: change(lambda: self._edit(name, edit), "change"))
        editor.key_entered.connect(lambda name, key: change(lambda: self._save_key(name, key), "save"))
        editor.model_removed.connect(
            lambda name, model: change(lambda: self._remove_model(name, model), "change")
        )
        editor.test_requested.connect(self._start_test)
        editor.stop_requested.connect(self._stop_test)
        editor.server_edited.connect(self._drop_test)
        editor.models_requested.connect(lambda: start(self._list_models(), "list models"))
        editor.remove_requested.connect(lambda name: change(lambda: self._remove(name), "remove"))
        editor.use_requested.connect(lambda label: change(lambda: self._choose(label), "use"))
        self.new_server.add_requested.connect(
            lambda address, key: change(lambda: self._add(_provider_at(address), key), "add")
        )
        self.found_servers.add_requested.connect(
            lambda server: change(lambda: self._add_server(server), "add")
        )

    def _show_selected(self) -> None:
        for item in self.list.selectedItems():
            name = str(item.data(_ID))
            shown = self._shown[name]
            self._show_editor(shown.provider is not None)
            self._use_demo_button.setVisible(shown.provider is None and not shown.in_use)
            if shown.provider is not None:
                is_other = name != self._edited_name
                self._edited_name = name
                self.editor.values.taken_names = self._shown.keys() - {name}
                self.editor.show_provider(shown, is_other=is_other)
                if is_other:
                    self._stop_test()

    def set_catalog(self, catalog: ModelCatalog) -> None:
        self._menu.clear()
        for needs_key in (True, False):
            for vendor in catalog.vendors:
                if vendor.key is needs_key:
                    action = self._menu.addAction(vendor.title)
                    action.setObjectName(f"vendor:{vendor.name}")
                    action.triggered.connect(lambda _=False, vendor=vendor: self.add_vendor(vendor))
            self._menu.addSeparator()
        other = self._menu.addAction(tr("Other server"))
        other.setObjectName("another_server")
        other.triggered.connect(lambda _=False: self.add())
        self.editor.set_catalog(catalog)

    def show_scope(self, has_workspace: bool) -> None:
        """Say whether a workspace is on screen, whose default model is chosen here."""
        self._has_workspace = has_workspace
        self.editor.show_scope(has_workspace)

    def show_providers(self, providers: Sequence[ShownProvider]) -> None:
        """Show these providers; the chosen one stays, at first it is the one in use."""
        selected_name = self._selected_name()
        self._shown = {shown.name: shown for shown in providers}
        with QSignalBlocker(self.list):  # rows stay: Qt crashed where a screen reader held one that went
            self.list.setCurrentRow(-1)
            while self.list.count() > len(self._shown):
                self.list.takeItem(self.list.count() - 1)
            for place, name in enumerate(self._shown):
                if place == self.list.count():
                    self._add_row(name)
                item = self.list.item(place)
                item.setText(self._row_text(name))
                item.setData(_ID, name)
        self._fit_list()
        used = next((shown.name for shown in providers if shown.in_use), "")
        names = list(self._shown)
        rows = (names.index(name) for name in (selected_name, self._edited_name, used) if name in names)
        self.list.setCurrentRow(next(rows, 0))

    def _add_row(self, key: str) -> None:
        item = QListWidgetItem(self._row_text(key))
        item.setData(_ID, key)
        self.list.addItem(item)

    def _fit_list(self) -> None:
        for place in range(self.list.count()):
            item = self.list.item(place)
            sign = "play" if self._shown[item.data(_ID)].provider is None else "server"
            item.setIcon(icon(sign, self._theme.muted, 16))
            item.setSizeHint(QSize())
            # Without a width of its own, a line is as wide as the list, and cut where it is longer.
            item.setSizeHint(QSize(1, self.list.sizeHintForRow(place)))
        line = max(_LINE_PX, self.list.sizeHintForRow(0))
        self.list.setFixedHeight(min(_LINES, max(1, self.list.count())) * line + 12)

    def _row_text(self, name: str) -> str:
        shown = self._shown[name]
        used = tr("workspace default") if self._has_workspace else tr("default")
        title = demo_model_name()
        model = ""
        if shown.provider is not None:
            title = name
            model = shown.provider.default_model or next((it.name for it in shown.provider.models), "")
        return dotted((title, model, used if shown.in_use else ""))

    def _row_of(self, name: str) -> int:
        rows = range(self.list.count())
        return next((row for row in rows if self.list.item(row).data(_ID) == name), -1)

    def add(self, key: str = "") -> None:
        """Ask for the address of a new provider; `key` is what is known of it."""
        self.new_server.ask(key)

    def add_vendor(self, vendor: Vendor, key: str = "") -> None:
        """Add a provider with what is known of a vendor, so that only its key is missing."""
        models = tuple(ModelEntry(name=name) for name in vendor.begin)
        default = next(iter(vendor.begin), "")
        provider = Provider(
            name=vendor.name,
            base_url=vendor.base_url,
            dialect=vendor.dialect,
            models=models,
            default_model=default,
        )
        self._run_change(lambda: self._add(provider, key), "add")

    def add_key(self, key: str) -> None:
        """Add a provider with a key, which tells its vendor; else ask for its address."""
        vendor = self._services.models.catalog.vendor_of_key(key)
        if vendor is None:
            self.add(key)
        else:
            self.add_vendor(vendor, key)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._fit_list()

    def _selected_name(self) -> str:
        item = self.list.currentItem()
        return str(item.data(_ID)) if item is not None else ""

    def _show_editor(self, visible: bool) -> None:
        self.editor.setVisible(visible)
        self._demo.setVisible(not visible)

    def _run_change(self, operation: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Begin a change of the providers; one at a time, in the order they were asked for."""

        async def in_turn() -> None:
            async with self._change_lock:
                await operation()

        self._async_actions.start(in_turn(), f"{name} provider")

    def _show_error(self, error: HelixError) -> None:
        if self.editor.isHidden():
            self._session.actions.show_error(error)
            return
        detail = translate(join_sentences(error.why, error.fix))
        notice = CheckNotice(translate(error.what), "failed", detail, translate(error.details))
        self.editor.check_view.show_notices([notice])

    async def refresh(self) -> None:
        """Show what the file of the settings says now; what is typed and not done stays."""
        async with self._change_lock:  # a list that was read before a change would not have it
            error = await self._services.read_settings()
            self.file_line.show_errors([error] if error is not None else [])
            await self._show_stored()

    read_files = refresh

    async def _show_stored(self) -> None:
        self.set_catalog(self._services.models.catalog)
        shown = [ShownProvider(None, self._in_use(DEMO))]
        for provider in self._services.settings.providers:
            state = await self._services.key_status(provider.name)
            in_use = self._in_use(provider.name)
            shown.append(ShownProvider(provider, in_use, state.source, state.text))
        self.show_scope(bool(self._session.workspace_id))
        self.show_providers(shown)
        self.show_extras(self._services.settings.providers)

    def show_extras(self, providers: Sequence[Provider]) -> None:
        self.file_line.words.setText(_extras_text(providers))

    def _in_use(self, name: str) -> bool:
        workspace = self._session.opened
        if workspace is not None:
            return workspace.model.info.provider == name
        return (self._services.settings.model.partition("/")[0] or DEMO) == name

    async def _edit(self, name: str, edit: ProviderEdit) -> None:
        """Store a change of a provider; what the workspace on screen uses of it goes on there."""
        was_used = self._in_use(name)
        self.undo_line.hide()
        try:
            provider = await self._changes.change(name, edit)
        except HelixError:
            self._edited_name = ""  # what was not stored isn't shown as if it were
            await self._show_stored()
            raise
        if provider is None:
            await self._show_stored()
            return
        if name == self._edited_name:
            self._edited_name = provider.name
        await self._follow(provider.name, was_used=was_used)

    async def _follow(self, name: str, *, was_used: bool = False) -> None:
        """Show a provider as it is stored now; the first one that can answer does so from now on."""
        label = await self._changes.use_first(name)
        if was_used:
            await self._accept_model()
        await self._session.show_model()
        await self._show_stored()
        self.select(name)
        if label:
            self.editor.check_view.show_notices([self._first_notice()])

    async def _save_key(self, name: str, key: str) -> None:
        """Store a provider's key; an empty one goes, which can be undone."""
        snapshot = None if key else await self._changes.snapshot(name)
        await self._services.save_key(name, key)
        await self._follow(name)
        self._offer_undo(snapshot, tr("Removed the key of {name}.", name=name))

    async def _add(self, provider: Provider, key: str) -> None:
        added = await self._changes.add(provider, key)
        self.undo_line.hide()
        await self._follow(added.name)
        if key:
            self.editor.focus_test()
        else:
            self.editor.key.setFocus(Qt.FocusReason.OtherFocusReason)

    def _offer_undo(self, snapshot: ProviderSnapshot | None, words: str) -> None:
        self._snapshot = snapshot
        self.undo_line.say(words if snapshot is not None else "")

    async def _undo(self) -> None:
        self.undo_line.hide()
        if self._snapshot is not None:
            await self._changes.restore(self._snapshot)
            await self._session.show_model()
            await self._show_stored()
            self.select(self._snapshot.provider.name)

    async def _remove_model(self, name: str, model: str) -> None:
        snapshot = await self._changes.snapshot(name)
        await self._edit(name, partial(without_model, name=model))
        self._offer_undo(snapshot, tr("Removed {model}.", model=model))

    def enter_key(self, name: str) -> None:
        self.select(name)
        self.editor.key.setFocus(Qt.FocusReason.OtherFocusReason)

    def select(self, name: str) -> None:
        if (place := self._row_of(name)) >= 0:
            self.list.setCurrentRow(place)

    async def _choose(self, label: str) -> None:
        await self.use(label)
        self.editor.check_view.show_notices([self._default_notice()])

    def _default_notice(self) -> CheckNotice:
        workspace = self._session.opened
        if workspace is not None:
            label = workspace.model.info.label
            default = self._services.settings.model
            text = tr("{model} is now the default model of this workspace.", model=label)
            name = default or demo_model_name()
            others = tr("New workspaces start with it too.")
            if label != (default or DEMO_LABEL):
                others = tr(
                    "New workspaces start with {model}, as set in Settings → Model roles.", model=name
                )
            return CheckNotice(tr("Model"), "ok", f"{text} {others}")
        return CheckNotice(tr("Model"), "ok", _new_default_text(self._services.settings.model))

    def _first_notice(self) -> CheckNotice:
        """Say what the first model is the default of; a workspace with a model of its own keeps that one."""
        workspace = self._session.opened
        label = self._services.settings.model
        if workspace is None or workspace.model.info.label == label:
            return self._default_notice()
        own = model_name(workspace.model.info.label, workspace.model.info.demo)
        words = tr("{model} is now the default model. This workspace still uses {own}.", model=label, own=own)
        return CheckNotice(tr("Model"), "ok", words)

    async def use(self, label: str) -> None:
        """Let a model answer in the workspace on screen; `label` may be a provider's name alone."""
        await self._changes.use(self._session.workspace_id, label)
        await self._accept_model()
        await self._session.show_model()
        await self._show_stored()

    async def _accept_model(self) -> None:
        """Let the workspace's model continue the session on screen; what was asked is answered on record."""
        workspace = self._session.opened
        conversation = self._session.find_conversation()
        if workspace is None or conversation is None:
            return
        if conversation.model_choice.pending is not None:
            await workspace.choose_model(conversation.session.id, "")
        else:
            conversation.model_choice.accept()

    async def _remove(self, name: str) -> None:
        snapshot = await self._changes.snapshot(name)
        await self._changes.remove(name)
        await self._session.show_model()
        await self._show_stored()
        self._offer_undo(snapshot, tr("Removed {name}.", name=name))

    async def _list_models(self) -> None:
        self.editor.check_view.show_notices([CheckNotice(tr("Models"), "running", tr("Asking the server…"))])
        await self._wait_for_changes()
        provider = self.editor.provider
        offered = await self._services.models.list_models(provider)
        if not self._is_shown(provider):
            return  # the user went to another one meanwhile
        is_added = self.editor.show_offered(offered)
        if is_added:
            found = tr("The server has one model. It was added.")
        elif offered:
            found = tr.plural(
                len(offered),
                "%n model found. Select the models to add.",
                "%n models found. Select the models to add.",
            )
        else:
            found = tr("No models found. Load a model on the server first.")
        self.editor.check_view.show_notices([CheckNotice(tr("Models"), "ok", found)])

    async def _wait_for_changes(self) -> None:
        async with self._change_lock:
            return

    def _is_shown(self, provider: Provider) -> bool:
        """Return True if the editor still has a provider, and its server."""
        shown = self.editor.provider
        server = shown.base_url, shown.dialect
        return shown.name == provider.name and server == (provider.base_url, provider.dialect)

    def _start_test(self) -> None:
        self._drop_test()
        self._test_task = self._async_actions.start(self._test(self._test_task), "test provider")

    def _stop_test(self) -> None:
        if self._test_task is not None and not self._test_task.done():
            self._test_task.cancel()

    def _drop_test(self) -> None:
        """End a test without a word: another one begins, or its server is not in the fields any more."""
        self._steps = ()
        self._stop_test()

    async def _test(self, previous_test: asyncio.Task[None] | None) -> None:
        """Five ticks, live; then what the server says now of its models: a local one has loaded one."""
        if previous_test is not None:
            await asyncio.wait((previous_test,))  # its end would pass for ours
        await self._wait_for_changes()
        provider = self.editor.provider
        model = self.editor.models.selected_model
        self.editor.show_testing(True)
        try:
            models = self._services.models
            await models.test(provider, model, self._show_steps)
            for step in self._steps:
                if step.has_tools is not None:
                    tested = _tool_test(provider, model, step.has_tools)
                    self._run_change(partial(self._edit, provider.name, tested), "change")
            offered = await models.list_models(provider)
            if self._is_shown(provider):
                self.editor.models.set_offered(offered)
        except asyncio.CancelledError:
            if self._steps:
                self._show_steps(
                    tuple(
                        CheckStep(step.name, "skipped", tr("Stopped."))
                        if step.state in {"waiting", "running"}
                        else step
                        for step in self._steps
                    )
                )
            raise
        except HelixError:
            return  # the ticks have said it
        finally:
            self.editor.show_testing(False)

    def _show_steps(self, steps: tuple[CheckStep, ...]) -> None:
        self._steps = steps
        self.editor.check_view.show_steps(steps)

    async def scan(self, view: FoundServerList) -> None:
        view.show_scanning()
        servers = await self._services.models.find_local_servers()
        view.show_servers(servers, [provider.base_url for provider in self._services.settings.providers])

    async def add_and_use(self, server: LocalServer, view: FoundServerList) -> None:
        """Add a server that was found on the first run: its model answers from now on, in all workspaces."""
        async with self._change_lock:
            label = await self._changes.add_and_use_server(server)
        view.show_message(_new_default_text(label))

    async def _add_server(self, server: LocalServer) -> None:
        """Add a server that was found, with all its models; the loaded one is the usual one."""
        provider = await self._changes.add_server(server)
        self.found_servers.hide()
        self.undo_line.hide()
        await self._follow(provider.name)


def _extras_text(providers: Sequence[Provider]) -> str:
    """Return which headers and body fields the file of the settings adds to requests."""
    names = [name for provider in providers for name in _extra_names(provider)]
    unique = ", ".join(dict.fromkeys(names))
    if not unique:
        return tr("Extra headers, body fields and other figures of models are set in the file.")
    return tr("Requests have extra headers and fields from the file: {names}.", names=unique)


def _extra_names(provider: Provider) -> list[str]:
    """Return the names of the headers and body fields that are sent for a provider or one of its models."""
    names: list[str] = []
    for extras in (provider.extras(), *(entry.extras for entry in provider.models)):
        names += [*extras.headers, *extras.secret_headers, *extras.body]
    return names


def _tool_test(tested: Provider, model: str, has_tools: bool) -> ProviderEdit:
    """Return the change that keeps whether a model called a tool, if it is that of the tested server."""

    def edit(provider: Provider) -> Provider:
        is_same = (provider.base_url, provider.dialect) == (tested.base_url, tested.dialect)
        if not is_same or model not in {entry.name for entry in provider.models}:
            return provider
        return provider.with_entry(replace(provider.entry(model), tested_tools=has_tools))

    return edit


def _provider_at(address: str) -> Provider:
    """Return a provider for an address, named after its host."""
    host = urlsplit(address).hostname or ""
    is_own = host == "localhost" or host.replace(".", "").isdigit() or ":" in host
    return Provider(name="local" if is_own else provider_name(host), base_url=address)


def _new_default_text(label: str) -> str:
    return tr("{model} is now the default model. Open a folder to start.", model=label)
