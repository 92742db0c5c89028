"""Models that missed the deadline for large outputs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.domain.listeners import Listeners
from helix_desktop.system.clock import ClockMs

_REMEMBERED_MS = 24 * 60 * 60 * 1_000


class SlowModel(msgspec.Struct, frozen=True):
    """A model that was not done within `deadline_s` at a time in milliseconds since 1970."""

    label: str
    deadline_s: int
    missed_at_ms: int


class SlowModels:
    """The models that missed the deadline for large outputs: as long as the app runs, and at most a day.

    One that missed a shorter deadline than the one that holds now is not slow.
    """

    def __init__(self, clock: ClockMs) -> None:
        self._clock = clock
        self._by_label: dict[str, SlowModel] = {}
        self._listeners: Listeners[[], None] = Listeners()

    def add(self, label: str, deadline_s: int) -> None:
        self._by_label[label] = SlowModel(label, deadline_s, self._clock())
        self._listeners.notify()

    def try_again(self, label: str) -> None:
        if self._by_label.pop(label, None) is not None:
            self._listeners.notify()

    def is_slow(self, label: str, deadline_s: int) -> bool:
        """Return True if a model is not to be asked with such a deadline."""
        model = self._by_label.get(label)
        return model is not None and self._is_recent(model) and deadline_s <= model.deadline_s

    @property
    def remembered(self) -> tuple[SlowModel, ...]:
        """The models that are remembered, the newest miss last."""
        recent = filter(self._is_recent, self._by_label.values())
        return tuple(sorted(recent, key=lambda model: model.missed_at_ms))

    def _is_recent(self, model: SlowModel) -> bool:
        return abs(self._clock() - model.missed_at_ms) < _REMEMBERED_MS  # the clock may have been set back

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._listeners.listen(listener)
