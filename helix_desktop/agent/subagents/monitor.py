"""The subagent monitor: follows a subagent's conversation and reports to its parent."""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar, get_args

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.agent.session_updates import (
    ApprovalRequested,
    CallStarted,
    ErrorRaised,
    EventRecorded,
    QuestionAsked,
    SubagentActivity,
    SubagentProgress,
    SummaryAwaited,
    TurnChanged,
    Update,
)
from helix_desktop.agent.session_window import SessionWindow
from helix_desktop.agent.tool_calls.approvals import UserAsk, UserReply
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import NEW_TITLE, SessionStarted
from helix_desktop.domain.messages import ModelInfo, TurnOutcome
from helix_desktop.domain.tool_call_target import call_target

Ask = TypeVar("Ask", bound=UserAsk)
_ENDED_PHASES = get_args(TurnOutcome)


class SubagentConversation(Protocol):
    """The part of a subagent's conversation that its parent uses."""

    session: Session
    window: SessionWindow

    @property
    def asks(self) -> list[UserAsk]:
        """The open approval requests and questions of its calls."""
        ...

    @property
    def model(self) -> ModelInfo:
        """The main model."""
        ...

    async def start(self, task: str) -> None:
        """Send it its task; return once that is recorded."""
        ...

    def answer(self, call_id: str, reply: UserReply) -> bool:
        """Answer an approval request or a question. Return False if no such one is open."""
        ...

    async def stop(self) -> None:
        """Stop its turn and wait for the end."""
        ...

    async def close(self) -> None:
        """Interrupt whatever runs and wait for the end."""
        ...


class SubagentMonitor:
    """The observer of one subagent that reports its progress to the parent session.

    `ended` is set when its turn is over; `should_run` is True until its parent stops it. `last_progress` is
    the newest report.
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
                self._parent.publish(ApprovalRequested(as_parent_ask(self.subagent, ask)))
            case QuestionAsked(ask=question):
                self.report("waiting")
                self._parent.publish(QuestionAsked(as_parent_ask(self.subagent, question)))
            case EventRecorded(recorded=RecordedEvent(event=TurnEnded(how=how))):
                self.report(how)
            case EventRecorded(recorded=RecordedEvent(at=at, event=UserSpoke())):
                self._started_at_ms = self._started_at_ms or at
                self.report(self._activity())
            case EventRecorded(recorded=RecordedEvent(event=SessionStarted())):
                pass  # it may have to wait for a slot first
            case CallStarted(call=call):
                self._tool = f"{call.name} {call_target(call.arguments)}".strip()
                self.report(self._activity())
            case EventRecorded():
                self.report(self._activity())
            case ErrorRaised() as error:
                self._on_error(error)
            case SummaryAwaited():
                self._parent.publish(update)
            case TurnChanged(running=False):
                self.ended.set()
            case _:
                pass

    def _on_error(self, error: ErrorRaised) -> None:
        if error.is_warning:
            self._parent.publish(error)
        else:
            self.error = error

    def close(self) -> None:
        """Unsubscribe; report the end even if it could not be recorded."""
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
        """Publish the subagent's progress in the parent session, if it has changed."""
        session = self.subagent.session
        transcript = session.transcript
        _, gauge = self.subagent.window.measure()
        progress = SubagentProgress(
            session.id,
            phase,
            gauge.used,
            gauge.window,
            transcript.messages.steps,
            transcript.title,
            self._call_id,
            self._tool,
            transcript.spending.tokens,
            transcript.spending.cost,
            self._started_at_ms,
            transcript.spending.estimated,
        )
        if progress != self.last_progress:
            self.last_progress = progress
            self._parent.publish(progress)


def as_parent_ask(subagent: SubagentConversation, ask: Ask) -> Ask:
    """Return a subagent's approval request or question as its parent's, with a unique id.

    Two models may give two calls the same id, so the session id is part of it.
    """
    session = subagent.session
    asker = session.transcript.title or NEW_TITLE
    return msgspec.structs.replace(ask, call_id=f"{session.id}/{ask.call_id}", subagent_title=asker)
