"""A worker of policy replays without a process, for tests of what is done with its pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import msgspec

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay, SessionFacts
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from tests.support.galleries.policy_gallery import sample_replay


class ScriptedReplays(PolicyReplayWorker):
    """Replays of a made-up session, in which more protected steps send more; `go` lets the exact one end."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.fails, self.loads, self.is_closed = asyncio.Event(), False, 0, False
        self.policies: list[ContextPolicy] = []
        self.is_ready = False

    async def load(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> None:
        """Count, or fail as a worker does that cannot start."""
        self.loads += 1
        if self.fails:
            raise HelixError(verbatim("The session can't be replayed."), verbatim("No memory."))

    async def first_picture(
        self, log: Sequence[RecordedEvent], facts: SessionFacts, policy: ContextPolicy
    ) -> PolicyReplay:
        """Return the same approximate picture as `replay` does first."""
        return sample_replay(1_000 * policy.protect_steps, 13, is_exact=False)

    async def replay(self, policy: ContextPolicy) -> AsyncGenerator[PolicyReplay, None]:
        """Yield an approximate picture, and the exact one when it may."""
        self.policies.append(policy)
        approximate = sample_replay(1_000 * policy.protect_steps, 13, is_exact=False)
        yield approximate
        await self.go.wait()
        yield msgspec.structs.replace(approximate, is_exact=True)

    async def replay_in_background(self, policy: ContextPolicy) -> PolicyReplay:
        """Return the exact picture when it may."""
        self.policies.append(policy)
        await self.go.wait()
        return sample_replay(1_000 * policy.protect_steps, 13)

    async def effect(self, policy: ContextPolicy, field: str) -> FieldEffect:
        """More protected steps cost more."""
        own, default = getattr(policy, field), getattr(PROFILES[policy.profile], field)
        return FieldEffect(field, 1_500.0 * (own - default), 0.01, 0)

    async def stay_ready(self, *, is_on: bool) -> None:
        """Remember whether it may end when nobody asks."""
        self.is_ready = is_on

    async def close(self) -> None:
        """Forget the session."""
        self.is_closed = True
