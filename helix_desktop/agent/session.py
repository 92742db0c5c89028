"""A session: the only place where events are made. Store first, then apply, then publish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from helix_desktop.agent.ports import Clock, Store
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.update import Happened, Listener, Update
from helix_desktop.context.budget import own_ratio
from helix_desktop.context.content import Content, SessionSummary
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import (
    AssistantSpoke,
    Event,
    Recorded,
    SessionRenamed,
    SessionStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.context.message import Ended, ToolCall
from helix_desktop.context.spending import spent_in
from helix_desktop.context.transcript import Transcript

INTERRUPTED = (
    "The app stopped before this call's result was recorded. It may or may not have taken effect: check "
    "before repeating it."
)

_CUT_OFF = {
    "stopped": "The user stopped the turn before this call ended.",
    "failed": "The turn failed before this call ended. It may or may not have taken effect.",
}


class Session:
    """One conversation's log and its state."""

    def __init__(
        self,
        identity: str,
        store: Store,
        clock: Clock,
        scope: TaskScope,
        log: list[Recorded],
        transcript: Transcript,
    ) -> None:
        """`transcript` is the reduction of `log`; both are the session's own from now on."""
        self.id = identity
        self.log, self.transcript = log, transcript
        self.used, self.window, self.model = 0, 0, ""
        self.ratios: dict[str, float] = {}
        self._store, self._clock, self._scope = store, clock, scope
        self._lock = asyncio.Lock()
        self._pending: set[asyncio.Task[list[Recorded] | HelixError]] = set()
        self._listeners: list[Listener] = []

    def take_figures(self, known: SessionSummary) -> None:
        """Go on with the figures that the list shows, until they are measured again."""
        self.used, self.window, self.model = known.used, known.window, known.model
        self.ratios = dict(known.ratios)

    async def forgotten(self, digest: str) -> int:
        """When the person had a content removed for good, in milliseconds since 1970; 0: they did not."""
        return await self._store.forgetting.when(digest)

    async def record(
        self, *events: Event, contents: Sequence[Content] = (), recalls: Sequence[str] = ()
    ) -> list[Recorded]:
        """Make events facts: durable, applied, published. Being cancelled does not undo or halve that.

        Raises StoreError when the store refused; then nothing was applied.
        """
        return await self.record_decided(lambda: events, contents, recalls)

    async def record_decided(
        self,
        decide: Callable[[], Sequence[Event]],
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
    ) -> list[Recorded]:
        """Like `record`, of the events that `decide` names while nobody else can record (none: do nothing).

        Raises the HelixError by which `decide` refuses.
        """
        task = self._scope.start(self._record(decide, contents, recalls), f"record {self.id}")
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        outcome = await asyncio.shield(task)
        if isinstance(outcome, HelixError):
            raise outcome
        return outcome

    async def quiet(self) -> None:
        """Wait until all that was given to `record` is a fact or refused, whatever became of its callers."""
        while self._pending:
            await asyncio.wait(tuple(self._pending))

    async def _record(
        self, decide: Callable[[], Sequence[Event]], contents: Sequence[Content], recalls: Sequence[str]
    ) -> list[Recorded] | HelixError:
        async with self._lock:
            try:
                events = decide()
            except HelixError as refused:  # a value, not a failed task: the caller expects it
                return refused
            if not (events or contents or recalls):
                return []
            now = self._clock()
            first = self.transcript.last_seq + 1
            recorded = [Recorded(first + n, now, event) for n, event in enumerate(events)]
            twin = self._summary(recorded, now)
            await self._store.commit(self.id, recorded, contents, recalls, twin)
            for one in recorded:
                self.transcript.apply(one)
                self.log.append(one)
                self._calibrate(one.event)
        for one in recorded:
            self.publish(Happened(one))
        return recorded

    def _calibrate(self, event: Event) -> None:
        if isinstance(event, AssistantSpoke) and event.usage is not None:
            ratio = own_ratio(self.transcript, event.model)
            if ratio is not None:
                self.ratios[event.model] = ratio

    def _summary(self, recorded: Sequence[Recorded], now: int) -> SessionSummary:
        spoken = (UserSpoke, AssistantSpoke, ToolAnswered)
        added = sum(isinstance(one.event, spoken) for one in recorded)
        for one in recorded:
            if isinstance(one.event, TurnRetried):
                added -= len(self.transcript.items) - self.transcript.position(one.event.after)
        titled = (SessionStarted, SessionRenamed)
        titles = [one.event.title for one in recorded if isinstance(one.event, titled)]
        parents = [one.event.parent for one in recorded if isinstance(one.event, SessionStarted)]
        known = self.transcript
        spent = sum((spent_in(one.event) for one in recorded), known.spent)
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
            parent=parents[-1] if parents else known.parent,
            ratios=dict(self.ratios),
            spent=spent.tokens,
            cost=spent.cost,
        )

    async def mend(self) -> bool:
        """Close what a crash left open: unanswered calls and an unended turn; whether there was any."""
        await self.quiet()
        if not (self.transcript.turn_open or self.transcript.open_calls):
            return False
        await self.close_calls("interrupted")
        await self.end_turn(TurnEnded("interrupted"))
        return True

    async def close_calls(self, how: Ended) -> None:
        """Answer every open call, so that the transcript stays valid.

        What had come and was held gets its preview, the others are interrupted.
        """
        text = _CUT_OFF.get(how, INTERRUPTED)

        def answer(call: ToolCall) -> ToolAnswered:
            return self.transcript.held.get(call.id) or ToolAnswered(
                *(call.id, call.name, text, "", 0, 30, 30),
                first_line=text[:60],
                ok=False,
                outcome="interrupted",
                subagent=self.transcript.subagents.get(call.id, ""),
            )

        await self.record_decided(lambda: [answer(call) for call in self.transcript.open_calls.values()])

    async def end_turn(self, ended: TurnEnded) -> bool:
        """Record the end of the turn, once; whether there was a turn to end."""
        return bool(await self.record_decided(lambda: [ended] if self.transcript.turn_open else []))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear every update from now on; call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, update: Update) -> None:
        """Tell all listeners."""
        for listener in tuple(self._listeners):
            listener(update)
