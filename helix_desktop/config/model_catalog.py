"""The catalog: published figures of models (resources/models.toml), and the preset vendors."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from helix_desktop.domain.dialects import DialectName
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
        host = _host(base_url)
        is_local = self.is_on_this_computer(base_url)
        for name in _name_variants(model):
            for vendor, entries in self._ranked(host):
                entry = entries.get(name)
                if entry is not None and not (entry.open and is_local):
                    return vendor.sourced_spec(entry, host in vendor.hosts)
        return None

    def vendors_spec(self, model: str) -> ModelSpec:
        """Return the figures of a model at its own vendor; without any where it has no price there."""
        hosts = (host for vendor in self.vendors for host in vendor.hosts)
        specs = (self.spec_for(f"https://{host}", model) for host in hosts)
        priced = (found.spec for found in specs if found is not None and found.spec.price_in)
        return next(priced, ModelSpec())

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
