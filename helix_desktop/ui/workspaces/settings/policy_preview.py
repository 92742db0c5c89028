"""Replays the session on screen under the policies that the policy page compares, and its single fields."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_fields
from helix_desktop.context.window.request_cost import reports_cache
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.replay.policy.session import SessionFacts, facts_of
from helix_desktop.replay.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.settings.policy.comparison import (
    PolicyChoice,
    PolicyComparison,
    ReplayState,
    field_effect_text,
)
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Policy")

EDITED, IN_USE, WORKSPACE = "edited", "in_use", "workspace"
_MIN_REQUESTS = 2
_MAX_REPLAYS = 64  # of one session, kept to be shown again at once


class ReplayWorker(Protocol):
    """Replays one session under any policy, beside the window's own process."""

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Take a session as it is now. Raises HelixError."""
        ...

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return an approximate picture of a session that it was not given yet."""
        ...

    def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield a first, approximate picture, then the exact one; a later call ends it. Raises HelixError."""
        ...

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """Return what a field changes against its profile's value. Raises HelixError."""
        ...

    async def prepare(self, policies: Sequence[ContextPolicy]) -> None:
        """Replay these while nothing is requested: one of them may be next. Raises HelixError."""
        ...

    async def stay_ready(self, *, is_on: bool) -> None:
        """Start what replays, and let it run until this is turned off again. Raises HelixError."""
        ...

    async def close(self) -> None:
        """End the process."""
        ...


