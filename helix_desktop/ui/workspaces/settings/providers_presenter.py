"""Fills the provider page and does what it asks for: save, list, test, use, find local servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.provider_changes import DEMO, ProviderChanges
from helix_desktop.services.provider_check import CheckStep
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.onboarding.found_servers import FoundServerList
from helix_desktop.ui.session.model_menu import DEMO_LABEL
from helix_desktop.ui.settings.forms import (
    CheckNotice,
    ProviderForm,
    ProviderStatus,
    provider_name,
    validate_provider,
)
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.roles_page import ROLES, role_reasons
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.models import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")


class ProvidersPresenter:
    """Binds the provider page to the app services. No server is contacted before a button is pressed."""

    def __init__(self, page: ProvidersPage, window: MainWindow, session: Session) -> None:
        self._page, self._editor, self._services = page, page.editor, session.app
        self._welcome = window.welcome
        self._session = session
        self._async_actions = AsyncActions(session.actions.scope, self._show_error)
        self._changes, self._change_lock = ProviderChanges(session.app), asyncio.Lock()
        self._test_task: asyncio.Task[None] | None = None
        self._steps: tuple[CheckStep, ...] = ()
        start, editor = self._async_actions.start, self._editor
        editor.saved.connect(lambda form: self._run_change(lambda: self._save(form), "save"))
        editor.test_requested.connect(self._start_test)
        editor.stop_requested.connect(self._stop_test)
        editor.server_edited.connect(self._drop_test)
        editor.models_requested.connect(lambda form: start(self._list_models(form), "list models"))
        editor.remove_requested.connect(lambda name: self._run_change(lambda: self._remove(name), "remove"))
        editor.use_requested.connect(lambda label: self._run_change(lambda: self._choose(label), "use"))
        self._page.scan_requested.connect(
            lambda: start(self.scan(self._page.found_servers), "find local servers")
        )
        self._page.found_servers.add_requested.connect(
            lambda server: self._run_change(lambda: self.add(server), "add")
        )
        self._page.provider_chosen.connect(lambda _: self._stop_test())

    def _run_change(self, operation: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Begin a change of the providers; one at a time, in the order they were asked for."""

        async def in_turn() -> None:
            async with self._change_lock:
                await operation()

        self._async_actions.start(in_turn(), f"{name} provider")

    def _show_error(self, error: HelixError) -> None:
        """Errors of this page stand in it."""
        detail = translate(join_sentences(error.why, error.fix))
        notice = CheckNotice(translate(error.what), "failed", detail, translate(error.details))
        self._editor.show_notices([notice])

    async def show(self) -> None:
        """Show the providers as they are now."""
        self._page.set_catalog(self._services.models.catalog)
        await self.refresh()

    async def refresh(self) -> None:
        """Update the list; the selection stays."""
        forms = [ProviderForm(DEMO, demo_model_name(), "", demo=True)]
        states = [ProviderStatus(DEMO, self._in_use(DEMO), "none")]
        for provider in self._services.settings.providers:
            state = await self._services.key_status(provider.name)
            forms.append(form_from_provider(provider))
            in_use = self._in_use(provider.name)
            headers = await self._saved_headers(provider)
            states.append(
                ProviderStatus(provider.name, in_use, state.source, state.text, state.new_key_text, headers)
            )
        self._page.show_scope(bool(self._session.workspace_id))
        self._page.show_providers(forms, states)
        self._welcome.show_model(self._services.settings.model)

    async def _saved_headers(self, provider: Provider) -> frozenset[str]:
        """Return the secret headers of a provider that have a value."""
        secrets = self._services.secrets
        return frozenset(
            [name for name in provider.secret_headers if await secrets.secret_header(provider.name, "", name)]
        )

    def _in_use(self, name: str) -> bool:
        workspace = self._session.opened
        if workspace is not None:
            return workspace.model.info.provider == name
        return (self._services.settings.model.partition("/")[0] or DEMO) == name

    async def _save(self, form: ProviderForm) -> None:
        provider = _provider_from_form(form)
        settings, focused = self._services.settings, QApplication.focusWidget()
        stored = settings.provider(form.id)
        if stored is not None and not self._page.is_edited_from(form_from_provider(stored)):
            await self.refresh()  # which says so: the user decides
            return
        used, roles_before = self._in_use(form.id or provider.name), settings.catalog_roles
        is_first = self._is_first()
        await self._changes.save(
            provider, form.id, form.key, form.secret_headers, removes_key=form.removes_key
        )
        self._page.note_saved(form, form_from_provider(provider))
        if used:
            await self.use(self._model_in_use(provider))
        elif is_first:
            await self._use_by_default(provider)
        else:
            await self._session.show_model()
        await self.refresh()
        self.select(provider.name)
        if focused is not None and self._page.isAncestorOf(focused):
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
        self._editor.show_notices(lines)

    def _role_notices(self, roles_before: Sequence[str]) -> list[CheckNotice]:
        """Return which roles were filled from the catalog, with which model and why."""
        settings, names = self._services.settings, {role: name for role, name, _ in ROLES}
        reasons = role_reasons(settings, self._services.models.catalog)
        return [
            CheckNotice(translate(names[role]), "ok", f"{getattr(settings, role)} · {reason}")
            for role, reason in reasons.items()
            if role not in roles_before and getattr(settings, role)
        ]

    def enter_key(self, name: str) -> None:
        """Choose a provider and give the keyboard to its key."""
        self.select(name)
        self._editor.focus_key()

    def add_key(self, key: str) -> None:
        """Begin a provider with a key; its vendor is recognized by how the key begins."""
        self._page.add_key(key, self._services.models.catalog.vendor_of_key(key))

    def select(self, name: str) -> None:
        """Choose a provider in the list, if it is still there."""
        names = [DEMO, *(provider.name for provider in self._services.settings.providers)]
        if name in names:
            self._page.list.setCurrentRow(names.index(name))

    def _model_in_use(self, provider: Provider) -> str:
        """Return the label of the model that answers here, as long as the provider still has it."""
        workspace = self._session.opened
        model = workspace.model.info.name if workspace is not None else ""
        is_listed = model in {entry.name for entry in provider.models}
        return f"{provider.name}/{model if is_listed else provider.resolve_model_name()}"

    async def _choose(self, label: str) -> None:
        typed, slash, model = label.partition("/")
        if self._editor.has_unsaved_edits() and self._editor.form().name == typed:
            return  # they could not be saved, which the page says
        await self.use(f"{provider_name(typed)}{slash}{model}")
        self._editor.show_notices([self._default_notice()])

    def _default_notice(self) -> CheckNotice:
        workspace = self._session.opened
        if workspace is not None:
            label, default = workspace.model.info.label, self._services.settings.model
            text = tr("{model} is now the default model of this workspace.", model=label)
            name = default or demo_model_name()
            text += " " + (
                tr("New workspaces start with it too.")
                if label == (default or DEMO_LABEL)
                else tr("New workspaces start with {model}, as set in Model roles.", model=name)
            )
        else:
            text = _new_default_text(self._services.settings.model)
        return CheckNotice(tr("Model"), "ok", text)

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
        if not self._session.has_conversation:
            return
        workspace, conversation = self._session.workspace, self._session.conversation
        if conversation.model_choice.pending is not None:
            await workspace.choose_model(conversation.session.id, "")
        else:
            conversation.model_choice.accept()

    async def _remove(self, name: str) -> None:
        await self._changes.remove(name)
        await self._session.show_model()
        await self.refresh()

    async def _list_models(self, form: ProviderForm) -> None:
        self._editor.show_notices([CheckNotice(tr("Models"), "running", tr("Asking the server…"))])
        server = self._shown_server()
        offered = await self._services.models.list_models(
            _provider_from_form(form), form.key, form.secret_headers
        )
        if self._shown_server() != server:
            return  # the user went to another one meanwhile
        is_added = self._editor.show_offered(offered)
        if is_added:
            found = tr("Its only model is added.")
        elif offered:
            found = tr.plural(
                len(offered),
                "%n model found. Select the models to add.",
                "%n models found. Select the models to add.",
            )
        else:
            found = tr("No models found. Load a model on the server first.")
        self._editor.show_notices([CheckNotice(tr("Models"), "ok", found)])

    def _shown_server(self) -> tuple[str, str, str]:
        form = self._editor.form()
        return form.id, form.base_url, form.dialect

    def _start_test(self, form: ProviderForm) -> None:
        self._drop_test()
        self._test_task = self._async_actions.start(self._test(form, self._test_task), "test provider")

    def _stop_test(self) -> None:
        if self._test_task is not None and not self._test_task.done():
            self._test_task.cancel()

    def _drop_test(self) -> None:
        """End a test without a word: another one begins, or its server is not in the fields any more."""
        self._steps = ()
        self._stop_test()

    async def _test(self, form: ProviderForm, previous_test: asyncio.Task[None] | None) -> None:
        """Five ticks, live; then what the server says now of its models: a local one has loaded one."""
        if previous_test is not None:
            await asyncio.wait((previous_test,))  # its end would pass for ours
        selected = self._editor.models.selected_model
        model = selected if selected in {entry.name for entry in form.models} else form.default_model
        provider = _provider_from_form(form)
        self._editor.show_testing(True)
        try:
            models, secrets = self._services.models, form.secret_headers
            await models.test(provider, model, form.key, self._show_steps, secrets)
            for step in self._steps:
                if step.has_tools is not None:
                    self._editor.models.show_tool_test(model, step.has_tools)
                    save = partial(self._save_tool_test, form, model, step.has_tools)
                    self._run_change(save, "save")
            self._editor.models.set_offered(await models.list_models(provider, form.key, secrets))
        except asyncio.CancelledError:
            if self._steps:
                self._show_steps(tuple(_as_stopped(tick) for tick in self._steps))
            raise
        except HelixError:
            return  # the ticks have said it
        finally:
            self._editor.show_testing(False)

    async def _save_tool_test(self, form: ProviderForm, model: str, has_tools: bool) -> None:
        """Save a test's result with the provider that was tested; what else is typed waits for Save."""
        if not form.id:
            return
        tested = msgspec.structs.replace(_provider_from_form(form), name=form.id)
        provider = await self._changes.save_tool_test(tested, model, has_tools)
        if provider is not None:
            self._page.update_form(form_from_provider(provider))

    def _show_steps(self, steps: tuple[CheckStep, ...]) -> None:
        self._steps = steps
        self._editor.show_steps(steps)

    async def scan(self, view: FoundServerList) -> None:
        """Look for model servers on this machine's usual ports."""
        view.show_scanning()
        servers = await self._services.models.find_local_servers()
        view.show_servers(servers, [provider.base_url for provider in self._services.settings.providers])

    async def add_and_use(self, server: LocalServer, view: FoundServerList) -> None:
        """Add a server that was found on the first run: its model answers from now on, in all workspaces."""
        async with self._change_lock:
            label = await self._changes.add_and_use_server(server)
        self._welcome.show_model(label)
        self._welcome.setFocus(Qt.FocusReason.OtherFocusReason)
        view.show_message(_new_default_text(label))

    async def add(self, server: LocalServer) -> None:
        """Add a server that was found, with all its models; the loaded one is the usual one.

        While no model is the default, its model becomes that, as of a provider that is saved.
        """
        is_first = self._is_first()
        provider = await self._changes.add_server(server)
        if is_first:
            await self._use_by_default(provider)
        await self.refresh()
        self.select(provider.name)
        self._page.found_servers.hide()
        added = CheckNotice(tr("Added"), "ok", provider.name)
        self._editor.show_notices([added, self._first_notice()] if is_first else [added])

    def _is_first(self) -> bool:
        """Return True while no model is the default: the demo model would answer."""
        return not self._services.settings.model


