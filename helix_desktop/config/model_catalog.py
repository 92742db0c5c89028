"""Known models: the catalog of published figures, the preset vendors, and the roles that they fill."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from helix_desktop.config.settings import Provider, Settings
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.translatable_text import TextContext

text = TextContext("Providers")

_VERSION_SUFFIX = re.compile(r"[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{4}|\d{3})$")
"""Version suffixes of model names, as vendors write them."""


class CatalogEntry(ModelSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry: figures of the models of these names; anybody may serve `open` ones, with any window.

    `condition` says when the prices apply.
    """

    names: tuple[str, ...]
    source: str = ""
    condition: str = ""
    open: bool = False


class Vendor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A vendor or a program that serves models; `key` says whether it needs one.

    `begin` names the models that a new provider starts with, the default one first; `key_begins` is how keys
    of this vendor begin, if that tells them from others.
    """

    name: str
    title: str
    base_url: str
    dialect: DialectName
    hosts: tuple[str, ...]
    key: bool
    source: str
    begin: tuple[str, ...] = ()
    key_begins: tuple[str, ...] = ()
    model: tuple[CatalogEntry, ...] = ()

    def sourced_spec(self, entry: CatalogEntry, is_own_server: bool) -> SourcedSpec:
        """Return an entry's figures with their source; without prices at others' servers."""
        source = entry.source or self.source
        if not is_own_server:
            source = text("{source}; matched by name, on another server", source=source)
        elif entry.condition:
            source = text("{source}; prices {condition}", source=source, condition=entry.condition)
        figures = {name: getattr(entry, name) for name in ModelSpec.__struct_fields__}
        if not is_own_server:
            figures.update({name: 0.0 for name in figures if name.startswith("price_")})
        return SourcedSpec("catalog", source, ModelSpec(**figures))


class ModelCatalog:
    def __init__(self, vendors: tuple[Vendor, ...] = ()) -> None:
        self.vendors = vendors
        self._vendor_by_host = {host: vendor for vendor in vendors for host in vendor.hosts}
        self._entries = [
            {_normalize(name): entry for entry in vendor.model for name in entry.names} for vendor in vendors
        ]

    @classmethod
    @functools.cache
    def load(cls, path: Path) -> ModelCatalog:
        """Read the catalog, once. Blocks for some milliseconds. Raises ValueError if the file is invalid."""
        with path.open("rb") as file:
            return cls(msgspec.convert(tomllib.load(file)["vendor"], tuple[Vendor, ...]))

    def vendor_for(self, base_url: str) -> Vendor | None:
        """Return the vendor whose own server has this address; None for others."""
        return self._vendor_by_host.get(_host(base_url))

    def vendor_of_key(self, key: str) -> Vendor | None:
        """Return the vendor whose keys begin like this one; None if that can't be told."""
        return next((vendor for vendor in self.vendors if key.startswith(vendor.key_begins)), None)

    def is_on_this_computer(self, base_url: str) -> bool:
        host = _host(base_url)
        return host == "localhost" or host.startswith("127.") or host == "::1"

    def spec_for(self, base_url: str, model: str) -> SourcedSpec | None:
        """Return the published figures of a model at a server; None if there are none.

        A local server decides itself with which window it runs an open model, so these are not looked up.
        """
        host, is_local = _host(base_url), self.is_on_this_computer(base_url)
        for name in _name_variants(model):
            for vendor, entries in self._ranked(host):
                entry = entries.get(name)
                if entry is not None and not (entry.open and is_local):
                    return vendor.sourced_spec(entry, host in vendor.hosts)
        return None

    def input_price(self, model: str) -> float:
        """Return the US dollars per million input tokens at the model's own vendor; 0: not known."""
        hosts = (host for vendor in self.vendors for host in vendor.hosts)
        specs = (self.spec_for(f"https://{host}", model) for host in hosts)
        return next((spec.spec.price_in for spec in specs if spec is not None and spec.spec.price_in), 0.0)

    def _ranked(self, host: str) -> Iterator[tuple[Vendor, dict[str, CatalogEntry]]]:
        """Yield the host's vendor with its entries; all vendors if the host has none or lists no models."""
        pairs = list(zip(self.vendors, self._entries, strict=True))
        own = [pair for pair in pairs if host in pair[0].hosts]
        yield from own if own and own[0][0].model else pairs


def _host(base_url: str) -> str:
    try:
        return urlsplit(base_url.strip()).hostname or ""
    except ValueError:
        return ""


def _normalize(name: str) -> str:
    return name.strip().lower().replace(".", "-")


def _name_variants(model: str) -> Iterator[str]:
    """Yield the names to look up: as given, without a vendor prefix, without a version."""
    full_name = _normalize(model)
    bare = full_name.rpartition("/")[2].partition(":")[0]
    for name in (full_name, bare):
        yield name
        yield _VERSION_SUFFIX.sub("", name)


FilledRole = Literal["fast", "long"]
FILLED_ROLES: tuple[FilledRole, ...] = ("fast", "long")
_MIN_WINDOW = 32_000  # tokens of a model that reads large outputs
_SMALL = re.compile(r"(?:^|[-_.])(?:flash|mini|lite|small|nano|instant)(?:[-_.]|$)")
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)  # billions of weights, in a name
_LARGER = 1.25  # a long window is worth a role of its own from so many times the main model's on


