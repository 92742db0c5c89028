"""Terms: what conversations run under now: the policy for their model's window, its frame, the models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence

import msgspec

from helix_desktop.agent.conversation import Parts
from helix_desktop.agent.pictures import Pictured
from helix_desktop.agent.ports import Model
from helix_desktop.agent.roles import Roles
from helix_desktop.agent.trust import TrustedModel
from helix_desktop.context.message import ToolSpec
from helix_desktop.context.policy import Policy
from helix_desktop.context.window import Frame


class Terms:
    """The settings of a room's conversations, or of one subagent; called anew before each step.

    `policy` gives the policy of the moment; `ratios` holds, by model, what earlier sessions found of the
    provider's tokens per token of our count.
    """

    def __init__(
        self, parts: Parts, policy: Callable[[], Policy], models: Model | Roles, ratios: Mapping[str, float]
    ) -> None:
        self.roles = models if isinstance(models, Roles) else Roles(models)
        """The models as they were given: they ask nobody whether the folder is trusted."""
        self._parts, self._policy, self._ratios = parts, policy, ratios
        self._frame: Frame | None = None
        self._roles = self.roles
        self._scaled: tuple[Policy, int, Policy] | None = None
        self._framing = asyncio.Lock()

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.roles.main

    async def use(self, models: Model | Roles) -> None:
        """Let other models work from the next step on; needed once before the first.

        A model alone is the new main one, beside the others as they are.
        """
        async with self._framing:
            await self._use(models if isinstance(models, Roles) else self.roles.with_main(models))

    async def retool(self) -> None:
        """Tell the model of the tools as they are now, from the next step on; nothing if they are the same.

        Whatever the provider has cached of a session is void then: the tools stand before everything else.
        """
        async with self._framing:
            if self._frame is not None and self._frame.tools != self._parts.specs:
                await self._use(self.roles)

    async def _use(self, roles: Roles) -> None:
        system, tools = self._parts.prompts["system"], self._parts.specs
        far = [spec for spec in tools if spec.over_mcp]
        counts = await self._parts.counter.count([system, _schemas(tools), *([_schemas(far)] if far else [])])
        self.roles = roles
        self._frame = Frame(roles.main.info, system, tools, counts[0], counts[1], mcp_tokens=sum(counts[2:]))
        self._roles = roles.each(self._guarded)

    def _guarded(self, model: Model) -> Model:
        """A model that is sent nothing of a folder that is not trusted, and sees the pictures it may see."""
        return Pictured(TrustedModel(model, self._parts.trusted), self._parts.store)

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


class SessionTerms:
    """The settings of one session: its room's, until a model is chosen for this session alone."""

    def __init__(self, shared: Terms, own: Terms) -> None:
        """Start with the room's; `own` is used once `choose` has been called."""
        self._shared, self._own, self._chosen = shared, own, False

    async def choose(self, roles: Roles) -> None:
        """Let these models work in this session from the next step on."""
        await self._own.use(roles)
        self._chosen = True

    def follow(self) -> None:
        """Follow the room's models from the next step on."""
        self._chosen = False

    async def retool(self) -> None:
        """Tell the session's own model of changed tools; the room tells its own."""
        if self._chosen:
            await self._own.retool()

    @property
    def roles(self) -> Roles:
        """The models that work now."""
        return self._own.roles if self._chosen else self._shared.roles

    def __call__(self) -> tuple[Policy, Frame, Roles]:
        """Return policy, frame and models as they are now."""
        return self._own() if self._chosen else self._shared()


def _schemas(tools: Sequence[ToolSpec]) -> str:
    return json.dumps([msgspec.to_builtins(spec) for spec in tools])
