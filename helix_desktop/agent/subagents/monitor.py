"""A subagent as its parent sees it: a conversation to begin, to stop, and to follow."""

from __future__ import annotations

import asyncio
from typing import Protocol, get_args

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.agent.updates import (
    ApprovalRequested,
    CallStarted,
    ErrorRaised,
    EventRecorded,
    SubagentActivity,
    SubagentProgress,
    TurnChanged,
    Update,
)
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.context.window.window import Window
from helix_desktop.domain.call_target import call_target
from helix_desktop.domain.events.session import NEW_TITLE, RecordedEvent, SessionStarted, TurnEnded, UserSpoke
from helix_desktop.domain.messages import ModelInfo, TurnOutcome
from helix_desktop.domain.tools import ApprovalReply, ApprovalRequest

_ENDED_PHASES = get_args(TurnOutcome)


class SubagentConversation(Protocol):
    """What is needed of a subagent's conversation."""

    session: Session

    @property
    def asks(self) -> list[ApprovalRequest]:
        """The questions its calls wait with."""
        ...

    @property
    def model(self) -> ModelInfo:
        """The model that answers."""
        ...

    def measure(self) -> tuple[Window, UsageGauge]:
        """What its next request would contain, and how full that is."""
        ...

    async def send(self, text: str) -> None:
        """Begin its turn."""
        ...

    def decide(self, call_id: str, answer: ApprovalReply) -> bool:
        """Answer a question; False when it is no longer open."""
        ...

    async def stop(self) -> None:
        """Stop its turn, and wait for the end."""
        ...

    async def close(self) -> None:
        """Interrupt whatever runs, and wait for the end."""
        ...


class SubagentMonitor:
    """Follows one subagent and tells its parent how it goes.

    `ended` is set when its turn is over; it is `wanted` until its parent stops it. `told` is the newest word.
    """

    def __init__(self, subagent: SubagentConversation, parent: Session, call_id: str) -> None:
        self.subagent, self._parent, self._call_id = subagent, parent, call_id
        self.ended = asyncio.Event()
        self.should_run = True
        self.error: ErrorRaised | None = None
        self.last_progress: SubagentProgress | None = None
        self._tool, self._started_at_ms = "", 0
        self._unsubscribe = subagent.session.listen(self._on_update)

    def _on_update(self, update: Update) -> None:
        match update:
            case ApprovalRequested(ask=ask):
                self.report("waiting")
                self._parent.publish(ApprovalRequested(as_parent_request(self.subagent, ask)))
            case EventRecorded(recorded=RecordedEvent(event=TurnEnded(how=how))):
                self.report(how)
            case EventRecorded(recorded=RecordedEvent(at=at, event=UserSpoke())):
                self._started_at_ms = self._started_at_ms or at
                self.report(self._activity())
            case EventRecorded(recorded=RecordedEvent(event=SessionStarted())):
                pass  # it may have to wait for a place before it does anything
            case CallStarted(call=call):
                self._tool = f"{call.name} {call_target(call.arguments)}".strip()
                self.report(self._activity())
            case EventRecorded():
                self.report(self._activity())
            case ErrorRaised():
                self.error = update
            case TurnChanged(running=False):
                self.ended.set()
            case _:
                pass

    def close(self) -> None:
        """Hear no more; an end that could not be recorded is told all the same."""
        if self.subagent.session.log and (
            self.last_progress is None or self.last_progress.phase not in _ENDED_PHASES
        ):
            self.report("failed" if self.error else "stopped")
        self._unsubscribe()

    def _activity(self) -> SubagentActivity:
        if self.subagent.asks:
            return "waiting"
        return "working" if self.subagent.session.transcript.open_calls else "thinking"

    def report(self, phase: SubagentActivity | TurnOutcome) -> None:
        """Tell the parent's listeners what it does now, unless they know."""
        session = self.subagent.session
        transcript = session.transcript
        _, gauge = self.subagent.measure()
        progress = SubagentProgress(
            session.id,
            phase,
            gauge.used,
            gauge.window,
            transcript.steps,
            transcript.title,
            self._call_id,
            self._tool,
            transcript.spending.tokens,
            transcript.spending.cost,
            self._started_at_ms,
        )
        if progress != self.last_progress:
            self.last_progress = progress
            self._parent.publish(progress)


def as_parent_request(subagent: SubagentConversation, ask: ApprovalRequest) -> ApprovalRequest:
    """A subagent's question as its parent's: two models may well give two calls one id."""
    session = subagent.session
    asker = session.transcript.title or NEW_TITLE
    return msgspec.structs.replace(ask, call_id=f"{session.id}/{ask.call_id}", subagent_title=asker)
