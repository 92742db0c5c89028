"""Roles: which model does what in a workspace, and whom to ask next when one cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from helix_desktop.agent.ports import Model
from helix_desktop.context.policy import Policy
from helix_desktop.context.window import Frame


@dataclass(frozen=True)
class Roles:
    """The models of a workspace; what is not set falls to the main model.

    `fast` extracts from large outputs, `summary` writes handovers and observations, `long` has the largest
    window and is asked when a text fits no other.
    """

    main: Model
    fast: Model | None = None
    summary: Model | None = None
    long: Model | None = None

    def with_main(self, main: Model) -> Roles:
        """These roles under another main model."""
        return replace(self, main=main)

    def each(self, made: Callable[[Model], Model]) -> Roles:
        """The same roles, each model as `made` gives it."""
        fast, summary, long = (made(one) if one else None for one in (self.fast, self.summary, self.long))
        return Roles(made(self.main), fast, summary, long)

    @property
    def extracting(self) -> tuple[Model, ...]:
        """Whom to ask for an extraction, in this order, each once."""
        return _each_once(self.fast, self.main, self.long)

    @property
    def summarising(self) -> tuple[Model, ...]:
        """Whom to ask for a summary, in this order, each once."""
        return _each_once(self.summary, self.main, self.long)


Settings = Callable[[], tuple[Policy, Frame, Roles]]
"""What a conversation runs under now: may change between two steps."""


RolesFor = Callable[[str], Awaitable[Roles]]
"""Resolves a main model PROVIDER/NAME to the roles under it. Raises HelixError when it is not set up."""


def _each_once(*models: Model | None) -> tuple[Model, ...]:
    found: dict[str, Model] = {}
    for model in models:
        if model is not None:
            found.setdefault(model.info.label, model)
    return tuple(found.values())