def _new_default_text(label: str) -> str:
    return tr("{model} is now the default model. Open a folder to start.", model=label)


def form_from_provider(provider: Provider) -> ProviderForm:
    """Return a provider as it is filled in."""
    default = provider.default_model or next((entry.name for entry in provider.models), "")
    entries = provider.models
    if default and default not in {entry.name for entry in entries}:
        entries = (ModelEntry(name=default), *entries)
    return ProviderForm(
        provider.name,
        provider.name,
        provider.base_url,
        provider.dialect,
        entries,
        default,
        extras=provider.extras(),
    )


def _provider_from_form(form: ProviderForm) -> Provider:
    """Return the provider that a form describes; name and models may still be missing. Raises HelixError."""
    name = provider_name(form.name)
    faults = validate_provider(form)
    wrong = [words for field, words in faults.items() if field not in ("name", "models")]
    if wrong:
        raise HelixError(text("The provider isn't complete yet."), join_sentences(*wrong))
    return Provider(
        name=name,
        base_url=form.base_url.strip(),
        models=form.models,
        default_model=form.default_model,
        dialect=form.dialect,
        headers=form.extras.headers,
        secret_headers=form.extras.secret_headers,
        body=form.extras.body,
    )


def _as_stopped(step: CheckStep) -> CheckStep:
    if step.state not in {"waiting", "running"}:
        return step
    return CheckStep(step.name, "skipped", tr("Stopped."))
