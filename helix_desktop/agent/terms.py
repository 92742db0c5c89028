"""Terms: what conversations run under now: the policy for their model's window, its frame, the models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import msgspec

from helix_desktop.agent.conversation import Parts
from helix_desktop.agent.pictures import Pictured
from helix_desktop.agent.ports import Model
from helix_desktop.agent.roles import Roles
from helix_desktop.context.policy import Policy
from helix_desktop.context.window import Frame


class Terms:
    """The settings of a room's conversations, or of one subagent; called anew before each step.

    `policy` gives the policy of the moment; `ratios` holds, by model, what earlier sessions found of the
    provider's tokens per token of our count.
    """

    def __init__(
        self, parts: Parts, policy: Callable[[], Policy], model: Model, ratios: Mapping[str, float]
    ) -> None:
        self.model = model
        self._parts, self._policy, self._ratios = parts, policy, ratios
        self._frame: Frame | None = None
        self._roles = Roles(model)
        self._scaled: tuple[Policy, int, Policy] | None = None
        self._framing = asyncio.Lock()

    async def use(self, model: Model) -> None:
        """Let a model answer from the next step on; needed once before the first."""
        async with self._framing:
            await self._use(model)

    async def retool(self) -> None:
        """Tell the model of the tools as they are now, from the next step on; nothing if they are the same.

        Whatever the provider has cached of a session is void then: the tools stand before everything else.
        """
        async with self._framing:
            if self._frame is not None and self._frame.tools != self._parts.tools.specs:
                await self._use(self.model)

    async def _use(self, model: Model) -> None:
        system, tools = self._parts.prompts["system"], self._parts.tools.specs
        schemas = json.dumps([msgspec.to_builtins(spec) for spec in tools])
        counts = await self._parts.counter.count([system, schemas])
        self.model, self._frame = model, Frame(model.info, system, tools, *counts)
        self._roles = Roles(Pictured(model, self._parts.store))

    @property
    def framed(self) -> bool:
        """Whether `use` has been called."""
        return self._frame is not None

    def __call__(self) -> tuple[Policy, Frame, Roles]:
        """Policy, frame and models. The same objects until one changes: what was measured with them holds."""
        assert self._frame is not None  # set before the first conversation opens
        ratio = self._ratios.get(self._frame.info.label, 1.0)
        if ratio != self._frame.ratio:
            self._frame = msgspec.structs.replace(self._frame, ratio=ratio)
        return self._policy_for(self._frame.info.window), self._frame, self._roles

    def _policy_for(self, window: int) -> Policy:
        policy = self._policy()
        if self._scaled is None or self._scaled[0] is not policy or self._scaled[1] != window:
            self._scaled = (policy, window, policy.scaled(window))
        return self._scaled[2]
