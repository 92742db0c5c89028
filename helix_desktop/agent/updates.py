"""Updates: what a session tells its listeners. Recorded facts must arrive; the rest may coalesce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from helix_desktop.domain.cost import CostEstimate, SpendRequest
from helix_desktop.domain.events.session import RecordedEvent
from helix_desktop.domain.messages import ToolCall, TurnOutcome
from helix_desktop.domain.tools import ApprovalRequest

Phase = Literal["idle", "read", "summarise", "check", "write"]
SubagentActivity = Literal["queued", "thinking", "working", "waiting"]


class EventRecorded(msgspec.Struct, frozen=True):
    """An event was recorded."""

    recorded: RecordedEvent


class ResponseDelta(msgspec.Struct, frozen=True):
    """A piece of the model's answer."""

    text: str
    is_reasoning: bool = False


class ResponseReset(msgspec.Struct, frozen=True):
    """What arrived of this answer does not count: the call is made again after `wait_s` seconds."""

    attempt: int
    wait_s: float
    reason: str


class ApprovalRequested(msgspec.Struct, frozen=True):
    """A call waits for the person's answer."""

    ask: ApprovalRequest


class CallStarted(msgspec.Struct, frozen=True):
    """A call was allowed and runs now."""

    call: ToolCall


class CallOutput(msgspec.Struct, frozen=True):
    """A piece of what a running call puts out."""

    call_id: str
    text: str


class TurnChanged(msgspec.Struct, frozen=True):
    """A turn began or ended."""

    running: bool


class CompactionProgress(msgspec.Struct, frozen=True):
    """A handover entered a phase; `text` is what the summary says so far.

    `estimate` is what it will take, once that is known and a model is asked.
    """

    phase: Phase
    text: str = ""
    estimate: CostEstimate | None = None


class IntakeProgress(msgspec.Struct, frozen=True):
    """How these large outputs are to stand in the window is being chosen, or some are being extracted from.

    `calls` are the calls that gave them; with "idle" it is done.
    """

    phase: Literal["idle", "ask", "extract"]
    call_ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is going on, for people; empty when nothing is."""
        outputs = f"{len(self.call_ids)} large output" + ("" if len(self.call_ids) == 1 else "s")
        return {
            "idle": "",
            "ask": f"Choosing how to keep {outputs}…",
            "extract": f"Extracting from {outputs}…",
        }[self.phase]


class ObservationProgress(msgspec.Struct, frozen=True):
    """Observations, or a reflection, entered a phase; `text` and `estimate` are as of handovers."""

    phase: Phase
    text: str = ""
    estimate: CostEstimate | None = None


class SpendAsksChanged(msgspec.Struct, frozen=True):
    """These questions about what background work may read are open now."""

    asks: tuple[SpendRequest, ...]


class SpendDecided(msgspec.Struct, frozen=True):
    """With nobody there to ask, the budget decided whether background work begins."""

    ask: SpendRequest
    allowed: bool


class SubagentProgress(msgspec.Struct, frozen=True):
    """A subagent went on: told to its parent's listeners. `child` is its session.

    It waits for others to end, asks its model, runs tools, waits for the person's yes, or has ended, as
    `phase` says. `use` counts the tokens of its next request, `window` those that fit. `call` is the call
    that asked for it, `tool` the newest call of its own, `spent` and `cost` its tokens in and out and US
    dollars, `began` the moment it got its task (milliseconds since 1970; 0: not yet).
    """

    session_id: str
    phase: SubagentActivity | TurnOutcome
    used: int
    window: int
    steps: int
    title: str = ""
    call_id: str = ""
    current_tool: str = ""
    spent_tokens: int = 0
    cost: float = 0.0
    started_at_ms: int = 0


class RequestChanged(msgspec.Struct, frozen=True):
    """The model or the tools of a session's next request are others now; nothing was recorded."""


class ExternalChange(msgspec.Struct, frozen=True):
    """Another process stored something of this session; no id: of any."""


class ErrorRaised(msgspec.Struct, frozen=True):
    """Something failed that could not be recorded as an event."""

    what: str
    why: str = ""
    fix: str = ""
    remedies: tuple[str, ...] = ()


Update = (
    ErrorRaised
    | EventRecorded
    | ResponseDelta
    | ResponseReset
    | ApprovalRequested
    | CallStarted
    | CallOutput
    | TurnChanged
    | CompactionProgress
    | ObservationProgress
    | SpendAsksChanged
    | SpendDecided
    | IntakeProgress
    | SubagentProgress
    | RequestChanged
    | ExternalChange
)
Listener = Callable[[Update], None]
