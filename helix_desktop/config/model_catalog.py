"""The catalogue: what is published of models (resources/models.toml), and the vendors to begin with."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec

DialectName = Literal["openai-chat", "openai-responses", "anthropic"]
"""What a server speaks: OpenAI Chat Completions, OpenAI Responses, Anthropic Messages."""

_VERSION_SUFFIX = re.compile(r"[-@](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{4}|\d{3})$")
"""Versions at the end of a name, as vendors write them."""


class CatalogEntry(ModelSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry: figures of the models of these names; `open` ones are served by anybody, with any window.

    `condition` says when the prices hold.
    """

    names: tuple[str, ...]
    source: str = ""
    condition: str = ""
    open: bool = False


class Vendor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A seller or a program that serves models; `key` says whether it asks for one.

    `begin` names the models that a new provider begins with, the usual one first.
    """

    name: str
    title: str
    base_url: str
    dialect: DialectName
    hosts: tuple[str, ...]
    key: bool
    source: str
    begin: tuple[str, ...] = ()
    model: tuple[CatalogEntry, ...] = ()

    def sourced_spec(self, entry: CatalogEntry, is_own_server: bool) -> SourcedSpec:
        """An entry as words of this vendor; prices only at its `own` servers: others ask others."""
        source = entry.source or self.source
        if not is_own_server:
            source = f"{source}; by the model's name, at another's server"
        elif entry.condition:
            source = f"{source}; prices {entry.condition}"
        figures = {name: getattr(entry, name) for name in ModelSpec.__struct_fields__}
        if not is_own_server:
            figures.update(price_in=0.0, price_cached=0.0, price_out=0.0)
        return SourcedSpec("catalogue", source, ModelSpec(**figures))


class ModelCatalog:
    """The vendors in order, and what they publish."""

    def __init__(self, vendors: tuple[Vendor, ...] = ()) -> None:
        self.vendors = vendors
        self._vendor_by_host = {host: vendor for vendor in vendors for host in vendor.hosts}
        self._entries = [
            {_normalize(name): entry for entry in vendor.model for name in entry.names} for vendor in vendors
        ]

    @classmethod
    def load(cls, path: Path) -> ModelCatalog:
        """Read it. Blocks for some milliseconds. Raises ValueError when the file is not what it should be."""
        with path.open("rb") as file:
            return cls(msgspec.convert(tomllib.load(file)["vendor"], tuple[Vendor, ...]))

    def vendor_for(self, base_url: str) -> Vendor | None:
        """The vendor whose own server an address is."""
        return self._vendor_by_host.get(_host(base_url))

    def spec_for(self, base_url: str, model: str) -> SourcedSpec | None:
        """What is published of a model that a server at this address offers.

        A server of this machine decides itself with which window it runs a model that anybody may serve.
        """
        host = _host(base_url)
        here = host == "localhost" or host.startswith("127.") or host == "::1"
        for name in _name_variants(model):
            for vendor, entries in self._ranked(host):
                entry = entries.get(name)
                if entry is not None and not (entry.open and here):
                    return vendor.sourced_spec(entry, host in vendor.hosts)
        return None

    def _ranked(self, host: str) -> Iterator[tuple[Vendor, dict[str, CatalogEntry]]]:
        """Vendors with their entries, the one of this host first; another's names mean nothing there."""
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
    """A name as it may stand in the catalogue: as given, without a vendor before it, without a version."""
    whole = _normalize(model)
    bare = whole.rpartition("/")[2].partition(":")[0]
    for name in (whole, bare):
        yield name
        yield _VERSION_SUFFIX.sub("", name)
