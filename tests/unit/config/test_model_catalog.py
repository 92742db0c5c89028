"""The catalog of models, whose prices apply only at their vendor, and the roles that it fills."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from helix_desktop.config.model_catalog import CatalogEntry, ModelCatalog, Vendor
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.role_suggestions import (
    with_filled_roles,
    with_loaded_fast_model,
    with_user_role,
)
from helix_desktop.config.settings import ModelEntry, Provider, Settings
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


def entry(name: str, window: int, price: float) -> CatalogEntry:
    return CatalogEntry(names=(name,), window=window, price_in=price, price_out=4 * price)


URL = "https://api.shop.example/v1"
SHOP = ModelCatalog(
    (
        Vendor(
            name="shop", title="Shop", base_url=URL, dialect="openai-chat", hosts=("api.shop.example",),
            key=True, source="its price list",
            model=(
                entry("best", 200_000, 4.0), entry("small", 200_000, 0.2), entry("tiny", 8_000, 0.01),
                entry("wide", 1_000_000, 8.0), entry("twin", 200_000, 4.0),
            ),
        ),
    )
)  # fmt: skip


def shop_with(*models: str, name: str = "shop", url: str = URL) -> Provider:
    """A provider with these models, the first its default."""
    entries = tuple(ModelEntry(name=model) for model in models)
    return Provider(name=name, base_url=url, models=entries, default_model=models[0])


@pytest.mark.parametrize(
    ("models", "fast", "long"),
    [
        (("best", "small", "tiny", "wide"), "shop/small", "shop/wide"),  # tiny cannot read a large output
        (("small", "best"), "", ""),  # nothing is cheaper than the main model
        (("wide", "best", "small"), "shop/small", ""),
        (("best", "twin"), "", ""),
        (("best", "nobody-knows-it"), "", ""),
    ],
)
def test_the_catalog_fills_what_it_knows_a_fit_for(models: tuple[str, ...], fast: str, long: str) -> None:
    """A cheaper model reads large outputs, one with a larger window what fits no other; else the main one."""
    filled = with_filled_roles(Settings(), shop_with(*models), SHOP)
    assert (filled.fast, filled.long) == (fast, long)


def test_a_window_that_is_only_assumed_fits_no_role() -> None:
    """128k is what a model without any figures counts with: a reason to send nothing there."""
    entries = (ModelEntry(name="own", window=24_000), ModelEntry(name="unknown"))
    local = Provider(name="box", base_url="http://localhost:1/v1", models=entries, default_model="own")
    assert with_filled_roles(Settings(), local, SHOP).long == ""
    with_window = msgspec.structs.replace(local, models=(entries[0], ModelEntry(name="large", window=64_000)))
    assert with_filled_roles(Settings(), with_window, SHOP).long == "box/large"


def test_what_is_set_stays() -> None:
    """A model that stands there, and the user's word that the main one is to do it."""
    everything = shop_with("best", "small", "wide")
    own = Settings(fast="box/own", long="")
    assert with_filled_roles(own, everything, SHOP).fast == "box/own"
    left = with_user_role(with_filled_roles(Settings(), everything, SHOP), "fast", "")
    again = with_filled_roles(left, everything, SHOP)
    assert (again.fast, again.long) == ("", "shop/wide")


def test_nothing_goes_to_a_server_that_does_not_answer_already() -> None:
    """While another provider's model is the main one, a new provider fills no role."""
    settings = msgspec.structs.replace(Settings(), model="box/qwen")
    assert with_filled_roles(settings, shop_with("best", "small"), SHOP) == settings


def test_a_server_of_its_own_has_no_published_prices() -> None:
    """Names alone say nothing of what another server takes."""
    local = shop_with("best", "small", name="local", url="http://localhost:11434/v1")
    assert with_filled_roles(Settings(), local, SHOP).fast == ""


@pytest.mark.parametrize(
    ("loaded", "fast"),
    [
        (("main", "small"), "box/small"),
        (("main",), ""),  # another one would unload it
        (("small", "other"), ""),
        (("main", "small", "other"), ""),
        ((), ""),  # the server does not say
    ],
)
def test_a_server_on_this_computer_fills_the_fast_role_with_what_is_loaded_beside_the_main_model(
    loaded: tuple[str, ...], fast: str
) -> None:
    box = shop_with("main", "small", "other", name="box", url="http://localhost:1/v1")
    assert with_loaded_fast_model(Settings(), box, loaded).fast == fast
    taken = with_user_role(Settings(), "fast", "")
    assert with_loaded_fast_model(taken, box, loaded).fast == "", "the user left it to the main model"
    elsewhere = Settings(model="shop/best")
    assert with_loaded_fast_model(elsewhere, box, loaded).fast == ""


@pytest.mark.parametrize("name", ["anthropic", "openai", "gemini", "deepseek", "xai", "mistral", "groq"])
def test_every_known_provider_fills_the_fast_role_with_the_models_that_it_begins_with(name: str) -> None:
    """By price, or by the name of a small variant where the catalog has no prices."""
    path = Path(__file__).parents[3] / "resources" / "models.toml"
    catalog = ModelCatalog.load(path)
    (vendor,) = [vendor for vendor in tomllib.loads(path.read_text())["vendor"] if vendor["name"] == name]
    entries = tuple(ModelEntry(name=model) for model in vendor["begin"])
    new = Provider(name=name, base_url=vendor["base_url"], models=entries, default_model=entries[0].name)
    filled = with_filled_roles(Settings(), new, catalog)
    assert filled.fast.removeprefix(f"{name}/") in vendor["begin"][1:]
