"""Roles filled from known figures when a provider is added."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from helix_desktop.config.model_catalog import CatalogEntry, ModelCatalog, Vendor
from helix_desktop.config.role_suggestions import (
    unloaded_fast_model,
    with_filled_roles,
    with_loaded_fast_model,
    with_user_role,
)
from helix_desktop.config.settings import ModelEntry, Provider, Settings


def entry(name: str, window: int, price: float) -> CatalogEntry:
    return CatalogEntry(names=(name,), window=window, price_in=price, price_out=4 * price)


URL = "https://api.shop.example/v1"
CATALOG = ModelCatalog(
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


def provider(*models: str, name: str = "shop", url: str = URL) -> Provider:
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
    filled = with_filled_roles(Settings(), provider(*models), CATALOG)
    assert (filled.fast, filled.long) == (fast, long)
    assert set(filled.catalog_roles) == {role for role, label in (("fast", fast), ("long", long)) if label}


def test_a_window_that_is_only_assumed_fits_no_role() -> None:
    """128k is what a model without any figures counts with: a reason to send nothing there."""
    entries = (ModelEntry(name="own", window=24_000), ModelEntry(name="unknown"))
    local = Provider(name="box", base_url="http://localhost:1/v1", models=entries, default_model="own")
    assert with_filled_roles(Settings(), local, CATALOG).long == ""
    with_window = msgspec.structs.replace(local, models=(entries[0], ModelEntry(name="large", window=64_000)))
    assert with_filled_roles(Settings(), with_window, CATALOG).long == "box/large"


def test_what_is_set_stays() -> None:
    """A model that stands there, and the user's word that the main one is to do it."""
    everything = provider("best", "small", "wide")
    own = Settings(fast="box/own", long="")
    assert with_filled_roles(own, everything, CATALOG).fast == "box/own"
    left = with_user_role(with_filled_roles(Settings(), everything, CATALOG), "fast", "")
    again = with_filled_roles(left, everything, CATALOG)
    assert (again.fast, again.long, again.catalog_roles) == ("", "shop/wide", ("long",))


def test_nothing_goes_to_a_server_that_does_not_answer_already() -> None:
    """While another provider's model is the main one, a new provider fills no role."""
    settings = msgspec.structs.replace(Settings(), model="box/qwen")
    assert with_filled_roles(settings, provider("best", "small"), CATALOG) == settings


def test_a_server_of_its_own_has_no_published_prices() -> None:
    """Names alone say nothing of what another server takes."""
    local = provider("best", "small", name="local", url="http://localhost:11434/v1")
    assert with_filled_roles(Settings(), local, CATALOG).fast == ""


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
    box = provider("main", "small", "other", name="box", url="http://localhost:1/v1")
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


LOCAL = "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    ("models", "url", "suggested"),
    [
        (("qwen3:14b", "llama3.2:3b", "qwen3:1.7b"), LOCAL, ("qwen3:14b", "box/qwen3:1.7b")),
        (("main", "tiny-1b-instruct"), LOCAL, ("main", "box/tiny-1b-instruct")),
        (("qwen3:4b", "qwen3:14b"), LOCAL, ("qwen3:4b", "")),
        (("main", "other"), LOCAL, ("main", "")),
        (("main",), LOCAL, None),
        (("qwen3:14b", "qwen3:1.7b"), "https://box.example/v1", None),
    ],
)
def test_a_fast_model_is_suggested_for_a_server_on_this_computer(
    models: tuple[str, ...], url: str, suggested: tuple[str, str] | None
) -> None:
    """The smallest by its name; not where the user has chosen, nor for other servers."""
    box = provider(*models, name="box", url=url)
    settings = Settings(providers=(box,), model=f"box/{models[0]}")
    assert unloaded_fast_model(settings, CATALOG) == suggested
    assert unloaded_fast_model(with_user_role(settings, "fast", ""), CATALOG) is None
    assert unloaded_fast_model(with_user_role(settings, "fast", f"box/{models[-1]}"), CATALOG) is None
    assert unloaded_fast_model(Settings(), CATALOG) is None
