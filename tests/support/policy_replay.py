"""The replay of a whole log under one policy, in this process."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay.policy.policy_replay import PolicyReplay
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.replay.token_counters import LineTokenCounter


def replay_policy(
    log: Sequence[RecordedEvent], policy: ContextPolicy, model: ModelInfo, fixed_tokens: int
) -> PolicyReplay:
    """Return the session of a log under a policy; `fixed_tokens` stand in every request."""
    replay = SessionReplay(SessionFacts(model, fixed_tokens), LineTokenCounter.bundled())
    replay.add(log)
    return replay.run(policy)