class PolicyPreview:
    """Fills the replay and the fields' effects on the policy page while it is in sight."""

    def __init__(
        self,
        page: PolicyPage,
        async_actions: AsyncActions,
        create_replays: Callable[[], ReplayWorker],
    ) -> None:
        """`create_replays` is called when a session is first replayed."""
        self._page, self._async_actions, self._create_replays = page, async_actions, create_replays
        self._replays: ReplayWorker | None = None
        self._conversation: Conversation | None = None
        self._policies: dict[str, ContextPolicy] = {}
        self._compared, self._is_compared = (EDITED, IN_USE), False  # True once the user chose what
        self._comparison = PolicyComparison()
        self._loaded = ("", "", 0)  # session, model and last event
        self._cache: dict[ContextPolicy, PolicyReplay] = {}
        self._next_policies: tuple[ContextPolicy, ...] = ()  # that may be chosen next
        self._prepared: tuple[ContextPolicy, ...] = ()  # of which the process knows
        self._task: asyncio.Task[None] | None = None
        page.replay_card.compared.connect(self._compare)
        page.replay_card.retry_requested.connect(self.update)
        page.advanced.opened.connect(lambda _: self.update())

    def show(
        self,
        conversation: Conversation | None,
        edited: ContextPolicy,
        in_use: ContextPolicy,
        workspace_policy: ContextPolicy,
    ) -> None:
        """Compare the policy on the page with the one in use; `workspace` is what other sessions have."""
        if conversation is not self._conversation:
            self._conversation, self._is_compared = conversation, False
        policies = {EDITED: edited, IN_USE: in_use}
        if workspace_policy != in_use:
            policies[WORKSPACE] = workspace_policy
        policies |= {name: PROFILES[name] for name in reversed(tuple(PROFILES))}
        is_other = policies != self._policies
        self._policies = policies
        policy, reference = (key if key in policies else IN_USE for key in self._compared)
        if not self._is_compared:
            policy, reference = EDITED, WORKSPACE if edited == in_use != workspace_policy else IN_USE
        self._compared = policy, reference
        if is_other or self._loaded != self._present() or self._task is None:
            self.update()

    def update(self) -> None:
        """Compute what is missing of the replays that the page compares; what was begun before ends."""
        self.stop()
        conversation = self._conversation
        if conversation is None or conversation.session.transcript.messages.steps < _MIN_REQUESTS:
            self._show(
                "empty", tr("After two requests, you can see here what a policy does to this session.")
            )
        elif self._page.isVisible():
            self._task = self._async_actions.start(self._compute(conversation), "replay of a policy")

    def prepare(self, policies: Sequence[ContextPolicy]) -> None:
        """Have policies replayed that may be chosen next, once what the page compares is exact."""
        self._next_policies = tuple(policies)
        is_exact = self._task is None or self._task.done() or self._comparison.state == "ready"
        if is_exact and self._replays is not None and self._loaded == self._present():
            self._async_actions.start(self._prepare(self._replays), "prepare replays")

    def leave(self) -> None:
        """End what is being computed as the page goes out of sight; what replays may end, too."""
        self.stop()
        self._next_policies = ()
        if self._replays is not None:
            self._async_actions.start(self._leave(self._replays), "leave replays")

    async def _leave(self, replays: ReplayWorker) -> None:
        await replays.stay_ready(is_on=False)  # first: the page may be in sight again before the rest is sent
        await self._prepare(replays)

    async def _prepare(self, replays: ReplayWorker) -> None:
        policies = tuple(policy for policy in self._next_policies if not self._is_exact(policy))
        if policies != self._prepared:
            self._prepared = policies
            await replays.prepare(policies)

    def _is_exact(self, policy: ContextPolicy) -> bool:
        newest = self._cache.get(policy)
        return newest is not None and newest.is_exact

    def stop(self) -> None:
        """End what is being computed."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """End what is being computed, and its process, which holds what the session says."""
        self.stop()
        self._cache.clear()
        self._loaded, self._prepared = ("", "", 0), ()
        replays, self._replays = self._replays, None
        if replays is not None:
            await replays.close()

    def _present(self) -> tuple[str, str, int]:
        session = self._conversation.session if self._conversation is not None else None
        return (session.id, self._model, session.transcript.last_seq) if session is not None else ("", "", 0)

    @property
    def _model(self) -> str:
        """The label of the model that the next request goes to; empty without a session."""
        return self._conversation.window.frame.info.label if self._conversation is not None else ""

    def _compare(self, policy: str, reference: str) -> None:
        self._compared, self._is_compared = (policy, reference), True
        self.update()

    async def _compute(self, conversation: Conversation) -> None:
        compared = [self._policies[key] for key in self._compared]
        self._show("busy")
        self._show_pending_effects()
        try:
            replays = self._replays = self._replays or self._create_replays()
            if self._loaded != self._present():
                await self._load(replays, conversation, compared)
            for policy in compared:
                if policy not in self._cache:
                    await self._replay(replays, policy, is_first=True)
            for policy in compared:
                await self._replay(replays, policy)
            self._show("ready")
            await replays.stay_ready(is_on=True)
            await self._prepare(replays)
            await self._compute_effects(replays)
        except HelixError as error:
            self._loaded = ("", "", 0)
            message = " ".join(filter(None, (translate(error.what), translate(error.why))))
            self._show("failed", message)
        except Exception:
            self._loaded = ("", "", 0)
            self._show("failed", tr("This session can't be replayed. See the log for details."))
            raise

    async def _load(
        self, replays: ReplayWorker, conversation: Conversation, compared: Sequence[ContextPolicy]
    ) -> None:
        """Give the session as it is now to the process, and show first pictures meanwhile."""
        self._cache.clear()
        present, log, facts = self._present(), conversation.session.log, facts_of(conversation.window)
        for policy in compared:
            self._cache[policy] = await replays.first_picture(log, facts, policy)
            self._show("busy")
        await replays.load(log, facts)
        self._loaded = present

    async def _replay(self, replays: ReplayWorker, policy: ContextPolicy, *, is_first: bool = False) -> None:
        """Compute the exact replay of a policy, or its first picture only, and show each picture of it."""
        if self._is_exact(policy):
            return
        async with aclosing(replays.replay(policy)) as pictures:
            async for picture in pictures:
                while len(self._cache) >= _MAX_REPLAYS:
                    del self._cache[next(iter(self._cache))]
                self._cache[policy] = picture
                self._show("busy")
                if is_first:
                    return

    async def _compute_effects(self, replays: ReplayWorker) -> None:
        """Say at each field that differs from its profile what that does, while the fields are open."""
        effects, edited = self._show_pending_effects(), self._policies[EDITED]
        if not self._page.advanced.is_open:
            return
        for field in effects:
            effects[field] = field_effect_text(await replays.effect(edited, field))
            self._page.advanced.show_effects(effects)

    def _show_pending_effects(self) -> dict[str, str]:
        """Show an ellipsis at each field that differs from its profile; return these texts by field."""
        edited = self._policies[EDITED]
        effects = {name: "…" for name in policy_fields(edited) if name != "profile"}
        self._page.advanced.show_effects(effects)
        return effects

    def _show(self, state: ReplayState, message: str = "") -> None:
        policy, reference = self._compared
        mine, other = self._policies.get(policy), self._policies.get(reference)
        self._comparison = PolicyComparison(
            tuple(PolicyChoice(key, self._name_of(key)) for key in self._policies),
            policy,
            reference,
            self._cache.get(mine) if mine is not None else None,
            self._cache.get(other) if other is not None else None,
            state,
            message,
            is_one=mine == other,
            reports_cache=self._conversation is None or reports_cache(self._conversation.session.transcript),
            model=self._model,
            other_models=self._has_other_models(),
        )
        self._page.replay_card.show_comparison(self._comparison)

    def _has_other_models(self) -> bool:
        """Return True if another model than the next request's answered in the session."""
        log = self._conversation.session.log if self._conversation is not None else ()
        answers = (recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke))
        return any(answer.model != self._model for answer in answers)

    @staticmethod
    def _name_of(key: str) -> str:
        match key:
            case "edited":
                return tr("Preview")
            case "in_use":
                return tr("Policy in use")
            case "workspace":
                return tr("Workspace policy")
        return profile_name(key)
