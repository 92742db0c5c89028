"""Changes of the configured providers, with everything that names their models: settings and workspaces."""

from __future__ import annotations

import re

import msgspec

from helix_desktop.config.role_suggestions import with_filled_roles, with_loaded_fast_model
from helix_desktop.config.secrets import NO_SECRET_HEADERS, SecretHeaders
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.workspaces.registry import MODEL_ROLES

text = TextContext("Models")

DEMO = "demo"
DEMO_LABEL = "demo/offline"


class ProviderChanges:
    def __init__(self, services: AppServices) -> None:
        self._services = services

    async def save(
        self,
        provider: Provider,
        previous_name: str,
        key: str,
        secret_headers: SecretHeaders = NO_SECRET_HEADERS,
        *,
        removes_key: bool = False,
    ) -> None:
        """Add a provider, or change the one of `previous_name`; an empty `key` leaves the saved one.

        With `removes_key` the saved one is deleted, unless there is a new one.

        `secret_headers` are new values; those of headers that it no longer has are deleted.

        A new one fills the roles that have no model yet, where the catalog knows which of its models fit.
        What named a model of it names the changed provider's. Raises HelixError if the name is taken, or the
        settings cannot be written.
        """
        settings = self._services.settings
        if provider.name != previous_name and (provider.name == DEMO or settings.provider(provider.name)):
            raise HelixError(
                text("The provider {name} already exists.", name=provider.name),
                fix=text("Choose another name."),
            )
        labels = {
            role: updated_label(getattr(settings, role), previous_name, provider) for role in MODEL_ROLES
        }
        if previous_name:
            self._update_workspaces(previous_name, provider)
            if previous_name != provider.name:
                settings = settings.with_provider_removed(previous_name)
        await self._save_secret_headers(
            provider, self._services.settings.provider(previous_name), secret_headers
        )
        if key or removes_key:
            await self._services.save_key(provider.name, key)
        changed = msgspec.structs.replace(settings, **labels, run_keys=self._services.settings.run_keys)
        changed = changed.with_provider(provider)
        await self._services.save_settings(changed if previous_name else self._with_roles(changed, provider))

    async def _save_secret_headers(
        self, provider: Provider | None, previous: Provider | None, values: SecretHeaders
    ) -> None:
        """Save new values, take those of a provider's former name along, and delete what no header has."""
        secrets, names = self._services.secrets, secret_header_names(provider)
        for model, name in secret_header_names(previous):
            assert previous is not None  # it has the names
            is_renamed = provider is not None and provider.name != previous.name
            if provider is not None and is_renamed and (model, name) in names:
                value = await secrets.secret_header(previous.name, model, name)
                await secrets.set_secret_header(provider.name, model, name, value)
            if is_renamed or (model, name) not in names:
                await secrets.set_secret_header(previous.name, model, name, "")
        for name, value in values.items():
            if provider is not None and value and ("", name) in names:
                await secrets.set_secret_header(provider.name, "", name, value)

    def _with_roles(
        self, settings: Settings, provider: Provider, server: LocalServer | None = None
    ) -> Settings:
        settings = with_filled_roles(settings, provider, self._services.models.catalog)
        loaded = [model.name for model in server.models if model.is_loaded] if server is not None else []
        return with_loaded_fast_model(settings, provider, loaded)

    async def save_tool_test(self, tested: Provider, model: str, has_tools: bool) -> Provider | None:
        """Save whether a model called a tool in a test; return its provider as it is now.

        None if what was tested is not saved: another address or API type, or a model that it does not have.
        """
        provider = self._services.settings.provider(tested.name)
        if provider is None or (provider.base_url, provider.dialect) != (tested.base_url, tested.dialect):
            return None
        if model not in {entry.name for entry in provider.models}:
            return None
        models = tuple(
            msgspec.structs.replace(entry, tested_tools=has_tools) if entry.name == model else entry
            for entry in provider.models
        )
        changed = msgspec.structs.replace(provider, models=models)
        await self._services.save_settings(self._services.settings.with_provider(changed))
        return changed

    async def remove(self, name: str) -> None:
        """Remove a provider and its key; workspaces that used its models use the defaults."""
        self._update_workspaces(name, None)
        await self._save_secret_headers(None, self._services.settings.provider(name), NO_SECRET_HEADERS)
        await self._services.save_settings(self._services.settings.with_provider_removed(name))
        await self._services.save_key(name, "")

    async def use(self, workspace_id: str, label: str) -> None:
        """Use a model in a workspace, and in no other; `label` may be a provider's name alone.

        Without a workspace, or as long as no model is the default, it becomes that too.
        """
        name, _, model = label.partition("/")
        provider = self._services.settings.provider(name)
        new_label = f"{name}/{provider.resolve_model_name(model)}" if provider else ""
        if workspace_id:
            await self._services.use_model(workspace_id, new_label or DEMO_LABEL)
        if not (workspace_id and self._services.settings.model):
            await self._use_by_default(new_label)

    async def add_server(self, server: LocalServer) -> Provider:
        """Add a server that was found, with all its models; the loaded one is its default."""
        provider = _provider_from_server(server, self._services.settings)
        settings = self._services.settings.with_provider(provider)
        await self._services.save_settings(self._with_roles(settings, provider, server))
        return provider

    async def add_and_use_server(self, server: LocalServer) -> str:
        """Add a server that was found, let its default model answer everywhere, and return its label."""
        provider = _provider_from_server(server, self._services.settings)
        label = f"{provider.name}/{provider.resolve_model_name()}"
        settings = self._services.settings.with_provider(provider)
        settings = msgspec.structs.replace(settings, model=label)
        await self._services.save_settings(self._with_roles(settings, provider, server))
        return label

    async def _use_by_default(self, label: str) -> None:
        await self._services.save_settings(msgspec.structs.replace(self._services.settings, model=label))

    def _update_workspaces(self, previous_name: str, provider: Provider | None) -> None:
        for record in self._services.registry.list_workspaces():
            labels = {role: str(getattr(record, role)) for role in MODEL_ROLES}
            updated = {role: updated_label(label, previous_name, provider) for role, label in labels.items()}
            if updated != labels:
                self._services.registry.change(record.id, **updated)


