"""The catalog: every entry is usable, no name hides another, and prices apply only at their vendor."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix_desktop.config.model_catalog import CatalogEntry, ModelCatalog, Vendor
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import ModelSpec
from tests.support.tables import for_each

CATALOG = ModelCatalog.load(resources_dir() / "models.toml")
ENTRIES = [(vendor, entry) for vendor in CATALOG.vendors for entry in vendor.model]
CLAUDE = "https://api.anthropic.com/v1"


def provider(base_url: str, *entries: ModelEntry) -> Provider:
    return Provider(name="here", base_url=base_url, models=entries)


@for_each(("vendor", "entry"), ENTRIES)
def test_every_entry_is_consistent(vendor: Vendor, entry: CatalogEntry) -> None:
    assert entry.names
    assert entry.source or vendor.source
    assert 8_000 <= entry.window <= 2_000_000
    assert entry.output <= entry.window
    assert not entry.input or entry.window - entry.input >= min(entry.output, 1)
    assert bool(entry.price_in) == bool(entry.price_out), "a cost needs both"
    assert entry.price_cached < entry.price_in or not entry.price_cached
    assert entry.price_in < entry.price_out or not entry.price_in
    assert not entry.condition or entry.price_in
    assert entry.tools is not None, "the agent works by tools"
    text = f"{entry.source}{entry.condition}{vendor.source}"
    assert "http" not in text, "a document's name, never its address"


@for_each(("vendor", "entry"), ENTRIES)
def test_every_name_resolves_to_its_own_entry(vendor: Vendor, entry: CatalogEntry) -> None:
    """No entry hides another: not by name, nor by a version suffix, nor with a vendor prefix."""
    for name in entry.names:
        for form in (name, name.upper(), f"{vendor.name}/{name}", f"{name}-20261231"):
            spec = CATALOG.spec_for(vendor.base_url, form)
            assert spec is not None
            assert spec.spec == ModelSpec(
                **{field: getattr(entry, field) for field in ModelSpec.__struct_fields__}
            ), form


def test_every_name_is_unique() -> None:
    names = [name.lower().replace(".", "-") for _, entry in ENTRIES for name in entry.names]
    assert len(names) == len(set(names))
    assert len({vendor.name for vendor in CATALOG.vendors}) == len(CATALOG.vendors)


@for_each("vendor", CATALOG.vendors)
def test_a_provider_can_be_made_for_every_vendor(vendor: Vendor) -> None:
    created = Provider(name=vendor.name, base_url=vendor.base_url, dialect=vendor.dialect)
    assert created.base_url.startswith("https://") == bool(vendor.hosts)
    assert not vendor.hosts or CATALOG.vendor_for(vendor.base_url) is vendor
    for model in vendor.begin:
        assert created.resolved_spec(model, CATALOG).values["window"].origin == "catalog", model


def test_a_version_that_differs_has_its_own_entry() -> None:
    openai = provider("https://api.openai.com/v1")
    assert openai.model_info("gpt-4o-2024-08-06", CATALOG).price_out == 10.0
    assert openai.model_info("gpt-4o-2024-05-13", CATALOG).price_out == 15.0


def test_another_server_gets_limits_by_name_but_no_prices() -> None:
    resolved = provider("https://gateway.example/v1").resolved_spec("anthropic/claude-opus-5.5", CATALOG)
    assert resolved.values["window"].value == 1_000_000
    assert "another server" in resolved.values["window"].source
    assert "price_in" not in resolved.values


def test_a_vendor_knows_no_other_vendor_s_models() -> None:
    assert provider(CLAUDE).resolved_spec("gpt-5.5", CATALOG).values["window"].origin == "assumed"


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "localhost:1234", "[::1]:8080"])
def test_a_local_server_decides_the_window_of_open_models(host: str) -> None:
    server = provider(f"http://{host}/v1")
    assert server.resolved_spec("gpt-oss:20b", CATALOG).values["window"].origin == "assumed"
    assert server.resolved_spec("openai/gpt-oss-20b", CATALOG).values["window"].origin == "assumed"
    assert server.model_info("claude-opus-5-5", CATALOG).window == 1_000_000  # a gateway on this machine


def test_the_user_comes_before_the_server_and_both_before_the_catalog() -> None:
    entry = ModelEntry(
        name="claude-opus-5-5",
        window=64_000,
        images=False,
        reported=ModelSpec(window=500_000, output=32_000),
        reported_by="its list of models",
    )
    facts = provider(CLAUDE, entry).resolved_spec("claude-opus-5-5", CATALOG).values
    assert (facts["window"].value, facts["window"].origin) == (64_000, "you")
    assert (facts["output"].value, facts["output"].origin) == (32_000, "server")
    assert facts["output"].source == "its list of models"
    assert (facts["price_in"].value, facts["price_in"].origin) == (4.0, "catalog")
    assert (facts["images"].value, facts["images"].origin) == (False, "you")


def test_prices_from_two_sources_are_never_mixed() -> None:
    entry = ModelEntry(name="claude-opus-5-5", price_in=9.0, price_out=18.0)
    info = provider(CLAUDE, entry).model_info("claude-opus-5-5", CATALOG)
    assert (info.price_in, info.price_cached, info.price_out) == (9.0, 0.0, 18.0)


def test_an_invalid_catalog_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text('[[vendor]]\nname = "x"\nwindow = 5\n')
    with pytest.raises(msgspec.ValidationError, match="window"):
        ModelCatalog.load(file)
