"""The provider page: which models there are, how they are reached, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import QApplication, QListWidget, QListWidgetItem, QMenu, QWidget

from helix_desktop.config.model_catalog import ModelCatalog, Vendor
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.provider_changes import DEMO, DEMO_LABEL, ProviderChanges
from helix_desktop.services.provider_check import CheckStep
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import FlowBox, column, pane, row
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.onboarding.pages import FoundServerList
from helix_desktop.ui.settings.app_settings import ROLES, role_reasons
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.providers.editor import CheckNotice, ProviderEditor
from helix_desktop.ui.settings.providers.models import (
    EMPTY_DRAFT,
    ProviderDraft,
    ProviderStatus,
    provider_name,
)
from helix_desktop.words.model_names import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
_LINE_PX, _LINES = 32, 4
_ID = int(Qt.ItemDataRole.UserRole)


@dataclass(slots=True)
class _Entry:
    """A provider as it is saved, what is edited of it and not saved, and what was saved when that began."""

    saved: ProviderDraft
    status: ProviderStatus
    draft: ProviderDraft | None = None
    edited_from: ProviderDraft | None = None


class ProvidersPage(Themed, QWidget):
    def __init__(self, session: Session) -> None:
        """Start with an empty list. No server is contacted before a button is pressed."""
        super().__init__()
        self._session, self._services = session, session.app
        self._async_actions = AsyncActions(session.actions.scope, self._show_error)
        self._changes, self._change_lock = ProviderChanges(session.app), asyncio.Lock()
        self._test_task: asyncio.Task[None] | None = None
        self._steps: tuple[CheckStep, ...] = ()
        self._entries: dict[str, _Entry] = {}
        self._edited_key = ""  # of the provider whose fields the editor has
        self._new_count = 0
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName(tr("Providers"))
        self.list.setIconSize(QSize(16, 16))
        # Not what is current: that is what Tab came to, and changes before what a click selects.
        self.list.itemSelectionChanged.connect(self._show_selected)
        self.editor = ProviderEditor()
        self.editor.edited.connect(self._keep_draft)
        self.editor.discarded.connect(self._discard)
        self.editor.edit_kept.connect(self._keep_edit)
        self.found_servers = FoundServerList()
        self._menu = QMenu(self)
        add = PushButton(tr("Add provider"), "", "plus", name="add_provider")
        add.setMenu(self._menu)
        start, editor, change = self._async_actions.start, self.editor, self._run_change
        scan = PushButton(tr("Find local servers"), "", "search", name="find_servers")
        scan.clicked.connect(lambda: start(self.scan(self.found_servers), "find local servers"))
        tip = tr("Make it the default model of this workspace")
        self._use_demo_button = PushButton(tr("Use in this workspace"), name="use_demo", tip=tip)
        self._use_demo_button.clicked.connect(lambda: editor.use_requested.emit(self._selected_id()))
        words = tr(
            "A built-in script that works on the sample project with the real tools. It needs no key and "
            "no network. It can't answer questions: choose another model for that."
        )
        of_demo = label(words, "muted", wrap=True), row(self._use_demo_button, None), None
        self._demo = pane(column(*of_demo, gap=10))
        page, _ = scrolling_page(
            tr("Model providers"),
            tr("A key is sent only to its own server. Proxy and certificates are those of the system."),
            column(self.list, FlowBox([add, scan]), self.found_servers, 8, self.editor, self._demo, gap=8),
        )
        self.setLayout(column(page, self.editor.footer, gap=0))
        self._show_editor(False)
        self._use_demo_button.hide()
        self.show_scope(has_workspace=True)
        self.set_catalog(ModelCatalog())
        editor.saved.connect(lambda form: change(lambda: self._save(form), "save"))
        editor.test_requested.connect(self._start_test)
        editor.stop_requested.connect(self._stop_test)
        editor.server_edited.connect(self._drop_test)
        editor.models_requested.connect(lambda form: start(self._list_models(form), "list models"))
        editor.remove_requested.connect(lambda name: change(lambda: self._remove(name), "remove"))
        editor.use_requested.connect(lambda label: change(lambda: self._choose(label), "use"))
        self.found_servers.add_requested.connect(
            lambda server: change(lambda: self._add_server(server), "add")
        )

    def _show_selected(self) -> None:
        for item in self.list.selectedItems():
            key = str(item.data(_ID))
            entry = self._entries[key]
            form, left, before = entry.saved, self._edited_key, self._entries.get(self._edited_key)
            self._keep_draft()
            if left != key and before is not None and not (before.saved.id or before.draft):
                self._forget_new(left)  # nothing was typed of it
            self._show_editor(not form.demo)
            self._use_demo_button.setVisible(form.demo and not entry.status.in_use)
            if key == self._edited_key and self.editor.has_unsaved_edits():
                self.editor.update_form(form)
            elif not form.demo:
                self._edited_key = key
                self.editor.taken_names = {other.saved.id for other in self._entries.values()} - {form.id, ""}
                self.editor.show_provider(replace(form, key=""), entry.status, entry.draft)
            self.editor.show_conflict(entry.draft is not None and not self.is_edited_from(form))
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
        self._menu.addAction(tr("Other server"), self.add).setObjectName("another_server")
        self.editor.set_catalog(catalog)

    def show_scope(self, has_workspace: bool) -> None:
        """Say whether a workspace is on screen, whose default model is chosen here."""
        self._has_workspace = has_workspace
        self.editor.show_scope(has_workspace)

    def show_providers(self, forms: Sequence[ProviderDraft], states: Sequence[ProviderStatus]) -> None:
        """Show these providers; the chosen one and all unsaved edits stay, at first it is the one in use."""
        self._keep_draft()
        selected_id, entries = self._selected_id(), dict[str, _Entry]()
        for form, status in zip(forms, states, strict=True):
            entry = entries[form.id] = self._entries.get(form.id) or _Entry(form, status)
            entry.saved, entry.status = form, status
        new = {key: entry for key, entry in self._entries.items() if not entry.saved.id and entry.draft}
        self._entries = entries | new
        with QSignalBlocker(self.list):  # rows stay: Qt crashed where a screen reader held one that went
            self.list.setCurrentRow(-1)
            while self.list.count() > len(self._entries):
                self.list.takeItem(self.list.count() - 1)
            for place, key in enumerate(self._entries):
                if place == self.list.count():
                    self._add_row(key)
                item = self.list.item(place)
                item.setText(self._row_text(key))
                item.setData(_ID, key)
        self._fit_list()
        used = next((state.id for state in states if state.in_use), "")
        names = list(self._entries)
        rows = (names.index(name) for name in (selected_id, used) if name in names)
        self.list.setCurrentRow(next(rows, 0))

    def _add_row(self, key: str) -> None:
        item = QListWidgetItem(self._row_text(key))
        item.setData(_ID, key)
        self.list.addItem(item)

    def _fit_list(self) -> None:
        for place in range(self.list.count()):
            item = self.list.item(place)
            sign = "play" if self._entries[item.data(_ID)].saved.demo else "server"
            item.setIcon(icon(sign, self._theme.muted, 16))
            item.setSizeHint(QSize())
            # Without a width of its own, a line is as wide as the list, and cut where it is longer.
            item.setSizeHint(QSize(1, self.list.sizeHintForRow(place)))
        line = max(_LINE_PX, self.list.sizeHintForRow(0))
        self.list.setFixedHeight(min(_LINES, max(1, self.list.count())) * line + 12)

    def _row_text(self, key: str) -> str:
        entry = self._entries[key]
        form = entry.draft or entry.saved
        used = tr("workspace default") if self._has_workspace else tr("default")
        words = (
            form.name or tr("New provider"),
            "" if form.demo else form.default_model,
            used if entry.status.in_use else "",
            tr("not saved") if entry.draft else "",
        )
        return " · ".join(word for word in words if word)

    def _row_of(self, key: str) -> int:
        rows = range(self.list.count())
        return next((row for row in rows if self.list.item(row).data(_ID) == key), -1)

    def _keep_draft(self) -> None:
        """Keep what is edited and not saved of the provider in the editor, and say so in the list."""
        entry = self._entries.get(self._edited_key)
        if entry is None:
            return
        if self.editor.has_unsaved_edits():
            entry.draft, entry.edited_from = self.editor.form(), entry.edited_from or entry.saved
        else:
            entry.draft = entry.edited_from = None
        if (row_number := self._row_of(self._edited_key)) >= 0:
            self.list.item(row_number).setText(self._row_text(self._edited_key))

    def _forget_new(self, key: str) -> None:
        del self._entries[key]
        self.list.takeItem(self._row_of(key))
        self._fit_list()

    def _discard(self) -> None:
        key, entry = self._edited_key, self._entries[self._edited_key]
        entry.draft = entry.edited_from = None
        self._edited_key = ""
        if entry.saved.id:
            self.list.item(self._row_of(key)).setText(self._row_text(key))
            self._show_selected()
        else:
            self._forget_new(key)

    def has_unsaved_edits(self) -> bool:
        self._keep_draft()
        return any(entry.draft for entry in self._entries.values())

    def _keep_edit(self) -> None:
        """Let what is edited replace what was saved elsewhere meanwhile."""
        entry = self._entries[self._edited_key]
        entry.edited_from = entry.saved

    def is_edited_from(self, form: ProviderDraft) -> bool:
        """Return True if a saved provider is as it was when the user began to edit it."""
        entry = self._entries.get(form.id)
        before = entry.edited_from if entry is not None else None
        return before is None or before.without_tests() == form.without_tests()

    def note_saved(self, form: ProviderDraft, saved: ProviderDraft) -> None:
        """Know that what was filled in is saved, and as what; what was typed since stays."""
        for key, entry in self._entries.items():
            if key == form.id:
                entry.saved, entry.edited_from = saved, None
            if entry.draft == form:
                entry.draft = entry.edited_from = None
        if form == self.editor.form() or (form.id and form.id == self._edited_key):
            self.editor.note_saved(form)

    def add(self) -> None:
        self._start_editing(EMPTY_DRAFT)

    def add_vendor(self, vendor: Vendor) -> None:
        """Begin a provider with what is known of a vendor, so that only its key is missing."""
        models = tuple(ModelEntry(name=name) for name in vendor.begin)
        default = vendor.begin[0] if vendor.begin else ""
        self._start_editing(ProviderDraft("", vendor.name, vendor.base_url, vendor.dialect, models, default))
        self.editor.key.setPlaceholderText(tr("Paste the key") if vendor.key else tr("Not needed"))

    def add_key(self, key: str) -> None:
        """Begin a provider with a key; if that tells its vendor, all is ready for a test."""
        vendor = self._services.models.catalog.vendor_of_key(key)
        if vendor is None:
            self.add()
        else:
            self.add_vendor(vendor)
        self.editor.enter_key(key, is_ready=vendor is not None)

    def _start_editing(self, form: ProviderDraft) -> None:
        self._new_count += 1
        key = f" {self._new_count}"  # no provider's name has a space
        notes = (entry.status.new_key_note for entry in self._entries.values())
        self._entries[key] = _Entry(form, ProviderStatus("", False, "none", next(filter(None, notes), "")))
        self._add_row(key)
        self._fit_list()
        self.list.setCurrentRow(self._row_of(key))
        self.editor.focus_first_empty()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._fit_list()

    def _selected_id(self) -> str:
        item = self.list.currentItem()
        return str(item.data(_ID)) if item is not None else ""

    def _show_editor(self, visible: bool) -> None:
        for part in (self.editor, self.editor.footer):
            part.setVisible(visible)
        self._demo.setVisible(not visible)

    def _run_change(self, operation: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Begin a change of the providers; one at a time, in the order they were asked for."""

        async def in_turn() -> None:
            async with self._change_lock:
                await operation()

        self._async_actions.start(in_turn(), f"{name} provider")

    def _show_error(self, error: HelixError) -> None:
        detail = translate(join_sentences(error.why, error.fix))
        notice = CheckNotice(translate(error.what), "failed", detail, translate(error.details))
        self.editor.check_view.show_notices([notice])

    async def refresh(self) -> None:
        self.set_catalog(self._services.models.catalog)
        forms = [ProviderDraft(DEMO, demo_model_name(), "", demo=True)]
        states = [ProviderStatus(DEMO, self._in_use(DEMO), "none")]
        for provider in self._services.settings.providers:
            state = await self._services.key_status(provider.name)
            forms.append(ProviderDraft.of(provider))
            in_use, value_of = self._in_use(provider.name), self._services.secrets.secret_header
            names = [name for name in provider.secret_headers if await value_of(provider.name, "", name)]
            key_notes = state.source, state.text, state.new_key_text
            states.append(ProviderStatus(provider.name, in_use, *key_notes, frozenset(names)))
        self.show_scope(bool(self._session.workspace_id))
        self.show_providers(forms, states)

    def _in_use(self, name: str) -> bool:
        workspace = self._session.opened
        if workspace is not None:
            return workspace.model.info.provider == name
        return (self._services.settings.model.partition("/")[0] or DEMO) == name

    async def _save(self, form: ProviderDraft) -> None:
        provider = form.provider()
        settings, focused = self._services.settings, QApplication.focusWidget()
        stored = settings.provider(form.id)
        if stored is not None and not self.is_edited_from(ProviderDraft.of(stored)):
            await self.refresh()  # which says so: the user decides
            return
        used, roles_before = self._in_use(form.id or provider.name), settings.catalog_roles
        is_first = not settings.model  # the demo model answers
        await self._changes.save(
            provider, form.id, form.key, form.secret_headers, removes_key=form.removes_key
        )
        self.note_saved(form, ProviderDraft.of(provider))
        if used:
            workspace = self._session.opened
            model = workspace.model.info.name if workspace is not None else ""
            is_listed = model in {entry.name for entry in provider.models}
            await self.use(f"{provider.name}/{model if is_listed else provider.resolve_model_name()}")
        elif is_first:
            await self._use_by_default(provider)
        else:
            await self._session.show_model()
        await self.refresh()
        self.select(provider.name)
        if focused is not None and self.isAncestorOf(focused):
            refocus(focused)  # a new one was away while the list changed
        self._stop_test()
        if self._test_task is not None:
            await asyncio.wait((self._test_task,))  # its last words would cover ours
        lines = [CheckNotice(tr("Saved"), "ok", provider.name), *self._role_notices(roles_before)]
        if is_first:
            lines.append(self._first_notice())
        if form.id not in ("", provider.name) and not form.key:
            detail = tr("The key belongs to the old name {name}. Enter it again.", name=form.id)
            lines.append(CheckNotice(tr("API key"), "failed", detail))
        self.editor.check_view.show_notices(lines)

    def _role_notices(self, roles_before: Sequence[str]) -> list[CheckNotice]:
        settings, names = self._services.settings, {role: name for role, name, _ in ROLES}
        reasons = role_reasons(settings, self._services.models.catalog)
        return [
            CheckNotice(translate(names[role]), "ok", f"{getattr(settings, role)} · {reason}")
            for role, reason in reasons.items()
            if role not in roles_before and getattr(settings, role)
        ]

    def enter_key(self, name: str) -> None:
        self.select(name)
        self.editor.key.setFocus(Qt.FocusReason.OtherFocusReason)

    def select(self, name: str) -> None:
        if (place := self._row_of(name)) >= 0:
            self.list.setCurrentRow(place)

    async def _choose(self, label: str) -> None:
        typed, slash, model = label.partition("/")
        if self.editor.has_unsaved_edits() and self.editor.form().name == typed:
            return  # they could not be saved, which the page says
        await self.use(f"{provider_name(typed)}{slash}{model}")
        self.editor.check_view.show_notices([self._default_notice()])

    def _default_notice(self) -> CheckNotice:
        workspace = self._session.opened
        if workspace is not None:
            label, default = workspace.model.info.label, self._services.settings.model
            text = tr("{model} is now the default model of this workspace.", model=label)
            name, others = default or demo_model_name(), tr("New workspaces start with it too.")
            if label != (default or DEMO_LABEL):
                others = tr(
                    "New workspaces start with {model}, as set in Settings → Model roles.", model=name
                )
            return CheckNotice(tr("Model"), "ok", f"{text} {others}")
        return CheckNotice(tr("Model"), "ok", _new_default_text(self._services.settings.model))

    def _first_notice(self) -> CheckNotice:
        """Say what the first model is the default of; a workspace with a model of its own keeps that one."""
        workspace, label = self._session.opened, self._services.settings.model
        if workspace is None or workspace.model.info.label == label:
            return self._default_notice()
        own = model_name(workspace.model.info.label, workspace.model.info.demo)
        words = tr("{model} is now the default model. This workspace still uses {own}.", model=label, own=own)
        return CheckNotice(tr("Model"), "ok", words)

    async def _use_by_default(self, provider: Provider) -> None:
        """Let the first model that is set up answer wherever no other is chosen: else the demo would."""
        await self._changes.use("", f"{provider.name}/{provider.resolve_model_name()}")
        await self._session.show_model()

    async def use(self, label: str) -> None:
        """Let a model answer in the workspace on screen; `label` may be a provider's name alone."""
        await self._changes.use(self._session.workspace_id, label)
        await self._accept_model()
        await self._session.show_model()
        await self.refresh()

    async def _accept_model(self) -> None:
        """Let the workspace's model continue the session on screen; what was asked is answered on record."""
        workspace, conversation = self._session.opened, self._session.find_conversation()
        if workspace is None or conversation is None:
            return
        if conversation.model_choice.pending is not None:
            await workspace.choose_model(conversation.session.id, "")
        else:
            conversation.model_choice.accept()

    async def _remove(self, name: str) -> None:
        await self._changes.remove(name)
        await self._session.show_model()
        await self.refresh()

    async def _list_models(self, form: ProviderDraft) -> None:
        self.editor.check_view.show_notices([CheckNotice(tr("Models"), "running", tr("Asking the server…"))])
        server = self._shown_server()
        offered = await self._services.models.list_models(form.provider(), form.key, form.secret_headers)
        if self._shown_server() != server:
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

    def _shown_server(self) -> tuple[str, str, str]:
        form = self.editor.form()
        return form.id, form.base_url, form.dialect

    def _start_test(self, form: ProviderDraft) -> None:
        self._drop_test()
        self._test_task = self._async_actions.start(self._test(form, self._test_task), "test provider")

    def _stop_test(self) -> None:
        if self._test_task is not None and not self._test_task.done():
            self._test_task.cancel()

    def _drop_test(self) -> None:
        """End a test without a word: another one begins, or its server is not in the fields any more."""
        self._steps = ()
        self._stop_test()

    async def _test(self, form: ProviderDraft, previous_test: asyncio.Task[None] | None) -> None:
        """Five ticks, live; then what the server says now of its models: a local one has loaded one."""
        if previous_test is not None:
            await asyncio.wait((previous_test,))  # its end would pass for ours
        selected = self.editor.models.selected_model
        model = selected if selected in {entry.name for entry in form.models} else form.default_model
        provider = form.provider()
        self.editor.show_testing(True)
        try:
            models, secrets = self._services.models, form.secret_headers
            await models.test(provider, model, form.key, self._show_steps, secrets)
            for step in self._steps:
                if step.has_tools is not None:
                    self.editor.models.show_tool_test(model, step.has_tools)
                    save = partial(self._save_tool_test, form, model, step.has_tools)
                    self._run_change(save, "save")
            self.editor.models.set_offered(await models.list_models(provider, form.key, secrets))
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

    async def _save_tool_test(self, form: ProviderDraft, model: str, has_tools: bool) -> None:
        """Save a test's result with the provider that was tested; what else is typed waits for Save."""
        if not form.id:
            return
        tested = replace(form.provider(), name=form.id)
        provider = await self._changes.save_tool_test(tested, model, has_tools)
        if provider is not None:  # the fields on screen stay as they are
            saved = ProviderDraft.of(provider)
            if saved.id in self._entries:
                self._entries[saved.id].saved = saved
            self.editor.update_form(saved)

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
        """Add a server that was found, with all its models; the loaded one is the usual one.

        While no model is the default, its model becomes that, as of a provider that is saved.
        """
        is_first = not self._services.settings.model
        provider = await self._changes.add_server(server)
        if is_first:
            await self._use_by_default(provider)
        await self.refresh()
        self.select(provider.name)
        self.found_servers.hide()
        added = CheckNotice(tr("Added"), "ok", provider.name)
        self.editor.check_view.show_notices([added, self._first_notice()] if is_first else [added])


def _new_default_text(label: str) -> str:
    return tr("{model} is now the default model. Open a folder to start.", model=label)
