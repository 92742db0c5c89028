"""The interface of what is measured: a session that takes a recording and returns its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

RawMessage = Mapping[str, Any]
"""A message in the shape of a recording: `role` and `content`; an assistant's `tool_calls`, each with `id`,
`name` and `arguments`; a tool's `tool_call_id` and `name`."""


class MechanismCounts(msgspec.Struct, frozen=True):
    """How often each mechanism acted in one replay."""

    sweeps: int = 0
    folds: int = 0
    handovers: int = 0
    observations: int = 0
    reflections: int = 0
    fallbacks: int = 0
    checkpoints: int = 0

    @property
    def lossy(self) -> int:
        """Return how often a shorter text replaced a longer one."""
        return self.handovers + self.observations + self.reflections


class Replay(Protocol):
    """A session under one policy and window."""

    @property
    def summaries(self) -> Sequence[int]:
        """The input tokens of each summarizing call so far."""
        ...

    @property
    def checkpoints(self) -> Sequence[int]:
        """The input tokens of each call for a checkpoint so far: no part of `summaries`."""
        ...

    @property
    def longest_stretch(self) -> int:
        """The most tokens of history, outputs in full, without a handover or checkpoint, up to now."""
        ...

    @property
    def counts(self) -> MechanismCounts:
        """The counts of events so far."""
        ...

    def feed(self, message: RawMessage) -> None:
        """Add the next message of the session."""
        ...

    def end_turn(self) -> None:
        """End the turn: the agent has answered, or was stopped; the next message is the user's."""
        ...

    def prepare_request(self) -> None:
        """Make the request that would be sent now, as the app does before a model call.

        Raises RequestTooLarge and RequestInvalid if it cannot be made.
        """
        ...

    def request(self) -> list[dict[str, Any]]:
        """Return the request that would be sent now; the same each time until the next message.

        Raises as `prepare_request`.
        """
        ...

    def recall(self, handle: str) -> bytes:
        """Return the original bytes of a handle. Raises DigestUnknown."""
        ...

    def call_cache_tool(self, name: str, arguments: Mapping[str, object]) -> str:
        """Return what the model would get from a call of a tool on the cache now. Raises ToolError."""
        ...

    def close(self) -> None:
        """Close the session and free its resources."""
        ...
