"""Which fields of a policy a replay has read: whatever the others are, it comes to the same."""

from __future__ import annotations

from typing import Any

from helix_desktop.context.policy import ContextPolicy

_FIELDS = frozenset(ContextPolicy.__struct_fields__)


class TracedPolicy:
    """A policy that remembers which fields were read; it has no methods, for theirs would not be seen."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        """Return a field when it is read for the first time; from then on it is an attribute."""
        if name not in _FIELDS:
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(self._policy, name)
        return value

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if all that was read so far is the same in another policy."""
        read = self.__dict__.keys() & _FIELDS
        return all(self.__dict__[name] == getattr(policy, name) for name in read)
