"""Model roles: which model does what in a workspace, and the fallback order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.ports.model import Model
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.events.session import ModelRole
from helix_desktop.domain.listeners import Listeners
from helix_desktop.system.clock import ClockMs

_REMEMBERED_MS = 24 * 60 * 60 * 1_000


class ModelRoles(msgspec.Struct, frozen=True):
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
    def choice_models(self) -> tuple[Model, ...]:
        """The models to ask for the forms of large outputs, in order, without duplicates."""
        return _distinct(self.main, self.fast)

    @property
    def extraction_models(self) -> tuple[Model, ...]:
        """The models to try for an extraction, in order, without duplicates."""
        return _distinct(self.fast, self.main, self.long)

    @property
    def summary_models(self) -> tuple[Model, ...]:
        """The models to try for a summary, in order, without duplicates."""
        return _distinct(self.summary, self.main, self.long)


class SlowModel(msgspec.Struct, frozen=True):
    """A model that was not done within `deadline_s` at a time in milliseconds since 1970."""

    label: str
    deadline_s: int
    missed_at_ms: int


class SlowModels:
    """The models that missed the deadline for large outputs: as long as the app runs, and at most a day.

    One that missed a shorter deadline than the one that holds now is not slow.
    """

    def __init__(self, clock: ClockMs) -> None:
        self._clock = clock
        self._by_label: dict[str, SlowModel] = {}
        self._listeners: Listeners[[], None] = Listeners()

    def add(self, label: str, deadline_s: int) -> None:
        """Remember a model that missed the deadline."""
        self._by_label[label] = SlowModel(label, deadline_s, self._clock())
        self._listeners.notify()

    def try_again(self, label: str) -> None:
        """Let a model be asked again."""
        if self._by_label.pop(label, None) is not None:
            self._listeners.notify()

    def is_slow(self, label: str, deadline_s: int) -> bool:
        """Return True if a model is not to be asked with such a deadline."""
        model = self._by_label.get(label)
        return model is not None and self._is_recent(model) and deadline_s <= model.deadline_s

    @property
    def remembered(self) -> tuple[SlowModel, ...]:
        """The models that are remembered, the newest miss last."""
        recent = filter(self._is_recent, self._by_label.values())
        return tuple(sorted(recent, key=lambda model: model.missed_at_ms))

    def _is_recent(self, model: SlowModel) -> bool:
        return abs(self._clock() - model.missed_at_ms) < _REMEMBERED_MS  # the clock may have been set back

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when a model is added or tried again, until the returned function is called."""
        return self._listeners.listen(listener)


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
