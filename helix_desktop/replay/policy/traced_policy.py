"""Which fields of a policy a replay has read, and how: whatever the others are, it comes to the same."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.replay.policy.traced_number import TracedNumber

_FIELDS = frozenset(ContextPolicy.__struct_fields__)
THRESHOLDS = frozenset({
    "intake_above", "preview_above", "sweep_min", "sweep_max", "sweep_fixed", "protect_recalls",
    "previous_turn_share", "cache_ttl_s", "fold_least", "condense_at", "observe_at", "observe_place_at",
    "reflect_at", "handover_at", "handover_cooldown_s", "handover_least_gain", "panic_at",
})  # fmt: skip
"""Fields that others are compared with: most of a session is far from them."""


class TracedPolicy:
    """A policy that remembers which fields were read; it has no methods, for theirs would not be seen."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._numbers: list[TracedNumber] = []

    def __getattr__(self, name: str) -> Any:
        """Return a field when it is read for the first time; from then on it is an attribute."""
        if name not in _FIELDS:
            raise AttributeError(name)
        value = getattr(self._policy, name)
        if name in THRESHOLDS:
            value = TracedNumber(value, attrgetter(name), self._numbers)
        self.__dict__[name] = value
        return value

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if all that was read so far is the same in another policy, or leads to the same."""
        read = self.__dict__.keys() & _FIELDS
        different = {name for name in read if getattr(self._policy, name) != getattr(policy, name)}
        if different - THRESHOLDS:
            return False
        return not different or all(number.decides_as(policy) for number in self._numbers)
