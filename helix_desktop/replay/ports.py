"""What is measured: a session that is fed a recording and says what it would send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

RawMessage = Mapping[str, Any]
"""A message in the shape of a recording: `role` and `content`; an assistant's `tool_calls`, each with `id`,
`name` and `arguments`; a tool's `tool_call_id` and `name`."""


class Counts(msgspec.Struct, frozen=True):
    """How often each mechanism acted in one replay."""

    sweeps: int = 0
    folds: int = 0
    handovers: int = 0
    observations: int = 0
    reflections: int = 0
    fallbacks: int = 0
    panics: int = 0

    @property
    def lossy(self) -> int:
        """How often a text that is shorter than what it stands for took its place."""
        return self.handovers + self.observations + self.reflections


class Replay(Protocol):
    """A session under one policy and window."""

    @property
    def summaries(self) -> Sequence[int]:
        """The input tokens of each summarising call made so far."""
        ...

    @property
    def counts(self) -> Counts:
        """What has happened so far."""
        ...

    def feed(self, message: RawMessage) -> None:
        """Take the next message of the session."""
        ...

    def end_turn(self) -> None:
        """The agent has answered, or was stopped; the next message is a person's."""
        ...

    def request(self) -> list[dict[str, Any]]:
        """What would be sent to the model now; the same each time until the next message.

        Raises RequestTooLarge and RequestInvalid when it makes none.
        """
        ...

    def recall(self, handle: str) -> bytes:
        """The original bytes behind a handle. Raises DigestUnknown."""
        ...

    def close(self) -> None:
        """End it, and give back what it holds."""
        ...
