"""A session: the only place where events are made. Store first, then apply, then publish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from helix_desktop.agent.ports import Clock, Store
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import Happened, Listener, Update
from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.event import AssistantSpoke, Event, Recorded, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.context.transcript import Transcript

INTERRUPTED = (
    "The app stopped before this call's result was recorded. It may or may not have taken effect: check "
    "before repeating it."
)


class Session:
    """One conversation's log and its state."""

    def __init__(
        self, identity: str, store: Store, clock: Clock, scope: TaskScope, events: Sequence[Recorded] = ()
    ) -> None:
        self.id = identity
        self.log = list(events)
        self.transcript = Transcript(events)
        self.used, self.window, self.model = 0, 0, ""
        self._store, self._clock, self._scope = store, clock, scope
        self._lock = asyncio.Lock()
        self._listeners: list[Listener] = []

    async def record(
        self, *events: Event, contents: Sequence[Content] = (), recalls: Sequence[str] = ()
    ) -> list[Recorded]:
        """Make events facts: durable, applied, published. Being cancelled does not undo or halve that.

        Raises StoreError when the store refused; then nothing was applied.
        """
        work = self._record(events, contents, recalls)
        return await asyncio.shield(self._scope.start(work, f"record {self.id}"))

    async def _record(
        self, events: Sequence[Event], contents: Sequence[Content], recalls: Sequence[str]
    ) -> list[Recorded]:
        async with self._lock:
            now = self._clock()
            first = self.transcript.last_seq + 1
            recorded = [Recorded(first + n, now, event) for n, event in enumerate(events)]
            twin = self._summary(recorded, now)
            await self._store.commit(self.id, recorded, contents, recalls, twin)
            for one in recorded:
                self.transcript.apply(one)
                self.log.append(one)
        for one in recorded:
            self.publish(Happened(one))
        return recorded

    def _summary(self, recorded: Sequence[Recorded], now: int) -> SessionSummary:
        spoken = (UserSpoke, AssistantSpoke, ToolAnswered)
        added = sum(isinstance(one.event, spoken) for one in recorded)
        titles = [one.event.title for one in recorded if hasattr(one.event, "title")]
        known = self.transcript
        return SessionSummary(
            id=self.id,
            title=titles[-1] if titles else known.title,
            created=known.created or now,
            updated=now,
            messages=len(known.items) + added,
            used=self.used,
            window=self.window,
            model=self.model,
            events=known.last_seq + len(recorded),
        )

    async def mend(self) -> bool:
        """Close what a crash left open: unanswered calls and an unended turn; whether there was any."""
        if not self.transcript.turn_open:
            return False
        await self.close_calls("interrupted")
        await self.record(TurnEnded("interrupted"))
        return True

    async def close_calls(self, how: str) -> None:
        """Answer every open call as interrupted, so that the transcript stays valid."""
        text = INTERRUPTED if how == "interrupted" else "The user stopped the turn before this call ended."
        answers = [
            ToolAnswered(
                call.id, call.name, text, "", 0, 30, 30, first_line=text[:60], ok=False, outcome="interrupted"
            )
            for call in self.transcript.open_calls.values()
        ]
        if answers:
            await self.record(*answers)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every update from now on; call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, update: Update) -> None:
        """Tell all listeners."""
        for listener in tuple(self._listeners):
            listener(update)