def secret_header_names(provider: Provider | None) -> tuple[tuple[str, str], ...]:
    """Return the secret headers of a provider and its models: the model (empty: all), and the name."""
    if provider is None:
        return ()
    owners = (
        ("", provider.secret_headers),
        *((entry.name, entry.secret_headers) for entry in provider.models),
    )
    return tuple((model, name) for model, names in owners for name in names)


def updated_label(label: str, previous_name: str, provider: Provider | None) -> str:
    """Return a model's label after its provider has changed: the same model, else the provider's default.

    Empty when the provider is gone; labels of others stay as they are.
    """
    owner, _, model = label.partition("/")
    if not previous_name or owner != previous_name:
        return label
    if provider is None:
        return ""
    model_name = (
        model if model in {entry.name for entry in provider.models} else provider.resolve_model_name()
    )
    return f"{provider.name}/{model_name}"


def _provider_from_server(server: LocalServer, settings: Settings) -> Provider:
    """Return a provider made of a server that was found; of its own name, or of one with a number."""
    base = re.sub(r"[\s/]+", "-", server.title).lower()
    used_names = {provider.name for provider in settings.providers} | {DEMO}
    names = (base, *(f"{base}-{number}" for number in range(2, 100)))
    name = next((candidate for candidate in names if candidate not in used_names), base)
    models = tuple(
        ModelEntry(name=model.name, reported=model.spec, reported_by=model.source) for model in server.models
    )
    loaded = next((model.name for model in server.models if model.is_loaded), "")
    default = loaded or next((model.name for model in server.models), "")
    return Provider(name=name, base_url=server.base_url, models=models, default_model=default)
