"""First pictures of policies without the worker process: shown while that starts and reads the session."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.replay.policy.approximation import SessionSums, approximate_policy
from helix_desktop.replay.policy.session import ReplayableEvents, SessionFacts
from helix_desktop.replay.policy_replay import PolicyReplay


class FirstPictures:
    """The sums of one session, from any thread; of a longer log of it only what is new is read."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts
        self._replayable, self._sums = ReplayableEvents(), SessionSums()
        self._newest: RecordedEvent | None = None
        self._read = 0  # events of the log
        self._lock = Lock()  # a thread goes on when nobody waits for it any more

    def continues_to(self, log: Sequence[RecordedEvent], facts: SessionFacts) -> bool:
        """Return True if this is the same session, read up to an event of that log."""
        if facts != self._facts or len(log) < self._read:
            return False
        return self._newest is None or log[self._read - 1] is self._newest

    def picture(self, log: Sequence[RecordedEvent], policy: ContextPolicy) -> PolicyReplay:
        """Return the first picture of a policy; a tenth of a second at 10,000 events that are new."""
        with self._lock:
            events = log[self._read :]  # a copy: the session goes on meanwhile
            if events:
                self._sums.add(self._replayable.take(events))
                self._read, self._newest = self._read + len(events), events[-1]
            return approximate_policy(self._sums, policy, self._facts)