class RoleSuggestion(msgspec.Struct, frozen=True):
    """A model for a role, and the main model that it is cheaper or larger than."""

    model: ModelInfo
    main: ModelInfo


def _suggest_roles(
    settings: Settings, provider: Provider, catalog: ModelCatalog
) -> dict[FilledRole, RoleSuggestion]:
    """Return models of this provider for the roles that nobody has set yet; none without known figures.

    Only where its models answer already, or no model is chosen: what the agent reads goes to no other server
    than the user chose.
    """
    owner, _, name = settings.model.partition("/")
    if owner not in ("", provider.name) or not (provider.models or provider.default_model):
        return {}
    main = provider.model_info(name, catalog)
    others = [
        provider.model_info(entry.name, catalog) for entry in provider.models if entry.name != main.name
    ]
    sized = [info for info in others if _is_window_known(provider, info, catalog)]
    is_main_sized = _is_window_known(provider, main, catalog)
    vendor = catalog.vendor_for(provider.base_url)
    fast = _fast(main, sized) or (_small_variant(main, sized) if vendor is not None and vendor.key else None)
    fitting = {"fast": fast, "long": _long(main, sized) if is_main_sized else None}
    return {
        role: RoleSuggestion(model, main)
        for role in FILLED_ROLES
        if (model := fitting[role]) is not None and is_open(settings, role)
    }


def is_open(settings: Settings, role: FilledRole) -> bool:
    """Return True if a role has no model, and the user has not said that the main one is to do it."""
    return not getattr(settings, role) and role not in settings.user_roles


def with_filled_roles(settings: Settings, provider: Provider, catalog: ModelCatalog) -> Settings:
    """Return the settings with the open roles filled from the catalog; what is set already stays."""
    labels = {
        role: filled.model.label for role, filled in _suggest_roles(settings, provider, catalog).items()
    }
    filled_roles = tuple(dict.fromkeys((*settings.catalog_roles, *labels)))
    return msgspec.structs.replace(settings, **labels, catalog_roles=filled_roles) if labels else settings


def with_loaded_fast_model(settings: Settings, provider: Provider, loaded: Sequence[str]) -> Settings:
    """Return the settings with a model for the open fast role that a server on this computer has loaded.

    It is one that is `loaded` beside the main model: a request to any other would unload that. Of several
    the server does not say which is fast.
    """
    owner, _, name = settings.model.partition("/")
    main = name if owner == provider.name else provider.resolve_model_name()
    others = [model for model in loaded if model != main]
    if owner not in ("", provider.name) or main not in loaded or len(others) != 1:
        return settings
    if not is_open(settings, "fast"):
        return settings
    roles = tuple(dict.fromkeys((*settings.catalog_roles, "fast")))
    return msgspec.structs.replace(settings, fast=f"{provider.name}/{others[0]}", catalog_roles=roles)


def unloaded_fast_model(settings: Settings, catalog: ModelCatalog) -> tuple[str, str] | None:
    """Return the main model of a server on this computer, and the label of one to load beside it as fast one.

    The label is the smallest by its name, empty if no other model is named by its size. None where the fast
    role is not open, or the server is none of this computer or has no other model.
    """
    if not settings.model or not is_open(settings, "fast"):
        return None
    provider, main = settings.find_model(settings.model, catalog)
    if not catalog.is_on_this_computer(provider.base_url) or len(provider.models) <= 1:
        return None
    sizes = {entry.name: float(found[1]) for entry in provider.models if (found := _SIZE.search(entry.name))}
    own_size = sizes.pop(main.name, None)
    smaller = [name for name, size in sizes.items() if own_size is None or size < own_size]
    best = min(smaller, key=lambda name: sizes[name], default="")
    return main.name, f"{provider.name}/{best}" if best else ""


def with_user_role(settings: Settings, role: str, label: str) -> Settings:
    """Return the settings with a role's model as the user chose it; empty: the main model."""
    catalog_roles = tuple(other for other in settings.catalog_roles if other != role)
    user_roles = tuple(dict.fromkeys((*settings.user_roles, role)))
    return msgspec.structs.replace(
        settings, **{role: label}, catalog_roles=catalog_roles, user_roles=user_roles
    )


def _fast(main: ModelInfo, others: list[ModelInfo]) -> ModelInfo | None:
    cheaper = [info for info in others if 0 < _price(info) < _price(main) and info.window >= _MIN_WINDOW]
    return min(cheaper, key=_price, default=None)


def _small_variant(main: ModelInfo, others: list[ModelInfo]) -> ModelInfo | None:
    """Return a model that is named as the small one of a family, where no prices are known."""
    if _price(main) or _SMALL.search(main.name):
        return None
    return next((info for info in others if not _price(info) and _SMALL.search(info.name)), None)


def _long(main: ModelInfo, others: list[ModelInfo]) -> ModelInfo | None:
    larger = [info for info in others if info.window >= _LARGER * main.window]
    return max(larger, key=lambda info: (info.window, -_price(info)), default=None)


def _is_window_known(provider: Provider, info: ModelInfo, catalog: ModelCatalog) -> bool:
    """Return False where the window is only assumed, as nobody reports it."""
    return provider.resolved_spec(info.name, catalog).values["window"].origin != "assumed"


def _price(info: ModelInfo) -> float:
    return info.price_in + info.price_out
