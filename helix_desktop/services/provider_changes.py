"""Changes of the configured providers, with everything that names their models: settings and workspaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from helix_desktop.config.role_suggestions import with_filled_roles, with_loaded_fast_model
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.workspaces.registry import MODEL_ROLES, WorkspaceRecord

text = TextContext("Models")

DEMO = "demo"
DEMO_LABEL = "demo/offline"


ProviderEdit = Callable[[Provider], Provider]
"""A change of a provider as it is stored by then. Raises ValueError for what can't be stored."""


class ProviderSnapshot(msgspec.Struct, frozen=True):
    """A provider as it was before a change that can be undone, with all that named its models."""

    provider: Provider
    place: int
    """Its place among the providers."""
    roles: dict[str, str]
    """The models of the roles in all workspaces."""
    workspaces: dict[str, dict[str, str]]
    """The models of the roles in each workspace, by its id."""
    key: str
    """Its stored key; empty without one."""
    headers: dict[tuple[str, str], str]
    """The stored values of its secret headers: by model (empty: all) and name."""


class ProviderChanges:
    def __init__(self, services: AppServices) -> None:
        self._services = services

    async def add(self, provider: Provider, key: str = "", loaded: Sequence[str] = ()) -> Provider:
        """Add a provider under its name, or that with a number where it is taken; return what was added.

        It fills the roles that have no model yet, where it is known which of its models fit; `loaded` names
        those that a server on this computer has loaded. Raises HelixError.
        """
        provider = msgspec.structs.replace(provider, name=self._free_name(provider.name))
        settings = self._services.settings.with_provider(provider)
        await self._services.save_settings(self._with_roles(settings, provider, loaded))
        if key:
            await self._services.save_key(provider.name, key)
        return provider

    def _free_name(self, base: str) -> str:
        used_names = {provider.name for provider in self._services.settings.providers} | {DEMO}
        names = (base, *(f"{base}-{number}" for number in range(2, 100)))
        return next((name for name in names if name not in used_names), base)

    async def change(self, name: str, edit: ProviderEdit) -> Provider | None:
        """Change a provider as it is stored now; return it, or None if it is gone.

        With a new name its key and the values of its secret headers go along, and what named a model of it
        names the changed provider's. Raises HelixError if the name is taken, or the settings can't be
        written.
        """
        stored = self._services.settings.provider(name)
        if stored is None:
            return None
        provider = edit(stored)
        if provider == stored:
            return stored
        settings = self._services.settings
        if provider.name != name and (provider.name == DEMO or settings.provider(provider.name)):
            raise HelixError(
                text("The provider {name} already exists.", name=provider.name),
                fix=text("Choose another name."),
            )
        await self._move_secret_headers(provider, stored)
        if provider.name != name:
            await self._move_key(name, provider.name)
        settings = self._services.settings
        newest = settings.provider(name)
        if newest is None:
            return None
        provider = edit(newest)  # it may have learned something meanwhile
        labels = {role: updated_label(getattr(settings, role), name, provider) for role in MODEL_ROLES}
        providers = tuple(provider if other is newest else other for other in settings.providers)
        changed = msgspec.structs.replace(settings, providers=providers, **labels)
        if provider.models and not newest.models:
            changed = self._with_roles(changed, provider)
        self._update_workspaces(name, provider)
        await self._services.save_settings(changed)
        return provider

    async def _move_key(self, old_name: str, new_name: str) -> None:
        """Store the key of a renamed provider under its new name; one of the environment stays there."""
        key = await self._stored_key(old_name)
        if key:
            await self._services.save_key(new_name, key)
            await self._services.save_key(old_name, "")

    async def _stored_key(self, name: str) -> str:
        key = await self._services.secrets.get(name)
        return key.value if key.source in ("keychain", "run") else ""

    async def _move_secret_headers(self, provider: Provider | None, previous: Provider) -> None:
        """Take the values of a provider's former name along, and delete what no header has any more."""
        secrets = self._services.secrets
        names = secret_header_names(provider)
        for model, name in secret_header_names(previous):
            is_renamed = provider is not None and provider.name != previous.name
            if provider is not None and is_renamed and (model, name) in names:
                value = await secrets.secret_header(previous.name, model, name)
                await secrets.set_secret_header(provider.name, model, name, value)
            if is_renamed or (model, name) not in names:
                await secrets.set_secret_header(previous.name, model, name, "")

    async def use_first(self, name: str) -> str:
        """Let a provider's model answer wherever no other is chosen, once one can: else the demo would.

        Return its label, or nothing where a model is the default already, or the provider lacks its key.
        """
        settings = self._services.settings
        provider = settings.provider(name)
        if settings.model or provider is None or not (provider.models or provider.default_model):
            return ""
        vendor = self._services.models.catalog.vendor_for(provider.base_url)
        needs_key = vendor is not None and vendor.key
        if needs_key and not (await self._services.secrets.get(name)).value:
            return ""
        label = f"{name}/{provider.resolve_model_name()}"
        await self.use("", label)
        return label

    def _with_roles(self, settings: Settings, provider: Provider, loaded: Sequence[str] = ()) -> Settings:
        if not provider.models:
            return settings
        settings = with_filled_roles(settings, provider, self._services.models.catalog)
        return with_loaded_fast_model(settings, provider, loaded)

    async def snapshot(self, name: str) -> ProviderSnapshot | None:
        """Return a provider with all that names its models; None if it is gone."""
        services = self._services
        settings = services.settings
        provider = settings.provider(name)
        if provider is None:
            return None
        headers: dict[tuple[str, str], str] = {}
        for model, header in secret_header_names(provider):
            headers[model, header] = await services.secrets.secret_header(name, model, header)
        return ProviderSnapshot(
            provider,
            settings.providers.index(provider),
            _labels(settings),
            {record.id: _labels(record) for record in services.registry.list_workspaces()},
            key=await self._stored_key(name),
            headers=headers,
        )

    async def restore(self, snapshot: ProviderSnapshot) -> None:
        """Bring a provider back as it was, with its key and wherever its models were used."""
        services = self._services
        provider = snapshot.provider
        others = [other for other in services.settings.providers if other.name != provider.name]
        others.insert(snapshot.place, provider)
        labels = _own_labels(snapshot.roles, provider.name)
        settings = msgspec.structs.replace(services.settings, providers=tuple(others), **labels)
        for (model, header), value in snapshot.headers.items():
            await services.secrets.set_secret_header(provider.name, model, header, value)
        for workspace_id, roles in snapshot.workspaces.items():
            services.registry.change(workspace_id, **_own_labels(roles, provider.name))
        await services.save_settings(settings)
        if snapshot.key:
            await services.save_key(provider.name, snapshot.key)

    async def remove(self, name: str) -> None:
        """Remove a provider and its key; workspaces that used its models use the defaults."""
        stored = self._services.settings.provider(name)
        if stored is None:
            return
        self._update_workspaces(name, None)
        await self._move_secret_headers(None, stored)
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
        loaded = [model.name for model in server.models if model.is_loaded]
        return await self.add(_provider_from_server(server), loaded=loaded)

    async def add_and_use_server(self, server: LocalServer) -> str:
        """Add a server that was found, let its default model answer everywhere, and return its label."""
        provider = await self.add_server(server)
        label = f"{provider.name}/{provider.resolve_model_name()}"
        await self._use_by_default(label)
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

    Empty when the provider is gone or has no model; labels of others stay as they are.
    """
    owner, _, model = label.partition("/")
    if not previous_name or owner != previous_name:
        return label
    if provider is None or not (provider.models or provider.default_model):
        return ""
    is_listed = model in {entry.name for entry in provider.models}
    model_name = model if is_listed else provider.resolve_model_name()
    return f"{provider.name}/{model_name}"


def _labels(owner: Settings | WorkspaceRecord) -> dict[str, str]:
    return {role: str(getattr(owner, role)) for role in MODEL_ROLES}


def _own_labels(labels: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the roles that a provider's models have."""
    return {role: label for role, label in labels.items() if label.partition("/")[0] == name}


def _provider_from_server(server: LocalServer) -> Provider:
    models = tuple(
        ModelEntry(name=model.name, reported=model.spec, reported_by=model.source) for model in server.models
    )
    loaded = next((model.name for model in server.models if model.is_loaded), "")
    default = loaded or next((model.name for model in server.models), "")
    name = re.sub(r"[\s/]+", "-", server.title).lower()
    return Provider(name=name, base_url=server.base_url, models=models, default_model=default)
