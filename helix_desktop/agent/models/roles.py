"""Roles: which model does what in a workspace, and whom to ask next when one cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from helix_desktop.agent.ports import Model
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame


@dataclass(frozen=True)
class ModelRoles:
    """The models of a workspace; what is not set falls to the main model.

    `fast` extracts from large outputs, `summary` writes handovers and observations, `long` has the largest
    window and is asked when a text fits no other.
    """

    main: Model
    fast: Model | None = None
    summary: Model | None = None
    long: Model | None = None

    def with_main(self, main: Model) -> ModelRoles:
        """These roles under another main model."""
        return replace(self, main=main)

    def map_models(self, transform: Callable[[Model], Model]) -> ModelRoles:
        """The same roles, each model as `made` gives it."""
        fast, summary, long = (
            transform(one) if one else None for one in (self.fast, self.summary, self.long)
        )
        return ModelRoles(transform(self.main), fast, summary, long)

    @property
    def extraction_models(self) -> tuple[Model, ...]:
        """Whom to ask for an extraction, in this order, each once."""
        return _distinct(self.fast, self.main, self.long)

    @property
    def summary_models(self) -> tuple[Model, ...]:
        """Whom to ask for a summary, in this order, each once."""
        return _distinct(self.summary, self.main, self.long)


RunSettingsSource = Callable[[], tuple[ContextPolicy, PromptFrame, ModelRoles]]
"""What a conversation runs under now: may change between two steps."""


RolesResolver = Callable[[str], Awaitable[ModelRoles]]
"""Resolves a main model PROVIDER/NAME to the roles under it. Raises HelixError when it is not set up."""


def _distinct(*models: Model | None) -> tuple[Model, ...]:
    found: dict[str, Model] = {}
    for model in models:
        if model is not None:
            found.setdefault(model.info.label, model)
    return tuple(found.values())
