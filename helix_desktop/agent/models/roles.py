"""Model roles: which model does what in a workspace, and the fallback order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from helix_desktop.agent.ports.model import Model
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.session import ModelRole


@dataclass(frozen=True)
class ModelRoles:
    """The models of a workspace; a role that is not set falls back to the main model.

    `fast` extracts from large outputs, `summary` writes handovers and observations, `long` has the largest
    window and is used for a text that fits no other.
    """

    main: Model
    fast: Model | None = None
    summary: Model | None = None
    long: Model | None = None

    def with_main(self, main: Model) -> ModelRoles:
        """Return these roles with another main model."""
        return replace(self, main=main)

    def for_subagent(self, role: ModelRole) -> ModelRoles:
        """Return the roles with the model of `role` as the main one; unchanged if that role is not set."""
        return self.with_main({"main": None, "fast": self.fast, "long": self.long}[role] or self.main)

    def map_models(self, transform: Callable[[Model], Model]) -> ModelRoles:
        """Return the same roles, each model replaced by `transform(model)`."""
        fast, summary, long = (
            transform(model) if model else None for model in (self.fast, self.summary, self.long)
        )
        return ModelRoles(transform(self.main), fast, summary, long)

    def is_only_long(self, model: Model, *others: Model | None) -> bool:
        """Return True for a model that is set for long texts, and neither the main one nor one of `others`.

        It gets no text that fits another: for that the user did not choose it.
        """
        labels = {other.info.label for other in (self.main, *others) if other is not None}
        return self.long is not None and model.info.label not in labels

    @property
    def extraction_models(self) -> tuple[Model, ...]:
        """The models to try for an extraction, in order, without duplicates."""
        return _distinct(self.fast, self.main, self.long)

    @property
    def summary_models(self) -> tuple[Model, ...]:
        """The models to try for a summary, in order, without duplicates."""
        return _distinct(self.summary, self.main, self.long)


RunSettingsSource = Callable[[], tuple[ContextPolicy, PromptFrame, ModelRoles]]
"""Returns the settings a conversation runs under now; they may change between two steps."""


class ConfiguredModels(Protocol):
    """The models that the user has set up, by their label PROVIDER/NAME."""

    def is_configured(self, label: str) -> bool:
        """Return True if a model is set up."""
        ...

    async def roles(self, label: str) -> ModelRoles:
        """Return the roles under a main model. Raises HelixError if it is not set up."""
        ...


def _distinct(*models: Model | None) -> tuple[Model, ...]:
    by_label: dict[str, Model] = {}
    for model in models:
        if model is not None:
            by_label.setdefault(model.info.label, model)
    return tuple(by_label.values())
