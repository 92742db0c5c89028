"""Which models fill the roles that nobody has set: cheaper, larger or loaded ones of the same provider."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.domain.messages import ModelInfo

FilledRole = Literal["fast", "long"]
FILLED_ROLES: tuple[FilledRole, ...] = ("fast", "long")
_MIN_WINDOW = 32_000  # tokens of a model that reads large outputs
_SMALL = re.compile(r"(?:^|[-_.])(?:flash|mini|lite|small|nano|instant)(?:[-_.]|$)")
_LARGER = 1.25  # a long window is worth a role of its own from so many times the main model's on


def _suggest_roles(settings: Settings, provider: Provider, catalog: ModelCatalog) -> dict[FilledRole, str]:
    """Return labels of this provider's models for the roles that nobody has set; none without known figures.

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
        role: model.label
        for role in FILLED_ROLES
        if (model := fitting[role]) is not None and is_open(settings, role)
    }


def is_open(settings: Settings, role: FilledRole) -> bool:
    """Return True if a role has no model, and the user has not said that the main one is to do it."""
    return not getattr(settings, role) and role not in settings.user_roles


def with_filled_roles(settings: Settings, provider: Provider, catalog: ModelCatalog) -> Settings:
    """Return the settings with the open roles filled from the catalog; what is set already stays."""
    return msgspec.structs.replace(settings, **_suggest_roles(settings, provider, catalog))


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
    return msgspec.structs.replace(settings, fast=f"{provider.name}/{others[0]}")


def with_user_role(settings: Settings, role: str, label: str) -> Settings:
    """Return the settings with a role's model as the user chose it; empty: the main model."""
    user_roles = tuple(dict.fromkeys((*settings.user_roles, role)))
    return msgspec.structs.replace(settings, **{role: label}, user_roles=user_roles)


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
